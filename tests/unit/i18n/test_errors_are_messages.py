"""What users are told is a message at the place where it arises, not a text made beforehand.

A text that was put together cannot be translated any more, so the source is read: whatever raises
an error of ours, answers with a problem or prints one gives a literal and its parameters, or hands
on what somebody else said.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from pathlib import Path

from tests.unit.i18n.extraction import FIRST, PACKAGE, SECOND, errors_in, name_of

TREES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
ERRORS = errors_in(list(TREES.values()))
VALUES = ("options.py", "server/schemas/", "server/validation.py", "literals.py")
"""Where a `ValueError` is about a value that somebody set or sent: pydantic and the readers of
settings hand it on."""
EXCEPTIONS = {
    ("sdk/options.py", '"; ".join(wrong)'): "settings of the SDK: English, for who writes the code",
    (
        "cli/doctor_checks.py",
        "mark.join([*full, *hints])",
    ): "sentences of `say`, translated already",
    ("server/ui/key_form.py", "('' if me.language == 'zh' else ' ').join(problems)"): (
        "sentences in the reader's language"
    ),
}
"""Texts that are put together from several, with the reason."""


BROUGHT = {"tell_missing": {"share", "allowed", "reasons"}}
"""Parameters that a function adds to those it is given."""


def place(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def announcements() -> Iterator[tuple[str, ast.Call, ast.expr]]:
    """Every call that tells something: where it stands, and the text it is given."""
    for path, tree in TREES.items():
        # What the SDK says goes to the log of its application.
        first = ERRORS.keys() if place(path).startswith("sdk/") else ERRORS.keys() | FIRST
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = name_of(node.func)
            if name in first and node.args:
                yield place(path), node, node.args[0]
            elif name in SECOND and len(node.args) > 1:
                yield place(path), node, node.args[1]


def parameters(text: str) -> set[str]:
    """What stands in braces."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def is_put_together(text: ast.expr) -> bool:
    """Whether it is made of several texts: an f-string, `%`, `+`, `format` or `join`."""
    if isinstance(text, ast.IfExp):
        return is_put_together(text.body) or is_put_together(text.orelse)
    if isinstance(text, ast.Call):
        return name_of(text.func) in {"format", "join", "format_map"}
    return isinstance(text, ast.JoinedStr | ast.BinOp)


ANNOUNCEMENTS = list(announcements())


def test_there_is_something_to_look_at() -> None:
    assert sum(name_of(call.func) in ERRORS for _, call, _ in ANNOUNCEMENTS) > 400
    assert {"ConfigurationError", "BadExport", "ClientError"} <= set(ERRORS)


def test_no_text_is_put_together_before_it_is_told() -> None:
    together = {
        (where, ast.unparse(text)): f"{where}:{call.lineno}"
        for where, call, text in ANNOUNCEMENTS
        if is_put_together(text)
    }
    expected = {(where, ast.unparse(ast.parse(text))) for where, text in EXCEPTIONS}

    assert [line for key, line in together.items() if key not in expected] == []
    assert expected <= set(together), "an exception that is none any more"


def test_what_is_wrong_with_a_value_is_a_message() -> None:
    wrong = [
        f"{place(path)}:{node.lineno} {ast.unparse(node)}"
        for path, tree in TREES.items()
        if any(part in place(path) for part in VALUES) and not place(path).startswith("sdk/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and name_of(node.func) == "ValueError"
        and (not isinstance(node.args[0], ast.Call) or is_put_together(node.args[0]))
    ]

    assert wrong == []


def test_a_message_is_given_the_parameters_that_it_names() -> None:
    """Else it would fail in the moment in which something else has failed."""
    wrong = []
    for where, call, text in ANNOUNCEMENTS:
        given = {keyword.arg for keyword in call.keywords}
        given |= BROUGHT.get(name_of(call.func), set())
        if None in given or name_of(call.func) == "msgid" or not isinstance(text, ast.Constant):
            continue
        named = {name for name in parameters(str(text.value)) if given or name.isidentifier()}
        if not named <= given:
            wrong.append(f"{where}:{call.lineno} {named - given}")

    assert wrong == []

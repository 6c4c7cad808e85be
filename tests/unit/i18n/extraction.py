"""Finds the messages of the package, and keeps the catalogues: `make messages`.

A message is a literal in a call of `Message`, `msgid`, an error of ours or another function that
makes one of it, in the code, and of `_` in the templates. The pages of the interface show what is
said of its routes and their parameters, so these are kept as well where a catalogue has them.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

from jinja2 import Environment
from jinja2.ext import extract_from_ast

import rag_monitor
from rag_monitor.i18n.catalogue import LOCALE, entries, languages

PACKAGE: Final = Path(rag_monitor.__file__).parent
FIRST: Final = frozenset(
    {"Message", "msgid", "say", "translate", "print_problem", "tell_missing", "_malformed"}
)
"""Functions whose first argument is a message."""
SECOND: Final = frozenset({"ProblemError", "_window_problem", "at_fault", "fail"})
"""Functions whose second argument is one."""
_RANGES: Final = frozenset({"above", "at_least", "at_most", "between", "not_negative"})
"""Of `domain.ranges`: every text they take is one."""
NOT_TOLD: Final = frozenset({"NotApplicable"})
"""Errors of machine words: `offline.report.words` says them."""
_DESCRIBED: Final = (PACKAGE / "server" / "routes", PACKAGE / "server" / "schemas")


@dataclass(frozen=True, order=True)
class Key:
    """What a message is looked up by."""

    msgid: str
    context: str = ""
    plural: str = ""


def messages() -> set[Key]:
    """Every message of the package."""
    trees = [_tree(path) for path in sorted(PACKAGE.rglob("*.py"))]
    errors = errors_in(trees)
    found = {key for tree in trees for key in _in_code(tree, errors)}
    for pattern in ("*.html", "*.html.j2"):
        for path in PACKAGE.rglob(pattern):
            found |= set(_in_template(path.read_text("utf-8")))
    return found


def descriptions() -> set[Key]:
    """What routes and their parameters say of themselves: it may be shown, line by line."""
    texts: set[str] = set()
    for folder in _DESCRIBED:
        for path in folder.rglob("*.py"):
            texts |= {
                line.strip()
                for node in ast.walk(_tree(path))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
                for line in (node.value, *node.value.splitlines())
            }
    return {Key(text) for text in texts}


def catalogue(language: str) -> dict[Key, list[str]]:
    """The translations of a language's file, without its header."""
    text = (LOCALE / language / "LC_MESSAGES" / "rag_monitor.po").read_text("utf-8")
    return {
        _key(entry): [form for name, form in entry.items() if name.startswith("msgstr")]
        for entry in entries(text)
        if entry["msgid"]
    }


def update(language: str) -> None:
    """Bring a language's file up to date: new messages without a translation, unused ones gone."""
    path = LOCALE / language / "LC_MESSAGES" / "rag_monitor.po"
    header, known = path.read_text("utf-8").partition("\n\n")[0], catalogue(language)
    wanted = messages() | (descriptions() & set(known))
    path.write_text(written(header, {key: known.get(key, [""]) for key in wanted}), "utf-8")


def written(header: str, translations: Mapping[Key, Sequence[str]]) -> str:
    """A catalogue as a file, its messages in alphabetical order: two branches seldom collide."""
    blocks = [header]
    for key in sorted(translations):
        lines = [f"msgctxt {_quoted(key.context)}"] if key.context else []
        lines.append(f"msgid {_quoted(key.msgid)}")
        forms = translations[key]
        if key.plural:
            lines.append(f"msgid_plural {_quoted(key.plural)}")
            lines += [f"msgstr[{n}] {_quoted(form)}" for n, form in enumerate(forms)]
        else:
            lines.append(f"msgstr {_quoted(forms[0])}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def errors_in(trees: Sequence[ast.Module]) -> dict[str, str]:
    """The classes below `RagMonitorError` by name, with what they say unless told otherwise."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found: dict[str, str] = {"RagMonitorError": ""}
    while True:
        further = {
            node.name: (ast.get_docstring(node) or "").partition("\n")[0]
            for node in classes
            if node.name not in found and any(name_of(base) in found for base in node.bases)
        }
        if not further:
            return {name: said for name, said in found.items() if name not in NOT_TOLD}
        found |= further


def name_of(node: ast.expr) -> str:
    """The last part of a name: `X` of `errors.X`."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _in_code(tree: ast.Module, errors: Mapping[str, str]) -> Iterator[Key]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None and name_of(node.exc) in errors:
            yield Key(errors[name_of(node.exc)])
        if not isinstance(node, ast.Call):
            continue
        name, literals = name_of(node.func), _literals(node)
        if name in errors and not node.args:
            yield Key(errors[name])
        if name in SECOND and node.args[1:] and isinstance(node.args[1], ast.Constant):
            yield Key(str(node.args[1].value))
        if name in _RANGES:
            yield from map(Key, _texts(node))
        match name, literals:
            case "within", [context, text]:
                yield Key(text, context=context)
            case ("counted" | "translate", [one, many]):
                yield Key(one, plural=many)
            case _, [text] if name in FIRST or name in errors:
                yield Key(text)


def _texts(call: ast.Call) -> list[str]:
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    values = [arg.value for arg in arguments if isinstance(arg, ast.Constant)]
    return [value for value in values if isinstance(value, str)]


def _literals(call: ast.Call) -> list[str]:
    """The arguments of a call up to the first that is no text in the code."""
    values = [arg.value if isinstance(arg, ast.Constant) else None for arg in call.args]
    return [value for value in takewhile(lambda value: isinstance(value, str), values) if value]


def _in_template(text: str) -> Iterator[Key]:
    for _, _, found in extract_from_ast(
        Environment(autoescape=True).parse(text), ("_",), babel_style=False
    ):
        one, *many = found
        yield Key(one, plural=many[0] if many else "")


def _key(entry: dict[str, str]) -> Key:
    return Key(entry["msgid"], entry.get("msgctxt", ""), entry.get("msgid_plural", ""))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    for language in languages()[1:]:
        update(language)

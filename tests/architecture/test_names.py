"""Names that were given up do not come back, and variables say what they hold."""

from __future__ import annotations

import ast
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.renames import RENAMED

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "rag_monitor"
PAGE: Final = ROOT / "docs" / "adr" / "0017-the-house-review.md"
HEADING: Final = "## Names that changed\n"

KEPT: Final[dict[tuple[str, str], str]] = {
    ("sdk", "absorbing"): "integrations outside this repository may import it",
}
"""Old names that stay, by package, and why."""
MOST_KEPT: Final = 10

VAGUE: Final = frozenset({"told", "said", "asked", "found", "known"})
"""Words that fit any value, and so tell nothing of one."""
NOT_YET: Final = ("rag_monitor/language",)
"""Whose compiled twin still has a method of such a name."""
PLAIN: Final = (
    *(
        f"rag_monitor/{path.name}"
        for path in sorted(PACKAGE.iterdir())
        if (path.suffix == ".py" or any(path.rglob("*.py")))
        and f"rag_monitor/{path.name}" not in NOT_YET
    ),
    "integrations",
)
"""Where no function, parameter, field or variable has such a name."""


def names_in(path: Path) -> Iterator[str]:
    """The names that a module gives: its file, classes, functions, fields and constants."""
    yield path.name
    yield from _given(ast.parse(path.read_text(encoding="utf-8")), "")


def _given(node: ast.AST, owner: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield child.name
            yield f"{owner}.{child.name}"
            inner = child.name if isinstance(child, ast.ClassDef) else owner
            yield from _given(child, inner) if inner else _classes_in(child)
        elif isinstance(child, ast.Assign | ast.AnnAssign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            for target in targets:
                yield from _target(target, node, owner)
        else:
            yield from _given(child, owner)


def _classes_in(function: ast.AST) -> Iterator[str]:
    """The classes inside a function; its variables are its own business."""
    for child in ast.walk(function):
        if isinstance(child, ast.ClassDef):
            yield child.name
            yield from _given(child, child.name)


def _target(target: ast.expr, scope: ast.AST, owner: str) -> Iterator[str]:
    """A constant of a module, a field of a class, or `self.field`."""
    if isinstance(target, ast.Name) and isinstance(scope, ast.Module | ast.ClassDef):
        name = target.id
    elif isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
        name = target.attr
    else:
        return
    yield name
    yield f"{owner}.{name}"


def vague_names_in(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of whatever is called by a vague word."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            name = node.attr
        else:
            continue
        if name.strip("_").lower() in VAGUE:
            yield node.lineno, name


def modules_of(package: str) -> list[Path]:
    """The modules of a package, without those of the packages below it."""
    return sorted(PACKAGE.joinpath(*package.split(".")).glob("*.py"))


@pytest.mark.parametrize("package", RENAMED)
def test_no_old_name_is_given_again(package: str) -> None:
    given = {name for path in modules_of(package) for name in names_in(path)}
    kept = {name for where, name in KEPT if where == package}

    assert given, "there is no such package"
    assert given & RENAMED[package].keys() - kept == set()


@pytest.mark.parametrize(("package", "old"), KEPT)
def test_an_old_name_that_is_kept_is_there(package: str, old: str) -> None:
    given = {name for path in modules_of(package) for name in names_in(path)}

    assert old in given
    assert old in RENAMED[package]


def test_few_old_names_are_kept() -> None:
    assert len(KEPT) <= MOST_KEPT


@pytest.mark.parametrize("package", RENAMED)
def test_every_new_file_is_there(package: str) -> None:
    folder = PACKAGE.joinpath(*package.split("."))
    files = [new for new in RENAMED[package].values() if new.endswith((".py", "/"))]

    assert [new for new in files if not _stands(new, folder)] == []


def _stands(file: str, folder: Path) -> bool:
    return any((above / file).exists() for above in (folder, PACKAGE, *folder.parents))


@pytest.mark.parametrize("place", PLAIN)
def test_no_variable_is_called_by_a_word_that_fits_any_value(place: str) -> None:
    top = ROOT / place
    paths = [top] if top.is_file() else sorted(top.rglob("*.py"))

    assert paths
    vague = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in paths
        for line, name in vague_names_in(path)
    ]
    assert vague == []


def glossary() -> str:
    """The section of ADR 17 that lists what changed its name."""
    parts = [
        "`tests/architecture/renames` holds this list, and a test that no old name comes back."
    ]
    for package in sorted(RENAMED):
        changes = dict.fromkeys(
            f"`{_shown(old)}` → `{_shown(new)}`" for old, new in RENAMED[package].items()
        )
        text = f"**{package or 'rag_monitor'}**: {', '.join(changes)}."
        parts.append(textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False))
    return HEADING + "\n" + "\n\n".join(parts) + "\n"


def _shown(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/")


def test_the_glossary_is_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(HEADING)
    _, mark, after = rest.partition("\n## ")
    expected = before + glossary() + mark + after
    if os.environ.get("UPDATE_PAGES"):
        PAGE.write_text(expected, encoding="utf-8")
        page = expected

    assert page == expected, "run this test again with UPDATE_PAGES=1 and read the difference"

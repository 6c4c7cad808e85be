"""The tests that docs/reliability.md and the security review name exist under these names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, text_of

PAGES = (
    "docs/reliability.md",
    "docs/zh/reliability.md",
    "docs/security-review.md",
    "docs/zh/security-review.md",
)
_NAMED = re.compile(r"`(?P<file>…|[\w/.]*\btest_\w+(?:\.py)?)(?:::(?P<test>\w+))?`")


def named(page: str) -> list[tuple[str, str]]:
    """Every file a page names with the test in it, or "" for the whole file, in order."""
    found: list[tuple[str, str]] = []
    for match in _NAMED.finditer(text_of(page)):
        file, test = match["file"], match["test"] or ""
        if file == "…":
            file = found[-1][0]
        elif not test and re.match(r"test_\w+_\w+_\w+_\w+", file):  # a test's name alone
            file, test = "test_receiver", file
        found.append((file.removesuffix(".py"), test))
    return found


def files(name: str) -> list[Path]:
    """The files of our tests that end in this name."""
    return [
        path
        for path in (ROOT / "tests").rglob(f"{name.rpartition('/')[2]}.py")
        if path.with_suffix("").as_posix().endswith(f"/{name}")
    ]


@pytest.mark.parametrize("page", PAGES)
def test_every_test_named_exists(page: str) -> None:
    missing = [
        f"{file}::{test}"
        for file, test in named(page)
        if not any(
            not test or re.search(rf"def {test}\b", path.read_text("utf-8")) for path in files(file)
        )
    ]

    assert len(named(page)) >= 20
    assert missing == []

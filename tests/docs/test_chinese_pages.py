"""The Chinese pages say what the English ones say: same sections, tables, commands and code."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from tests.docs.pages import ROOT, Block, blocks, pages, text_of

CHINESE = [page for page in pages() if page.startswith("docs/zh/")]
INTEGRATIONS = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "integrations").glob("*/README.zh.md")
)
TRANSLATED = [page for page in CHINESE if page != "docs/zh/quickstart.md"] + INTEGRATIONS
"""The quickstart tells of a Chinese application."""
_COMMENT = re.compile(r"""(?P<code>(?:"[^"\n]*"|'[^'\n]*'|[^"'#\n])*)\#[^\n]*""")
_FENCED = re.compile(r"```.*?```", re.DOTALL)


def english(page: str) -> str:
    """The page that a Chinese one translates."""
    if page in INTEGRATIONS:
        return page.replace("README.zh.md", "README.md")
    return f"docs/{PurePosixPath(page).name}"


def code(block: Block) -> tuple[str, list[str]]:
    """A block's kind and its lines, comments left out."""
    bare = (_COMMENT.sub(r"\g<code>", line).rstrip() for line in block.text.splitlines())
    return block.kind, [line for line in bare if line]


def outline(page: str) -> list[int]:
    """The levels of a page's headings, in order."""
    text = _FENCED.sub("", text_of(page))
    return [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]


def tables(page: str) -> list[int]:
    """The columns of every row of every table, in order."""
    text = _FENCED.sub("", text_of(page))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) for row in rows]


def test_there_are_chinese_pages() -> None:
    assert len(CHINESE) >= 14
    assert len(INTEGRATIONS) == len([*(ROOT / "integrations").glob("*/README.md")]) >= 8


@pytest.mark.parametrize("page", TRANSLATED)
def test_a_chinese_page_has_the_code_of_the_english_one(page: str) -> None:
    assert [code(b) for b in blocks(page)] == [code(b) for b in blocks(english(page))]


@pytest.mark.parametrize("page", TRANSLATED)
def test_a_chinese_page_has_the_sections_and_tables_of_the_english_one(page: str) -> None:
    assert outline(page) == outline(english(page))
    assert tables(page) == tables(english(page))


@pytest.mark.parametrize("page", [*CHINESE, *INTEGRATIONS, "README.zh.md"])
def test_readers_are_addressed_in_one_way(page: str) -> None:
    assert "您" not in text_of(page)


@pytest.mark.parametrize("page", CHINESE)
def test_the_two_languages_lead_to_each_other(page: str) -> None:
    name = PurePosixPath(page).name

    assert f"[English](../{name})" in text_of(page)
    assert f"[中文](zh/{name})" in text_of(english(page))


@pytest.mark.parametrize("page", INTEGRATIONS)
def test_the_two_languages_of_an_integration_lead_to_each_other(page: str) -> None:
    assert "[English](README.md)" in text_of(page)
    assert "[中文](README.zh.md)" in text_of(english(page))


@pytest.mark.parametrize("page", CHINESE)
def test_links_of_a_chinese_page_lead_to_the_chinese_page_where_there_is_one(page: str) -> None:
    folder = (ROOT / page).parent
    text = _FENCED.sub("", text_of(page))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path = target.partition("#")[0]
        if not path or "://" in path:
            continue
        assert (folder / path).exists(), f"{page}: {target} leads nowhere"
        if path.startswith("../") and path != f"../{PurePosixPath(page).name}":
            assert f"docs/zh/{path.removeprefix('../')}" not in CHINESE, f"{target} is English"

"""The Chinese pages say what the English ones say: same sections, tables, code and figures."""

from __future__ import annotations

import re
from calendar import month_name
from collections import Counter
from pathlib import PurePosixPath

import pytest

from tests.docs.pages import FENCED, ROOT, Block, blocks, pages, readmes, text_of

CHINESE = [page for page in pages() if page.startswith("docs/zh/")]
READMES = [page for page in readmes() if page.endswith("README.zh.md")]
SUMMARY = "docs/zh/model-card.md"
"""Says in short what the English page says; its figures stand there alone, written by a script."""
TRANSLATED = [page for page in CHINESE if page not in ("docs/zh/quickstart.md", SUMMARY)] + READMES
"""The quickstart tells of a Chinese application."""
ENGLISH_ONLY = {
    "docs/api.md": "written from the OpenAPI document; `/docs` shows that one in Chinese",
    "docs/tutorial.ipynb": "outputs of one run, mostly numbers; docs/zh/data.md says the calls",
}
"""Pages without a Chinese one, and why; operators and users need none of them to work."""
_WORDED = {
    "docs/alerts.md": {
        "burn = bad share / (1 − slo)",
        "<t>.<body>",
        "X-RagMonitor-Signature: t=<Unix seconds>,v1=<hex>",
    },
    "docs/evaluation.md": {
        '{"id", "input", "scores": {metric: number or null}, "flagged",'
        ' "not_applicable": {metric: reason}, "failed": {…}, "suspect": {…}, "reported",'
        ' "judge", "settings", "detail", "question"}'
    },
    "docs/reliability.md": {"file::test"},
    "docs/judges.md": {"--columns frage=question,urteil=label_faithful"},
    "docs/operations.md": {"--columns frage=question,antwort=answer"},
}
"""By page, what stands as code in English and is words, which Chinese says in its own."""
_COMMENT = re.compile(r"""(?P<code>(?:"[^"\n]*"|'[^'\n]*'|[^"'#\n])*)\#[^\n]*""")


def english(page: str) -> str:
    """The page that a Chinese one translates."""
    if page in READMES or page == "README.zh.md":
        return page.replace("README.zh.md", "README.md")
    return f"docs/{PurePosixPath(page).name}"


def code(block: Block) -> tuple[str, list[str]]:
    """A block's kind and its lines, comments left out."""
    bare = (_COMMENT.sub(r"\g<code>", line).rstrip() for line in block.text.splitlines())
    return block.kind, [line for line in bare if line]


def outline(page: str) -> list[int]:
    """The levels of a page's headings, in order."""
    text = FENCED.sub("", text_of(page))
    return [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]


def tables(page: str) -> list[int]:
    """The columns of every row of every table, in order."""
    text = FENCED.sub("", text_of(page))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) for row in rows]


def figures(page: str) -> Counter[str]:
    """How often each number stands in a page's text: 8.64 million and 864 万 are 8640000."""
    text = re.sub(r"\]\([^)]*\)", "]", FENCED.sub("", text_of(page)))
    for number, month in enumerate(month_name):
        if month:
            text = re.sub(rf"(\d+) {month} (\d{{4}})", rf"\2-{number:02}-\1", text)
            text = re.sub(rf"\b{month}\b", str(number), text)
    found: Counter[str] = Counter()
    for digits, unit in re.findall(r"(\d[\d,]*(?:\.\d+)?|\.\d+)(?: ?(million|万))?", text):
        value = float(digits.replace(",", "")) * {"": 1, "million": 1e6, "万": 1e4}[unit]
        found[f"{value:.10g}"] += 1
    return found


def names(page: str) -> set[str]:
    """What stands as code within the sentences and tables of a page."""
    spans = re.findall(r"`([^`]+)`", FENCED.sub("", text_of(page)))
    return {re.sub(r"\s+", " ", span) for span in spans}


def test_there_are_chinese_pages() -> None:
    assert len(CHINESE) >= 14
    assert len(READMES) * 2 == len(readmes()) >= 18


def test_the_summary_of_the_model_card_has_no_figures_of_its_own() -> None:
    assert figures(SUMMARY) == Counter()


def test_a_page_is_in_both_languages_or_on_the_list_of_those_that_are_not() -> None:
    single = {
        page
        for page in [*pages(), *(f"docs/{path.name}" for path in ROOT.glob("docs/*.ipynb"))]
        if page.startswith("docs/")
        and not page.startswith(("docs/zh/", "docs/adr/"))
        and f"docs/zh/{PurePosixPath(page).name}" not in CHINESE
    }

    assert single == set(ENGLISH_ONLY)
    assert [page for page in CHINESE if english(page) not in pages()] == []


@pytest.mark.parametrize("page", [*TRANSLATED, "README.zh.md"])
def test_a_chinese_page_has_the_figures_of_the_english_one(page: str) -> None:
    missing = figures(english(page)) - figures(page)

    assert dict(missing) == {}


@pytest.mark.parametrize("page", [*TRANSLATED, "README.zh.md"])
def test_a_chinese_page_names_the_settings_and_commands_of_the_english_one(page: str) -> None:
    missing = names(english(page)) - names(page)

    assert missing == _WORDED.get(english(page), set())


@pytest.mark.parametrize("page", TRANSLATED)
def test_a_chinese_page_has_the_code_of_the_english_one(page: str) -> None:
    assert [code(b) for b in blocks(page)] == [code(b) for b in blocks(english(page))]


@pytest.mark.parametrize("page", TRANSLATED)
def test_a_chinese_page_has_the_sections_and_tables_of_the_english_one(page: str) -> None:
    assert outline(page) == outline(english(page))
    assert tables(page) == tables(english(page))


@pytest.mark.parametrize("page", [*CHINESE, *READMES, "README.zh.md"])
def test_readers_are_addressed_in_one_way(page: str) -> None:
    assert "您" not in text_of(page)


@pytest.mark.parametrize("page", CHINESE)
def test_the_two_languages_lead_to_each_other(page: str) -> None:
    name = PurePosixPath(page).name

    assert f"[English](../{name})" in text_of(page)
    assert f"[中文](zh/{name})" in text_of(english(page))


@pytest.mark.parametrize("page", READMES)
def test_the_two_languages_of_a_readme_lead_to_each_other(page: str) -> None:
    assert "[English](README.md)" in text_of(page)
    assert "[中文](README.zh.md)" in text_of(english(page))


@pytest.mark.parametrize("page", CHINESE)
def test_links_of_a_chinese_page_lead_to_the_chinese_page_where_there_is_one(page: str) -> None:
    folder = (ROOT / page).parent
    text = FENCED.sub("", text_of(page))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path = target.partition("#")[0]
        if not path or "://" in path:
            continue
        assert (folder / path).exists(), f"{page}: {target} leads nowhere"
        if path.startswith("../") and path != f"../{PurePosixPath(page).name}":
            assert f"docs/zh/{path.removeprefix('../')}" not in CHINESE, f"{target} is English"

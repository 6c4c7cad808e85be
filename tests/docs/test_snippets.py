"""Every page as its readers use it: blocks run from top to bottom, against a running monitor."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import rag_monitor as rm
from rag_monitor.config import load_settings
from tests.acceptance.running import Monitor, eventually
from tests.docs import commands, given
from tests.docs.pages import ROOT, Block, anchors, blocks, pages, readmes, text_of

NEWCOMER = ROOT / "tests" / "integrations" / "newcomer_app.py"
_ASKED = {
    "docs/quickstart.md": "How long is the warranty?",
    "docs/zh/quickstart.md": "首套房最低首付比例是多少?",
}
"""By page, what a reader who followed it finds asked, answered and scored in the monitor."""
_OTHERS = re.compile(r"adr/|zh/")
"""Folders beside an index that it links as a whole."""
_SECRETS = {
    "RAG_MONITOR_API_KEY": "k",
    "RAG_MONITOR_OIDC_CLIENT_SECRET": "s",
    "RAG_MONITOR_PUBLIC_URL": "https://rag-monitor.example.com",
}
"""What readers of a block about sign-on have in their environment."""
_KINDS = {"", "python", "bash", "sh", "toml", "json", "yaml", "text"}


@pytest.mark.parametrize("page", [page for page in pages() if blocks(page)])
def test_every_snippet_of_a_page_works_as_printed(
    page: str, folder: Path, running: Monitor
) -> None:
    names: dict[str, Any] = {
        "__name__": "snippet",
        **given.NAMES.get(page.replace("/zh/", "/"), {}),
    }
    before = {row["trace_id"] for row in running.traces()}
    for block in blocks(page):
        if block.why_not is None:
            text = block.text.replace("127.0.0.1:8700", f"127.0.0.1:{running.port}")
            _run(block, text, names, folder, f"{page}:{block.line}")
    if question := _ASKED.get(page):
        rm.flush(20.0)
        eventually(lambda: _scored(running, question, before), 60.0)


def _scored(running: Monitor, question: str, before: set[str]) -> bool:
    new = [row for row in running.traces() if row["trace_id"] not in before]
    scores = [
        running.get(f"/api/v1/traces/{row['trace_id']}").json["scores"]
        for row in new
        if row["question"] == question
    ]
    return any(s["metric"] == "faithfulness" and s["value"] for one in scores for s in one)


def test_the_quickstart_is_the_application_whose_way_is_timed() -> None:
    (printed,) = [block.text for block in blocks("docs/quickstart.md") if block.kind == "python"]
    timed = ast.parse(NEWCOMER.read_text("utf-8"))

    assert ast.dump(ast.parse(printed)) == ast.dump(ast.Module(timed.body[1:], []))


def _run(block: Block, text: str, names: dict[str, Any], folder: Path, where: str) -> None:
    if block.kind == "python":
        exec(compile(text, where, "exec"), names)  # noqa: S102 - our own text
        _call(names)
    elif block.kind in ("", "bash", "sh"):
        for line in commands.lines(text):
            commands.run(line, folder)
    elif block.kind == "toml":
        _settings(text, folder)
    elif block.kind == "json":
        json.loads(text)
    elif block.kind == "yaml":
        yaml.safe_load(text)


def _call(names: dict[str, Any]) -> None:
    """A traced answer that a snippet only defines is asked once, and must reach the monitor."""
    answer = names.pop("answer", None)
    if inspect.isasyncgenfunction(answer):

        async def drain() -> str:
            return "".join([piece async for piece in answer("How long is the warranty?")])

        assert asyncio.run(drain())
        assert rm.flush(20.0)


def _settings(text: str, folder: Path) -> None:
    """Settings of ours are accepted by name; target profiles and packages are files of others."""
    tables = tomllib.loads(text)
    if not {"target", "project"} & set(tables):
        file = folder / "rag_monitor.toml"
        file.write_text(text, encoding="utf-8")
        load_settings(file, _SECRETS if "oidc" in tables else {})
        file.unlink()


@pytest.mark.parametrize("page", pages())
def test_settings_with_a_channel_name_where_its_links_lead(page: str) -> None:
    texts = [block.text for block in blocks(page) if block.kind == "toml"]
    channels = [tables for text in texts if "notifiers" in (tables := tomllib.loads(text))]

    assert [tables for tables in channels if not tables.get("public_url")] == []


@pytest.mark.parametrize("page", pages())
def test_only_known_kinds_of_blocks_are_used(page: str) -> None:
    assert {block.kind for block in blocks(page)} <= _KINDS


@pytest.mark.parametrize("page", pages())
def test_commands_inside_sentences_exist(page: str) -> None:
    for line in re.findall(r"`(rag-monitor [a-z][^`…]*)`", text_of(page)):
        commands.check_options(line.split())


@pytest.mark.parametrize("page", pages())
def test_links_inside_the_project_lead_somewhere(page: str) -> None:
    here = ROOT / page
    links = re.findall(r"\]\((?!https?:|mailto:)([^)#]+)", text_of(page))

    assert [link for link in links if not (here.parent / link).exists()] == []


@pytest.mark.parametrize("page", sorted({*pages(), *readmes()}))
def test_links_to_a_section_lead_to_a_heading(page: str) -> None:
    here = (ROOT / page).parent
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text_of(page))
    led = {
        f"{path}#{section}": str((here / path).resolve().relative_to(ROOT)) if path else page
        for path, section in links
    }

    assert [link for link, to in led.items() if link.partition("#")[2] not in anchors(to)] == []


@pytest.mark.parametrize("index", ["docs/README.md", "docs/zh/README.md"])
def test_every_page_is_reached_from_the_index(index: str) -> None:
    folder = (ROOT / index).parent
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text_of(index))
    reached = {str((folder / link).resolve().relative_to(ROOT)) for link in links}
    here = index.removesuffix("README.md")
    wanted = {
        page for page in pages() if page.startswith(here) and not _OTHERS.match(page, len(here))
    }

    assert sorted(wanted - reached - {index}) == []

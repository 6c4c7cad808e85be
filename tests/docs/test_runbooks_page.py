"""docs/runbooks.md says what the page `/runbooks` says, in both languages."""

from __future__ import annotations

import os

import pytest

from rag_monitor.alerting.runbooks import MONITOR, SECTIONS
from rag_monitor.i18n import Message, translate
from rag_monitor.server.ui.catalog import RULE_KINDS, RUNBOOK_INTRODUCTION, THE_MONITOR
from tests.docs.pages import ROOT, text_of


@pytest.mark.parametrize(
    ("name", "language", "other"),
    [
        ("docs/runbooks.md", "en", "[中文](zh/runbooks.md)"),
        ("docs/zh/runbooks.md", "zh", "[English](../runbooks.md)"),
    ],
)
def test_the_page_is_the_one_that_the_monitor_shows(name: str, language: str, other: str) -> None:
    parts = [
        f"# {translate(Message('Runbooks'), language)}",
        other,
        translate(Message(RUNBOOK_INTRODUCTION), language),
    ]
    for section, steps in SECTIONS.items():
        title = THE_MONITOR if section == MONITOR else RULE_KINDS[section]
        parts.append(
            f'<a id="{section}"></a>\n\n## {translate(Message(title), language).capitalize()}'
        )
        parts.append(
            "\n".join(
                f"{n}. {translate(Message(step), language)}" for n, step in enumerate(steps, 1)
            )
        )
    expected = "\n\n".join(parts) + "\n"
    if os.environ.get("UPDATE_PAGES"):
        (ROOT / name).write_text(expected, encoding="utf-8")

    assert text_of(name) == expected, "run this test again with UPDATE_PAGES=1"

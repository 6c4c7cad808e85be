"""Numbers are written in one style: pages have them written, and write none themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import rag_monitor.server.ui as ui
from rag_monitor.charts import numbers
from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML

FOLDER = Path(ui.__file__).parent
OWN_STYLE = re.compile(
    r"""["']\{[^}"']*:[^}"']+\}[^"']*["']\.format\("""  # "{:.2f}".format(value)
    r"""|["']%[-+ #0-9.]*[a-z][^"']*["']\s*(\||%)"""  # "%.2f" | format(value), "%d" % value
    r"""|\|\s*(round|format|filesizeformat)\b"""
)
OWN_STYLE_IN_CODE = re.compile(r"\{[^{}]*:,?(\.\d+)?[fg%]\}|\{[^{}]*:,[^{}]*\}")
WRITERS = {
    "view.py",
    *("duration_text.py", "rule_fields.py", "rule_form.py", "document_pages.py"),
}
"""Modules that write numbers: for all; and those of forms and of constants."""


@pytest.mark.parametrize("template", sorted(FOLDER.glob("templates/*.html")), ids=lambda p: p.name)
def test_templates_write_no_numbers_themselves(template: Path) -> None:
    assert [m[0] for m in OWN_STYLE.finditer(template.read_text("utf-8"))] == []


def test_code_of_pages_writes_no_numbers_itself() -> None:
    found = {
        path.name: [match[0] for match in OWN_STYLE_IN_CODE.finditer(path.read_text("utf-8"))]
        for path in FOLDER.glob("*.py")
        if path.name not in WRITERS
    }

    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (numbers.count_text(1_234_567), "1,234,567"),
        (numbers.count_text(None), "–"),
        (numbers.points_text(0.0321), "+3.2"),
        (numbers.points_text(-0.5), "−50.0"),
        (numbers.points_text(0.0), "0.0"),
        (numbers.share_text(0.9987, 1), "99.9%"),
        (numbers.share_text(0.5), "50%"),
        (numbers.share_interval(0.981, 0.9987, 1), "98.1–99.9%"),
        (numbers.given_share(0.999), "99.9%"),
        (numbers.given_share(0.001), "0.1%"),
        (numbers.multiple_text(14.4), "14.40 ×"),
        (numbers.multiple_text(None), "–"),
        (numbers.money_text(0.00213), "0.00213"),
        (numbers.money_text(0.000021), "0.0000210"),
        (numbers.money_text(0.0), "0.00"),
        (numbers.money_text(1234.5), "1,234.50"),
        (numbers.quantile_name(0.5), "p50"),
        (numbers.quantile_name(0.999), "p99.9"),
        (f"{numbers.Count(12_345)}", "12,345"),
        (f"{numbers.Count(12_345):d}", "12345"),
    ],
)
def test_how_numbers_are_written(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(
    ("language", "expected"),
    [("en", "12,345 traces wait to be judged"), ("zh", "12,345 条")],
)
async def test_counts_within_sentences_have_separators(
    services: Services, monkeypatch: pytest.MonkeyPatch, language: str, expected: str
) -> None:
    backlog = services.tasks.backlog(services.clock.now())
    monkeypatch.setattr(services.tasks, "backlog", lambda now: replace(backlog, waiting=12_345))
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/?lang={language}")).text

    assert expected in text

"""Every kind of rule has its section in the runbooks, where messages link to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_monitor.alerting.runbooks import MONITOR, runbook_url
from rag_monitor.domain.alert import RuleKind

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("section", [*(kind.value for kind in RuleKind), MONITOR])
def test_every_alert_has_a_section_to_follow(section: str, language: str) -> None:
    address, _, anchor = runbook_url(section, language=language).partition("#")
    page = ROOT / address.partition("/blob/main/")[2]

    text = page.read_text(encoding="utf-8")

    headings = {line[3:].lower().replace(" ", "-") for line in re.findall(r"^## .*$", text, re.M)}
    assert anchor in headings | set(re.findall(r'<a id="([^"]+)">', text))

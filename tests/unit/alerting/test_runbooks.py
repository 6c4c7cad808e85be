"""Every kind of rule has its section in the runbooks, where messages link to."""

from __future__ import annotations

import pytest

from rag_monitor.alerting.runbooks import MONITOR, SECTIONS, runbook_url
from rag_monitor.domain.alert import RuleKind


def test_every_alert_has_a_section_to_follow() -> None:
    assert SECTIONS.keys() == {*(kind.value for kind in RuleKind), MONITOR}
    assert all(SECTIONS.values())


@pytest.mark.parametrize(
    ("given", "url"),
    [
        (("drop",), "/runbooks#drop"),
        (("drop", "", "https://m.example/"), "https://m.example/runbooks#drop"),
        (("drop", "https://wiki.example/x", "https://m.example"), "https://wiki.example/x"),
        (("",), "/runbooks"),
        (("of a later release",), "/runbooks"),
    ],
)
def test_the_runbook_of_a_rule_goes_before_ours(given: tuple[str, ...], url: str) -> None:
    assert runbook_url(*given) == url

"""The pages on metrics name everything that `/metrics` has, with its labels."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from rag_monitor import telemetry
from rag_monitor.exposition.collector import State, state_families, value_families
from rag_monitor.exposition.snapshot import Snapshot
from rag_monitor.judges import ensemble  # noqa: F401 - counts when it is loaded
from tests.docs.pages import text_of

_WITH_ENDS = (
    *("rag_monitor_score", "rag_monitor_app_score"),
    *("rag_monitor_hit_ratio", "rag_monitor_fault_ratio", "rag_monitor_app_fault_ratio"),
    *("rag_monitor_session_estimate", "rag_monitor_session_app_estimate"),
)
"""Each stands once for four."""


def exposed() -> dict[str, list[str]]:
    """Every name on `/metrics` of ours with its labels."""
    known = {
        name: list(collector._labelnames)
        for collector, names in telemetry.REGISTRY._collector_to_names.items()
        if hasattr(collector, "_labelnames")
        for name in names
    }
    found = {}
    ours = chain(state_families(State(store_up=True)), value_families(Snapshot()))
    for family in chain(telemetry.REGISTRY.collect(), ours):
        if family.name.startswith("rag_monitor_"):
            labels = getattr(family, "_labelnames", None) or known.get(family.name, [])
            found[family.name + ("_total" if family.type == "counter" else "")] = list(labels)
    return found


@pytest.mark.parametrize("page", ["docs/metrics.md", "docs/zh/metrics.md"])
def test_everything_exposed_is_named_with_its_labels(page: str) -> None:
    rows = re.findall(r"^\| `(rag_monitor_\w+)` \| ([^|]+) \|", text_of(page), re.MULTILINE)
    named = {name: re.findall(r"`(\w+)`", labels) for name, labels in rows}
    wanted = {
        name: labels
        for name, labels in exposed().items()
        if name in _WITH_ENDS or not name.startswith(_WITH_ENDS)
    }

    assert named == wanted

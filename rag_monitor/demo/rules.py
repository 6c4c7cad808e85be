"""The shipped rules, set up so that a demonstration can meet them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

WATCHED: Final = ("faithfulness", "context_precision")
"""Metrics whose drop must be noticed for the story to be true."""
_WINDOW_S: Final = 600
_MIN_JUDGED: Final = 20

Rule = dict[str, Any]


def with_demo_rules(existing: Sequence[Mapping[str, Any]]) -> list[Rule]:
    """All rules, those for drops of the watched metrics comparing a release with the one before.

    A shipped rule keeps everything else; where there is none for a metric, one is written.
    """
    rules = [_tuned(rule) if _watches(rule) else dict(rule) for rule in existing]
    covered = {rule["metric"] for rule in rules if _watches(rule)}
    missing = [metric for metric in WATCHED if metric not in covered]
    return rules + [_tuned(_fresh(metric)) for metric in missing]


def watched_rules(rules: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Metric to the name of its rule, for the watched metrics."""
    return {str(rule["metric"]): str(rule["name"]) for rule in rules if _watches(rule)}


def _watches(rule: Mapping[str, Any]) -> bool:
    return rule["kind"] == "drop" and rule.get("metric") in WATCHED


def _fresh(metric: str) -> Rule:
    return {"name": f"{metric} drop", "app": "*", "kind": "drop", "metric": metric}


def _tuned(rule: Mapping[str, Any]) -> Rule:
    return dict(rule) | {
        "window_s": _WINDOW_S,
        "min_judged": _MIN_JUDGED,
        "hold_for_s": 0,
        "params": dict(rule.get("params") or {}) | {"baseline": "previous_release"},
    }

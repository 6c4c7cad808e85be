"""The shipped rules with windows short enough for a demonstration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

WATCHED: Final = ("faithfulness", "context_precision")
"""Metrics whose drop must be noticed for the story to be true."""
_WINDOW_S: Final = 300
_MIN_JUDGED: Final = 20


def demo_rules(existing: Sequence[Mapping[str, object]], app: str) -> list[dict[str, object]]:
    """The drop rules of the watched metrics, comparing a release with the one before it.

    A shipped rule keeps everything but its windows; where there is none, one is written.
    """
    return [_demo_rule(existing, metric, app) for metric in WATCHED]


def _demo_rule(
    existing: Sequence[Mapping[str, object]], metric: str, app: str
) -> dict[str, object]:
    shipped = next(
        (
            rule
            for rule in existing
            if rule.get("kind") == "drop"
            and rule.get("metric") == metric
            and rule.get("app") in (app, "*")
        ),
        {"name": f"{metric.replace('_', '-')}-drop", "app": app, "kind": "drop", "metric": metric},
    )
    params = shipped.get("params")
    kept = dict(params) if isinstance(params, Mapping) else {}
    return dict(shipped) | {
        "window_s": _WINDOW_S,
        "min_judged": _MIN_JUDGED,
        "hold_for_s": 0,
        "params": kept | {"baseline": "previous_release"},
    }

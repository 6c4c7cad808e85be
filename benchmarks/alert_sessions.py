"""False alarms of every kind of rule where the answers of a session stand or fall together.

A part of `benchmarks/alert_system.py`, with its machinery. One application with six metrics, 0.96
good at an objective of 0.95, ten traces a minute of ten sessions that run at a time. Then all its
metrics fall to 0.70, after the quiet days and once more after each of some single days.

Rates are stated for 30 days, per stream: `burn_rate` 0.2 at most where the truth is one point
inside the objective, `change` one at the boundary, `drop` 0.25 (docs/alerts.md). `threshold` states
none while the truth is well inside; its limit is 0.90 here. Windows are those that hold 180 judged
or more: an hour where each trace is judged, else six hours.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from benchmarks.alerting_house import EVERY_MINUTES, house
from benchmarks.simulated_traffic import APPS, METRICS, Clusters, Fall, Traffic
from rag_monitor.domain.alert import AlertRule, AlertState, RuleKind, Severity

LONGEST: Final = (9, 40)
CORRELATIONS: Final = (0.0, 0.1, 0.5, 0.9)
SHARES: Final = (1.0, 0.05)
GOOD, FALLEN = 0.96, 0.70
STATED: Final = {"burn_rate": 0.2, "change": 1.0, "drop": 0.25, "threshold": 0.25}
"""False alarms per stream in 30 days, at most."""
_ALL_FOUND_DAYS: Final = 1.0
"""So long a fall is watched."""


def clustered(days: float, falls: int, seed: int) -> Iterator[dict[str, Any]]:
    """One row per setting, as soon as it is there."""
    for share in SHARES:
        for longest in LONGEST:
            for correlation in CORRELATIONS:
                began = time.process_time()
                clusters = Clusters(longest, correlation)
                quiet, delays = _watched(days, share, clusters, seed)
                for number in range(falls):
                    _, more = _watched(1.0, share, clusters, 1000 * seed + number)
                    for kind, found in more.items():
                        delays[kind] += found
                row = _row(days, share, clusters, quiet, delays)
                row["cpu_seconds"] = round(time.process_time() - began, 1)
                print(json.dumps(row), file=sys.stderr, flush=True)
                yield row


def rules(window_s: float) -> list[AlertRule]:
    """Every kind that watches scores, for every metric; named by metric and kind."""
    kinds: tuple[tuple[RuleKind, float, dict[str, float | str]], ...] = (
        (RuleKind.BURN_RATE, 3600.0, {"slo": 0.95, "multiple": 2.0, "short_s": 300.0}),
        (RuleKind.BURN_RATE, 21_600.0, {"slo": 0.95, "multiple": 1.5, "short_s": 1800.0}),
        (RuleKind.CHANGE, 21_600.0, {"mu0": 0.95, "days": 30.0}),
        (RuleKind.DROP, window_s, {"baseline": "previous_window", "min_drop": 0.10}),
        (RuleKind.THRESHOLD, window_s, {"below": 0.90}),
    )
    return [
        AlertRule(
            name=f"{metric} {kind.value} {window:g}",
            kind=kind,
            metric=metric,
            window_s=window,
            hold_for_s=120.0 if kind is RuleKind.DROP else 0.0,
            min_judged=20 if kind is RuleKind.BURN_RATE else 50,
            severity=Severity.PAGE,
            params=params,
        )
        for metric in METRICS
        for kind, window, params in kinds
    ]


def _watched(
    days: float, share: float, clusters: Clusters, seed: int
) -> tuple[Counter[str], dict[str, list[float]]]:
    """Alarms by kind while nothing happens, and minutes to the first alarm after a fall."""
    app = APPS[0]
    traffic = Traffic(seed, rate=share, good=GOOD, apps=(app,), clusters=clusters)
    quiet: Counter[str] = Counter()
    first: dict[tuple[str, str], float] = {}
    with house(rules(3600.0 if share == 1.0 else 21_600.0), (app,)) as built:
        for _ in range(round(days * 1440 / EVERY_MINUTES)):
            for transition in built.step(traffic):
                if transition.event == "firing" and transition.alert.state is AlertState.FIRING:
                    quiet[transition.alert.rule.split()[1]] += 1
        standing = {alert.rule for alert in built.store.alerts.load("default", AlertState.FIRING)}
        traffic.fall = Fall(app, None, built.clock.now(), FALLEN)
        for look in range(1, round(_ALL_FOUND_DAYS * 1440 / EVERY_MINUTES) + 1):
            for transition in built.step(traffic):
                metric, kind, _ = transition.alert.rule.split()
                if transition.event == "firing" and transition.alert.rule not in standing:
                    first.setdefault((metric, kind), float(look * EVERY_MINUTES))
            if len(first) == len(METRICS) * len(STATED):
                break
    traffic.close()
    delays: dict[str, list[float]] = defaultdict(list)
    for kind in STATED:
        delays[kind] = [first.get((metric, kind), float("inf")) for metric in METRICS]
    return quiet, delays


def _row(
    days: float,
    share: float,
    clusters: Clusters,
    quiet: Counter[str],
    delays: dict[str, list[float]],
) -> dict[str, Any]:
    streams = len(METRICS)
    alarms = {kind: quiet[kind] / streams for kind in STATED}
    return {
        "bar": f"sessions of 1 to {clusters.turns}, ICC {clusters.correlation}, {share:.0%} judged",
        "simulated_days": days,
        "streams": streams,
        "false_alarms_per_stream": {kind: round(n, 2) for kind, n in alarms.items()},
        "stated_at_most": {kind: round(n * days / 30.0, 3) for kind, n in STATED.items()},
        "fall_to_0.70_found": {
            kind: f"{sum(minutes < float('inf') for minutes in found)} of {len(found)}"
            for kind, found in delays.items()
        },
        "minutes_to_alarm_median": {
            kind: _finite(statistics.median(found)) for kind, found in delays.items()
        },
        "holds": all(alarms[kind] <= STATED[kind] * days / 30.0 for kind in STATED),
    }


def _finite(minutes: float) -> float | None:
    return minutes if minutes < float("inf") else None

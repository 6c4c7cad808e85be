"""The whole alerting system on simulated days: false alarms when all is well, delay when it is not.

Real: the sampler's draw for every trace, judging (`ScriptedJudge`), scoring, `summarise`, rollups,
alerts and outbox in SQLite, the estimates, every rule and the state machine. Left out, because it
is not what is measured: HTTP, spans and their derivation, and the rows of single traces and scores.
Traces of one minute and application share everything but their id.

Part `quiet`: 20 applications, 6 metrics, 10 traces a minute an application, the judge sees 5% of
them (the default rate), rules every 5 minutes. The true share of good answers is one point inside
the objective (0.96 at 0.95). Every application and metric has the fast and the medium burn-rate
tier (pages) and a change rule that states one false alarm in 30 days.

With `--turns N --correlation R` both parts have traffic of sessions: ten run at a time in every
application, each of 1 to N traces that share a chance of a bad answer for each metric (beta,
intraclass correlation R). Part `sessions` (`--sessions`, alone) runs through lengths, correlations
and shares judged, with every kind of rule (`benchmarks/alert_sessions.py`).

Part `change`: share of good answers 0.93, after about 500 judged 0.85 in one metric of one
application; change rules with mu0 0.90 and A = 10,000 judged. The judge sees every trace
(`--change-rate 1`), so that 50 are judged between two looks: what lies between the alarm and the
look that finds it counts as delay. The seeds are none that the detector's weights were chosen on.

    python -m benchmarks.alert_system [--days 30] [--runs 50] [--seed 1] [--quick]
        [--turns 9 --correlation 0.5] [--sessions]

An interrupt (or `--minutes`) ends the quiet part early; the report says how many days it had.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.alert_sessions import clustered
from benchmarks.alerting_house import EVERY_MINUTES, house
from benchmarks.simulated_traffic import APPS, METRICS, MINUTE, PER_MINUTE, Clusters, Fall, Traffic
from rag_monitor.domain.alert import AlertRule, AlertState, RuleKind, Severity
from rag_monitor.testing import EPOCH


def quiet_rules() -> list[AlertRule]:
    """Two paging burn-rate tiers and a change rule for every metric."""
    rules: list[AlertRule] = []
    for metric in METRICS:
        rules += [
            AlertRule(
                name=f"{metric} burns {tier}",
                kind=RuleKind.BURN_RATE,
                metric=metric,
                window_s=window_s,
                min_judged=20,
                params={"slo": 0.95, "multiple": multiple, "short_s": short_s},
            )
            for tier, window_s, multiple, short_s in (
                ("fast", 3600.0, 2.0, 300.0),
                ("medium", 21_600.0, 1.5, 1800.0),
            )
        ]
        rules.append(
            AlertRule(
                name=f"{metric} change",
                kind=RuleKind.CHANGE,
                metric=metric,
                window_s=21_600.0,
                severity=Severity.PAGE,
                params={"mu0": 0.95, "days": 30.0},
            )
        )
    return rules


def quiet(
    days: float,
    seed: int,
    minutes: float,
    clusters: Clusters,
    rate: float,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Nothing happens: how often does each kind of rule page? Ends early after some minutes."""
    traffic = Traffic(seed, rate=rate, good=0.96, clusters=clusters)
    pages: Counter[str] = Counter()
    streams = len(APPS) * len(METRICS)
    rounds = round(days * 1440 / EVERY_MINUTES)
    began = time.perf_counter()
    with house(quiet_rules()) as built:
        for number in range(rounds):
            try:
                moved = built.step(traffic)
            except KeyboardInterrupt:
                days = number * EVERY_MINUTES / 1440.0
                break
            for transition in moved:
                if transition.alert.state is AlertState.FIRING and transition.event == "firing":
                    pages[transition.alert.rule.partition(" ")[2]] += 1
            if number % 288 == 287:
                progress(f"quiet: day {(number + 1) // 288}, {time.perf_counter() - began:.0f} s")
            if time.perf_counter() - began > minutes * 60.0:
                days = (number + 1) * EVERY_MINUTES / 1440.0
                break
        spent = {name: round(seconds, 1) for name, seconds in built.spent.items()}
        told = len(built.store.outbox.due(built.clock.now(), 100_000, 60.0))
    traffic.close()
    burn = sum(count for name, count in pages.items() if name.startswith("burns"))
    return {
        "simulated_days": days,
        "turns_of_a_session": clusters.turns,
        "intraclass_correlation": clusters.correlation,
        "streams": streams,
        "true_good": 0.96,
        "objective": 0.95,
        "traces": traffic.traces,
        "judged": traffic.judged,
        "burn_rate_pages": {name: n for name, n in pages.items() if name.startswith("burns")},
        "burn_rate_pages_per_stream": burn / streams,
        "change_pages": pages["change"],
        "change_pages_per_stream": pages["change"] / streams,
        "change_pages_stated_at_most_per_stream": days / 30.0,
        "notifications_queued": told,
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(sum(spent.values()), 1),
        "cpu_seconds_by_part": spent,
        "bar": "burn-rate pages per stream in 30 days <= 0.2",
        "holds": burn / streams <= 0.2 if days >= 30 else None,
    }


def change(
    run: int, seed: int, rate: float, apps: Sequence[str], clusters: Clusters
) -> dict[str, Any]:
    """One stream falls: how many judged traces until its rule fires, and who else fires?"""
    app, metric = apps[run % len(apps)], list(METRICS)[run % len(METRICS)]
    fall = Fall(app, metric, EPOCH + 500 / (PER_MINUTE * rate) * MINUTE, 0.85)
    traffic = Traffic(
        seed * 1000 + run, rate=rate, good=0.93, fall=fall, apps=apps, clusters=clusters
    )
    rules = [
        AlertRule(
            name=f"{name} change",
            kind=RuleKind.CHANGE,
            metric=name,
            window_s=21_600.0,
            params={"mu0": 0.90, "every_judged": 10_000.0},
        )
        for name in METRICS
    ]
    found: dict[str, Any] = {"early": 0, "delay": None, "others": 0, "stream_judged": 0}
    with house(rules, apps) as built:
        while found["delay"] is None and traffic.judged_since_fall < 5000:
            for transition in built.step(traffic):
                if transition.event != "firing":
                    continue
                if (transition.alert.app, transition.alert.rule) != (app, f"{metric} change"):
                    found["others"] += 1
                elif built.clock.now() <= fall.at:
                    found["early"] += 1
                else:
                    found["delay"] = traffic.judged_since_fall
    traffic.close()
    found["stream_judged"] = traffic.judged * len(METRICS)
    return found


def changes(
    runs: int,
    seed: int,
    rate: float,
    apps: Sequence[str],
    clusters: Clusters,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """The median delay over runs, and the other streams' pages against the stated rate."""
    began = time.perf_counter()
    found = []
    for run in range(runs):
        found.append(change(run, seed, rate, apps, clusters))
        progress(f"change: run {run + 1} of {runs}, {time.perf_counter() - began:.0f} s")
    delays = [item["delay"] if item["delay"] is not None else float("inf") for item in found]
    others = sum(item["others"] for item in found)
    stated = sum(item["stream_judged"] for item in found) / 10_000.0
    median = statistics.median(delays)
    return {
        "runs": runs,
        "judge_rate": rate,
        "apps": len(apps),
        "good_before": 0.93,
        "good_after": 0.85,
        "mu0": 0.90,
        "A": 10_000,
        "delay_judged_median": median,
        "delays": sorted(delays),
        "fired_before_the_fall": sum(item["early"] for item in found),
        "never_fired": sum(delay == float("inf") for delay in delays),
        "other_streams_pages": others,
        "other_streams_stated_at_most": round(stated, 1),
        "seconds": round(time.perf_counter() - began, 1),
        "bar": "median <= 417 judged; other streams' pages <= judged / A",
        "holds": median <= 417 and others <= stated if runs >= 50 else None,
    }


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--days", type=float, default=30.0, help="quiet days to simulate")
    parser.add_argument("--minutes", type=float, default=30.0, help="the quiet part ends by then")
    parser.add_argument("--runs", type=int, default=50, help="runs with a change")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--change-rate", type=float, default=1.0, help="judged share in `change`")
    parser.add_argument("--change-apps", type=int, default=20, help="applications in `change`")
    parser.add_argument("--quiet-rate", type=float, default=0.05, help="judged share in `quiet`")
    parser.add_argument("--turns", type=int, default=0, help="of the longest session; 0: none")
    parser.add_argument("--correlation", type=float, default=0.5, help="within a session")
    parser.add_argument("--sessions", action="store_true", help="only the part `sessions`")
    parser.add_argument("--falls", type=int, default=2, help="further falls in `sessions`")
    parser.add_argument("--quick", action="store_true", help="a tenth of a day, two runs")
    given = parser.parse_args()
    if not 0.0 < given.correlation < 1.0:
        parser.error("--correlation lies between 0 and 1")
    clusters = Clusters(given.turns, given.correlation if given.turns else 0.0)
    days, runs = (0.1, 2) if given.quick else (given.days, given.runs)

    def progress(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    began = time.perf_counter()
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "seed": given.seed,
        "apps": len(APPS),
        "metrics": len(METRICS),
    }
    if given.sessions:
        report["sessions"] = list(clustered(days, 0 if given.quick else given.falls, given.seed))
        days = runs = 0
    if days > 0:
        report["quiet"] = quiet(
            days, given.seed, given.minutes, clusters, given.quiet_rate, progress
        )
    if runs > 0:
        report["change"] = changes(
            runs, given.seed, given.change_rate, APPS[: given.change_apps], clusters, progress
        )
    report["seconds"] = round(time.perf_counter() - began, 1)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()

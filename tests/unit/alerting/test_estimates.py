"""The estimates of rollups, as the engine asks for them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.alerting.rules import default_rules
from rag_monitor.domain.alert import RuleKind
from rag_monitor.domain.rollup import TRACES_METRIC, Rollup, RollupKey, RollupQuery
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Series, Window
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.alerting.fakes import FakeAlerts, FakeRules, WorstTraces, rule

JUDGE = "embedded/encoder/1/1"


class _Rollups:
    """Twenty scored traces a minute: v1 for an hour, then v2, which is worse.

    Args:
        judge: Who judges v2.
        beside: Who judges both besides, and finds nothing.
        found: What v2 is found to be worth.
    """

    def __init__(self, judge: str = JUDGE, *, beside: str = "", found: float = 0.4) -> None:
        self.rows: list[Rollup] = []
        for minute in range(120):
            moment = EPOCH - timedelta(minutes=120 - minute)
            good = minute < 60
            release, mean = ("v1", 0.9) if good else ("v2", found)
            self._add(moment, release, TRACES_METRIC, "", 20, 0.0, dimension="ok")
            self._add(moment, release, "faithfulness", JUDGE if good else judge, 20, 20 * mean)
            if beside:
                self._add(moment, release, "faithfulness", beside, 10, 9.0)

    def _add(
        self,
        minute: datetime,
        release: str,
        metric: str,
        judge: str,
        count: int,
        total: float,
        dimension: str = "",
    ) -> None:
        key = RollupKey(
            project="default",
            app="shop",
            metric=metric,
            minute=minute,
            release=release,
            judge=judge,
            dimension=dimension,
        )
        self.rows.append(
            Rollup(
                key=key,
                count=count,
                total=total,
                squares=total * 0.9,
                bad=0 if release == "v1" else count,
                weight=float(count),
                weighted_total=total,
                weight_squares=float(count),
                weighted_squares=total * 0.9,
            )
        )

    def load(self, wanted: RollupQuery) -> list[Rollup]:
        window = wanted.window
        return [
            row
            for row in self.rows
            if window.start <= row.key.minute < window.end and wanted.wants(row.key)
        ]

    def load_sums(self, wanted: RollupQuery, step: timedelta | None = None) -> list[Rollup]:
        return self.load(wanted)


def test_the_shipped_rules_see_a_worse_release_in_real_rollups() -> None:
    alerts = FakeAlerts()
    engine = AlertEngine(
        RuleEstimates(_Rollups(), WorstTraces(["c" * 32])),
        FakeRules(default_rules()),
        alerts,
        ManualClock(),
        channels=("log",),
    )

    engine.run(EPOCH)
    engine.run(EPOCH + timedelta(seconds=120))

    fired = {alert.rule: alert for alert in alerts.alerts.values() if alert.state == "firing"}
    # Of so many traces ten minutes tell, and those before were as bad: the release is what tells.
    (rule_name,) = fired
    assert rule_name == "faithfulness below last release"
    assert fired[rule_name].finding.judged >= 200
    assert fired[rule_name].finding.worst_traces == ("c" * 32,)


def test_what_an_app_sent_days_ago_is_not_read_again_by_every_run() -> None:
    rollups = _Rollups()
    loads: list[RollupQuery] = []
    load = rollups.load

    def counted(wanted: RollupQuery) -> list[Rollup]:
        loads.append(wanted)
        return load(wanted)

    rollups.load = counted  # type: ignore[method-assign]
    source = RuleEstimates(rollups, WorstTraces(["c" * 32]))

    def sent(minutes: float, hours: int = 24) -> int:
        end = EPOCH + timedelta(minutes=minutes)
        window = Window.ending(end, timedelta(hours=hours))
        selection = Selection(project="default", app="shop", window=window)
        return sum(source.live_by_step(selection, timedelta(hours=1)))

    assert [sent(0), sent(0), sent(0)] == [2400, 2400, 2400]
    assert len(loads) == 1
    assert sent(9, hours=1) == 1020, "another window is another question"
    assert sent(23 * 60) == 1200
    assert sent(22 * 60) == 2400, "also where the time goes back, as in replays"


@pytest.mark.parametrize("baseline", ["previous_window", "previous_release"])
@pytest.mark.parametrize(
    ("other", "beside"),
    [("embedded-lexical/words/1/1", ""), ("embedded/encoder/1/2", ""), (JUDGE + "x", "embedded/y")],
)
def test_a_change_of_judge_is_not_a_change_of_quality(
    baseline: str, other: str, beside: str
) -> None:
    params = {"baseline": baseline, "min_drop": 0.05}
    drop = rule(RuleKind.DROP, metric="faithfulness", params=params)
    engine = AlertEngine(
        RuleEstimates(_Rollups(other, beside=beside), WorstTraces(["c" * 32])),
        FakeRules([drop]),
        FakeAlerts(),
        ManualClock(),
    )

    (found,) = engine.try_rule(drop, EPOCH).values()

    assert found.active is (False if beside else None)
    assert ("common_judge" if beside else "different_judges") in found.notes


def test_an_alert_stays_while_another_judge_takes_over() -> None:
    drop = rule(
        RuleKind.DROP, metric="faithfulness", params={"baseline": "previous_release"}, hold_for_s=0
    )
    rollups, alerts = _Rollups(), FakeAlerts()
    engine = AlertEngine(
        RuleEstimates(rollups, WorstTraces(["c" * 32])), FakeRules([drop]), alerts, ManualClock()
    )
    engine.run(EPOCH)
    (before,) = alerts.alerts.values()
    assert before.state == "firing"

    rollups.rows = _Rollups("embedded/encoder/2/1", found=0.95).rows
    engine.run(EPOCH + timedelta(minutes=5))

    (after,) = alerts.alerts.values()
    assert after.state == "firing", "a kinder judge says nothing about the fall"


def test_the_release_before_is_found_with_the_rules_own_minimum() -> None:
    estimates = RuleEstimates(_Rollups(), WorstTraces(["c" * 32]))
    window = Window.ending(EPOCH, timedelta(minutes=10))
    names = estimates.releases("default", "shop", window)
    assert names == ["v2"]

    series = Series(
        project="default", app="shop", metric="faithfulness", judge="combined", release="v2"
    )
    before = estimates.release_baseline(series, window, min_judged=20)
    blind = estimates.release_baseline(series, window, min_judged=5000)

    assert before is not None
    assert before.series.release == "v1"
    assert before.value is not None
    assert abs(before.value - 0.9) < 1e-9
    assert before.lower is not None
    assert blind is not None
    assert blind.lower is None

"""The estimates of rollups, as the engine asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.rules import default_rules
from rag_monitor.alerting.sources import RollupEstimates
from rag_monitor.domain.rollup import TRACES_METRIC, Rollup, RollupKey, RollupQuery
from rag_monitor.domain.window import Series, Window
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.alerting.fakes import FakeAlerts, FakeRules

JUDGE = "embedded/encoder/1/1"


class _Rollups:
    """Twenty scored traces a minute: v1 for an hour, then v2, which is worse."""

    def __init__(self) -> None:
        self.rows: list[Rollup] = []
        for minute in range(120):
            moment = EPOCH - timedelta(minutes=120 - minute)
            good = minute < 60
            release, mean = ("v1", 0.9) if good else ("v2", 0.4)
            self._add(moment, release, TRACES_METRIC, "", 20, 0.0, dimension="ok")
            self._add(moment, release, "faithfulness", JUDGE, 20, 20 * mean)

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


class _Traces:
    def app_names(self, project: str) -> Sequence[str]:
        return ["shop"]

    def worst(
        self,
        project: str,
        app: str,
        metric: str,
        window: Window,
        limit: int = 5,
        knowledge_base: str | None = None,
    ) -> Sequence[str]:
        return ["c" * 32]


def test_the_shipped_rules_see_a_worse_release_in_real_rollups() -> None:
    alerts = FakeAlerts()
    engine = AlertEngine(
        RollupEstimates(_Rollups(), _Traces()),
        FakeRules(default_rules()),
        alerts,
        ManualClock(),
        channels=("log",),
    )

    engine.run(EPOCH)
    engine.run(EPOCH + timedelta(seconds=120))

    fired = {alert.rule: alert for alert in alerts.alerts.values() if alert.state == "firing"}
    assert set(fired) == {"faithfulness drop"}
    assert fired["faithfulness drop"].finding.judged >= 1000
    assert fired["faithfulness drop"].finding.worst_traces == ("c" * 32,)


def test_the_release_before_is_found_with_the_rules_own_minimum() -> None:
    estimates = RollupEstimates(_Rollups(), _Traces())
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

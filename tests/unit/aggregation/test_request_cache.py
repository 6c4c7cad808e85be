"""What a page reads of the rollups: each window once, of a list of apps together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.domain.rollup import TRACES_METRIC, Rollup, RollupQuery
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.trace import Timings
from rag_monitor.domain.window import Series, Window
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import MemoryRollups, facts, value

HOUR = Window(EPOCH, EPOCH + timedelta(hours=1))
APPS = ("cars", "loans", "shop")
LISTED = ("faithfulness", TRACES_METRIC)


class Counting(MemoryRollups):
    """Remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(
            [
                facts(
                    value(0.1 * number), value(0.9, metric="context_recall"),
                    at=EPOCH + timedelta(minutes=number), app=app,
                    timings=Timings(end_to_end_ms=100.0),
                )
                for app in (*APPS, "other")
                for number in range(5)
            ]
        )  # fmt: skip
        self.attempted: list[RollupQuery] = []

    def load(self, wanted: RollupQuery) -> list[Rollup]:
        self.attempted.append(wanted)
        return super().load(wanted)


def of(estimates: Estimates, apps: Sequence[str], metric: str = "faithfulness") -> list[object]:
    return [
        estimates.estimate(
            Series(project="default", app=app, metric=metric, judge="combined"), HOUR
        )
        for app in apps
    ]


def test_apps_of_a_list_are_read_together_and_have_the_numbers_they_have_alone() -> None:
    source = Counting()
    alone = of(Estimates(source), APPS)
    source.attempted.clear()

    listed = of(Estimates(source).once(APPS, LISTED), APPS)

    assert listed == alone
    assert [(query.apps, query.metrics) for query in source.attempted] == [(APPS, LISTED)]


def test_without_metrics_a_list_is_read_with_all_of_them() -> None:
    source = Counting()
    once = Estimates(source).once(APPS)
    of(once, APPS)
    recall = of(once, APPS, "context_recall")

    assert recall == of(Estimates(Counting()), APPS, "context_recall")
    assert len(source.attempted) == 1


@pytest.mark.parametrize(("app", "metric"), [("other", "faithfulness"), ("shop", "context_recall")])
def test_what_is_not_of_the_list_is_read_by_itself(app: str, metric: str) -> None:
    source = Counting()
    once = Estimates(source).once(APPS, LISTED)
    of(once, APPS)
    found = of(once, [app], metric)

    assert found == of(Estimates(Counting()), [app], metric)
    assert {query.app for query in source.attempted[1:]} == {app}


def test_steps_of_what_is_drawn_are_read_together_and_are_the_same_as_alone() -> None:
    source = Counting()
    drawn = Estimates(source).once(APPS, drawn=("faithfulness", TRACES_METRIC, "end_to_end_ms"))
    step = timedelta(minutes=10)

    def courses(estimates: Estimates) -> list[object]:
        return [
            [estimates.series(series, HOUR, step), estimates.step_rows(selection, metric, step)]
            for app in APPS
            for metric in (TRACES_METRIC, "end_to_end_ms", "context_recall")
            for selection in (Selection(project="default", app=app, window=HOUR),)
            for series in (selection.series("faithfulness", "combined"),)
        ]

    found = courses(drawn)
    together = [(query.apps, query.metrics, query.metric) for query in source.attempted]

    assert found == courses(Estimates(Counting()))
    assert together.count((APPS, ("faithfulness", TRACES_METRIC, "end_to_end_ms"), None)) == 1
    assert together.count((APPS, (), "context_recall")) == 1

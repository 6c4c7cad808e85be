"""Rollups kept between runs: the same answers, fewer reads."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.rollup_cache import RollupCache, RollupCacheOptions
from rag_monitor.domain.rollup import Rollup, RollupQuery, TraceFacts
from rag_monitor.domain.stored import ChangedMinute
from rag_monitor.domain.window import Series, Window
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import BIG, EMBEDDED, MemoryRollups, facts, value

MINUTE = timedelta(minutes=1)
SERIES = Series(project="default", app="shop", metric="faithfulness", judge="combined")


class Counted(MemoryRollups):
    """Counts how often it is read."""

    def __init__(self, found: list[TraceFacts]) -> None:
        super().__init__(found)
        self.reads = 0

    def load(self, wanted: RollupQuery) -> list[Rollup]:
        self.reads += 1
        return super().load(wanted)


def traffic(minutes: int, *, seed: int = 1) -> list[TraceFacts]:
    """Two apps; some traces also seen by a judge that samples."""
    draw = random.Random(seed)
    found = []
    for minute in range(minutes):
        for app in ("shop", "bank"):
            for _ in range(draw.randint(0, 3)):
                scores = [value(draw.random(), judge=EMBEDDED)]
                if draw.random() < 0.5:
                    scores.append(value(draw.random(), judge=BIG))
                found.append(
                    facts(
                        *scores,
                        at=EPOCH + minute * MINUTE,
                        app=app,
                        release=draw.choice(["v1", "v2"]),
                        probabilities={"openai_compatible": 0.5},
                    )
                )
    return found


@pytest.mark.parametrize("seconds", [0, 15, 45])
def test_every_answer_is_the_same_as_without_memory(seconds: int) -> None:
    source = MemoryRollups(traffic(200))
    memory = RollupCache(source)
    plain, remembering = Estimates(source), Estimates(memory)
    for minute in (70, 71, 90, 155, 199):
        now = EPOCH + minute * MINUTE + timedelta(seconds=seconds)
        memory.begin(now)
        for length in (1, 7, 60, 65, 125):
            window = Window.ending(now, length * MINUTE)
            for release in (None, "v1"):
                series = Series(
                    project="default",
                    app="shop",
                    metric="faithfulness",
                    judge="combined",
                    release=release,
                )
                first, second = (e.estimate(series, window) for e in (plain, remembering))
                assert (first.judged, first.traces, first.notes) == (
                    second.judged,
                    second.traces,
                    second.notes,
                )
                assert (first.value is None) == (second.value is None)
                assert (first.value or 0.0) == pytest.approx(second.value or 0.0, rel=1e-9)
                assert (first.lower is None) == (second.lower is None)
                assert (first.lower or 0.0) == pytest.approx(
                    second.lower or 0.0, rel=1e-9, abs=1e-12
                )
            assert plain.bad_count(SERIES, window).classes == (
                remembering.bad_count(SERIES, window).classes
            )
            assert plain.bad_counts(SERIES, window, MINUTE) == (
                remembering.bad_counts(SERIES, window, MINUTE)
            )


def test_many_rules_on_one_window_read_it_once() -> None:
    source = Counted(traffic(120))
    memory = RollupCache(source)
    memory.begin(EPOCH + 120 * MINUTE)
    estimates = Estimates(memory)

    for app in ("shop", "bank"):
        for length in (60, 30, 5):
            window = Window.ending(EPOCH + 120 * MINUTE, length * MINUTE)
            estimates.outcomes(
                Series(project="default", app=app, metric="faithfulness", judge="combined"), window
            )

    assert source.reads == 1


def test_the_youngest_minutes_are_read_again_by_the_next_run() -> None:
    source = Counted(traffic(60))
    memory = RollupCache(source)
    estimates = Estimates(memory)
    now = EPOCH + 60 * MINUTE
    memory.begin(now)
    before = estimates.outcomes(SERIES, Window.ending(now, 60 * MINUTE)).scored

    source.rows = [
        *source.rows,
        *summarise([facts(value(0.5, judge=BIG), at=now - MINUTE, app="shop")]),
    ]
    assert estimates.outcomes(SERIES, Window.ending(now, 60 * MINUTE)).scored == before
    memory.begin(now)

    assert estimates.outcomes(SERIES, Window.ending(now, 60 * MINUTE)).scored == before + 1


def test_a_minute_that_was_recomputed_is_read_again() -> None:
    source = Counted(traffic(120))
    memory = RollupCache(source)
    estimates = Estimates(memory)
    now, old = EPOCH + 120 * MINUTE, EPOCH + 80 * MINUTE
    memory.begin(now)
    window = Window.ending(now, 60 * MINUTE)
    before = estimates.outcomes(SERIES, window).scored

    source.rows = [*source.rows, *summarise([facts(value(0.5, judge=BIG), at=old, app="shop")])]
    memory.begin(now + timedelta(seconds=15))
    assert estimates.outcomes(SERIES, window).scored == before
    memory.invalidate([ChangedMinute(project="default", app="shop", minute=old, version=1)])

    assert estimates.outcomes(SERIES, window).scored == before + 1


def test_what_another_process_changed_is_seen_when_the_metric_is_read_afresh() -> None:
    source = Counted(traffic(120))
    memory = RollupCache(source)
    estimates = Estimates(memory)
    now = EPOCH + 120 * MINUTE
    memory.begin(now)
    window = Window.ending(now, 60 * MINUTE)
    before = estimates.outcomes(SERIES, window).scored
    source.rows = [
        *source.rows,
        *summarise([facts(value(0.5, judge=BIG), at=EPOCH + 70 * MINUTE, app="shop")]),
    ]

    memory.begin(now + 5 * MINUTE)
    assert estimates.outcomes(SERIES, window).scored == before
    for later in (361, 362):  # one metric a run, so that no run reads everything
        memory.begin(now + later * MINUTE)
    assert estimates.outcomes(SERIES, window).scored == before + 1


def test_a_run_long_after_the_first_reads_as_little_as_the_second() -> None:
    source = Counted(traffic(600))
    memory = RollupCache(source)
    estimates = Estimates(memory)
    reads = []
    for minute in range(300, 600, 5):
        now = EPOCH + minute * MINUTE
        memory.begin(now)
        source.reads = 0
        for length in (5, 60, 300):
            estimates.estimate(SERIES, Window.ending(now, length * MINUTE))
        reads.append(source.reads)

    assert set(reads[1:]) == {2}  # scores and traces, the youngest minutes of each


def test_beyond_its_limits_the_memory_passes_questions_on() -> None:
    source = Counted(traffic(120))
    memory = RollupCache(source, RollupCacheOptions(kept=timedelta(hours=1), max_rows=0))
    now = EPOCH + 120 * MINUTE
    memory.begin(now)
    estimates = Estimates(memory)

    for _ in range(2):
        estimates.outcomes(SERIES, Window.ending(now, 90 * MINUTE))

    assert source.reads == 2


def test_a_dry_run_through_the_past_reads_ahead_and_finds_the_same() -> None:
    source = Counted(traffic(600))
    memory = RollupCache(source, RollupCacheOptions(ahead=timedelta(hours=4)))
    memory.begin(EPOCH + 600 * MINUTE)
    windows = [Window.ending(EPOCH + minute * MINUTE, 30 * MINUTE) for minute in range(30, 600, 5)]

    walked = [Estimates(memory).bad_count(SERIES, window) for window in windows]

    assert source.reads == 3  # four and a half hours, four, the rest
    plain = [Estimates(source).bad_count(SERIES, window) for window in windows]
    assert [count.classes for count in walked] == [count.classes for count in plain]

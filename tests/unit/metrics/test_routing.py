"""Hit rates and the routing confusion."""

from __future__ import annotations

import pytest

from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.trace import Expected, Trace
from rag_monitor.metrics.routing import Confusion, HitCount, confusions, hit_counts
from rag_monitor.testing import make_trace


def trace(*hits: Hit, expected: tuple[str, ...] | None = None) -> Trace:
    return make_trace(hits=hits, expected=None if expected is None else Expected(plugin=expected))


WEATHER = Hit(kind=HitKind.PLUGIN, name="weather")
BROKEN = Hit(kind=HitKind.PLUGIN, name="weather", ok=False)
EMPTY = Hit(kind=HitKind.PLUGIN, name="weather", items=0)


def test_only_successful_non_empty_calls_are_hits_and_each_trace_counts_once() -> None:
    traces = [trace(WEATHER, WEATHER), trace(BROKEN), trace(EMPTY), trace(BROKEN, WEATHER)]

    counts = hit_counts(traces, "all")

    assert counts == {(HitKind.PLUGIN, "weather"): HitCount(traces=4, hits=2)}
    assert counts[HitKind.PLUGIN, "weather"].rate == 0.5


def test_a_name_that_was_only_called_in_vain_has_a_rate_of_zero() -> None:
    counts = hit_counts([trace(BROKEN), trace(EMPTY), trace()], "all")

    assert counts == {(HitKind.PLUGIN, "weather"): HitCount(traces=3, hits=0)}


def test_the_expected_basis_counts_only_traces_that_expected_the_name() -> None:
    traces = [
        trace(WEATHER, expected=("weather",)),
        trace(expected=("weather",)),
        trace(WEATHER),
        trace(WEATHER, expected=()),
    ]

    counts = hit_counts(traces, "expected")

    assert counts == {(HitKind.PLUGIN, "weather"): HitCount(traces=2, hits=1)}


def test_an_unknown_basis_is_refused() -> None:
    with pytest.raises(ValueError, match="basis"):
        hit_counts([], "some")


def test_no_traces_have_no_rate() -> None:
    assert HitCount().rate is None


def test_the_worked_labels_give_their_published_figures() -> None:
    actual = (1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1)
    traces = [trace(WEATHER, expected=("weather",) if label else ()) for label in actual]

    (row,) = confusions(traces)

    assert (row.tp, row.fp, row.tn, row.fn) == (14, 2, 0, 0)
    assert row.precision == pytest.approx(0.875)
    assert row.recall == 1.0
    assert row.false_positive_rate == 1.0
    assert row.false_negative_rate == 0.0
    assert row.f1 == pytest.approx(0.9333, abs=5e-5)


def test_the_sentiment_example_gives_its_figures() -> None:
    row = Confusion(kind=HitKind.PLUGIN, name="x", tp=180, fp=20, fn=30, tn=770)

    assert row.accuracy == pytest.approx(0.95)
    assert row.precision == pytest.approx(0.9)
    assert row.recall == pytest.approx(0.857, abs=5e-4)
    assert row.f1 == pytest.approx(0.878, abs=5e-4)


def test_what_cannot_be_divided_has_no_number() -> None:
    row = Confusion(kind=HitKind.PLUGIN, name="x")

    assert row.precision is None
    assert row.recall is None
    assert row.false_positive_rate is None
    assert row.false_negative_rate is None
    assert row.f1 is None
    assert row.accuracy is None


def test_unlabelled_traces_stay_out_of_the_confusion() -> None:
    other = Hit(kind=HitKind.PLUGIN, name="maps")
    traces = [trace(WEATHER), trace(other, expected=("weather",)), trace(expected=())]

    rows = {row.name: row for row in confusions(traces)}

    assert (rows["weather"].fn, rows["weather"].tn) == (1, 1)
    assert (rows["maps"].fp, rows["maps"].tn) == (1, 1)
    assert rows["maps"].labelled == 2

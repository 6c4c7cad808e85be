"""What one minute's rollups hold."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.rollup import (
    MAX_KNOWLEDGE_BASES,
    MAX_NAMES,
    OTHER_NAME,
    summarise,
)
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.rollup import Rollup, TraceFacts
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.domain.trace import Expected, Timings, TraceStatus
from rag_monitor.telemetry import REGISTRY
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import BIG, EMBEDDED, facts, value


def rows(*given: TraceFacts, metric: str) -> dict[str, Rollup]:
    return {r.key.dimension: r for r in summarise(given) if r.key.metric == metric}


def test_scores_are_summed_per_minute_release_and_judge() -> None:
    found = summarise(
        [
            facts(value(0.5), value(1.0, judge=BIG), at=EPOCH, release="v1"),
            facts(value(0.7), at=EPOCH + timedelta(seconds=59), release="v1"),
            facts(value(0.9), at=EPOCH + timedelta(seconds=60), release="v1"),
            facts(value(0.9), at=EPOCH, release="v2"),
        ]
    )

    keyed = {
        (r.key.minute, r.key.release, r.key.judge): (r.count, r.total)
        for r in found
        if r.key.metric == "faithfulness"
    }
    assert keyed == {
        (EPOCH, "v1", str(EMBEDDED)): (2, pytest.approx(1.2)),
        (EPOCH, "v1", str(BIG)): (1, 1.0),
        (EPOCH + timedelta(minutes=1), "v1", str(EMBEDDED)): (1, 0.9),
        (EPOCH, "v2", str(EMBEDDED)): (1, 0.9),
    }


def test_only_scored_values_enter_the_sums_and_the_rest_is_counted() -> None:
    (row,) = rows(
        facts(value(0.6)),
        facts(value(0.9)),
        facts(value(None, status=ScoreStatus.FAILED, reason="judge_timeout")),
        facts(value(None, status=ScoreStatus.FAILED, reason="budget_exhausted")),
        facts(value(None, status=ScoreStatus.NOT_APPLICABLE, reason="refusal")),
        facts(value(1.0, status=ScoreStatus.SUSPECT, reason="instruction")),
        metric="faithfulness",
    ).values()

    assert (row.count, row.failed, row.not_applicable, row.suspect) == (2, 2, 1, 1)
    assert row.total == pytest.approx(1.5)
    assert row.squares == pytest.approx(0.36 + 0.81)
    assert row.bad == 1
    assert sum(row.histogram) == 2
    assert row.moments[keys.SHED] == 1
    assert row.moments[keys.SUSPECT_WEIGHT] == 1


def test_the_flag_of_the_calibration_decides_what_a_bad_answer_is() -> None:
    (row,) = rows(
        facts(value(0.6, metric="answer_supported", flagged=True)),
        facts(value(0.4, metric="answer_supported", flagged=False)),
        metric="answer_supported",
    ).values()

    assert row.bad == 1


def test_sampled_scores_weigh_as_much_as_the_traces_they_stand_for() -> None:
    (row,) = rows(
        facts(value(0.5, judge=BIG), probabilities={BIG.name: 0.25}),
        facts(value(1.0, judge=BIG), probabilities={BIG.name: 0.5}),
        metric="faithfulness",
    ).values()

    assert row.weight == 6.0
    assert row.weighted_total == 4.0
    assert row.weight_squares == 20.0
    assert row.weighted_squares == 3.0
    assert row.moments[keys.judged_at(0.25)] == 1
    assert row.moments[keys.bad_at(0.25)] == 1
    assert row.moments[keys.bad_at(0.5)] == 0


def test_traces_are_counted_by_status() -> None:
    found = rows(facts(), facts(), facts(status=TraceStatus.ERROR), metric="traces")

    assert {name: row.count for name, row in found.items()} == {"ok": 2, "error": 1}


def test_latencies_are_milliseconds_in_buckets_of_seconds() -> None:
    (row,) = rows(
        facts(timings=Timings(end_to_end_ms=15.0)),
        facts(timings=Timings(end_to_end_ms=100_000.0)),
        metric="end_to_end_ms",
    ).values()

    assert (row.count, row.total) == (2, 100_015.0)
    assert row.histogram[1] == 1
    assert row.histogram[-1] == 1


def test_an_impossible_latency_is_left_out_and_counted() -> None:
    labels = {"stage": "aggregation", "reason": "impossible_latency"}
    before = REGISTRY.get_sample_value("rag_monitor_dropped_total", labels) or 0.0

    found = rows(facts(timings=Timings(end_to_end_ms=float("nan"))), metric="end_to_end_ms")

    assert found == {}
    assert REGISTRY.get_sample_value("rag_monitor_dropped_total", labels) == before + 1


def test_hits_count_over_all_traces_of_the_minute() -> None:
    hit = Hit(kind=HitKind.PLUGIN, name="maps:eu")
    found = rows(
        facts(hits=(hit,), expected=Expected(plugin=("maps:eu",))),
        facts(expected=Expected(plugin=("maps:eu",))),
        facts(),
        metric="hit_rate",
    )

    assert {name: (r.count, r.total) for name, r in found.items()} == {
        "plugin:maps:eu:all": (3, 1.0),
        "plugin:maps:eu:expected": (2, 1.0),
    }
    assert keys.split_dimension("plugin:maps:eu:all") == (HitKind.PLUGIN, "maps:eu", "all")
    assert keys.split_dimension("nonsense") is None


def test_routing_cells_come_with_the_number_of_labelled_traces() -> None:
    hit = Hit(kind=HitKind.PLUGIN, name="maps")
    found = rows(
        facts(hits=(hit,), expected=Expected(plugin=("maps",))),
        facts(hits=(hit,), expected=Expected(plugin=())),
        facts(expected=Expected(plugin=())),
        facts(hits=(hit,)),
        metric="routing",
    )

    assert {name: r.count for name, r in found.items()} == {
        "plugin:maps:tp": 1,
        "plugin:maps:fp": 1,
        "plugin:maps:tn": 1,
        "plugin::labelled": 3,
    }


def test_an_application_that_invents_names_cannot_multiply_rows_without_end() -> None:
    hits = [Hit(kind=HitKind.PLUGIN, name=f"p{n}") for n in range(MAX_NAMES + 50)]
    found = rows(
        *(facts(hits=(hit,)) for hit in hits),
        facts(hits=(Hit(kind=HitKind.PLUGIN, name="x" * 1000),)),
        metric="hit_rate",
    )

    assert len(found) == MAX_NAMES + 1
    assert found[f"plugin:{OTHER_NAME}:all"].total == 51
    assert max(map(len, found)) < 160


def test_the_pairs_of_cheap_and_expensive_scores_are_summed() -> None:
    found = [
        r
        for r in summarise(
            [facts(value(0.8), value(1.0, judge=BIG), probabilities={BIG.name: 0.5})]
        )
        if r.key.judge == str(BIG)
    ]

    moments = found[0].moments
    cheap = str(EMBEDDED)
    assert moments[keys.pair("n", cheap)] == 1
    assert moments[keys.pair("rf", cheap)] == pytest.approx(1.6)
    assert moments[keys.pair("rj", cheap)] == pytest.approx(2.0)
    assert moments[keys.pair("jf", cheap)] == pytest.approx(1.6)


def test_knowledge_bases_beyond_the_limit_are_one() -> None:
    given = [
        facts(value(0.5), hits=(Hit(kind=HitKind.KNOWLEDGE_BASE, name=f"kb{n}"),) * (1 + (n == 0)))
        for n in range(MAX_KNOWLEDGE_BASES + 5)
    ]

    found = summarise(given)

    per_base = [r for r in found if r.key.metric.startswith("faithfulness@")]
    rest = [
        r for r in per_base if r.key.metric == keys.of_knowledge_base("faithfulness", OTHER_NAME)
    ]
    assert len(per_base) == MAX_KNOWLEDGE_BASES + 1
    assert [r.count for r in rest] == [5]


def test_a_long_name_of_a_knowledge_base_is_found_by_its_whole_name() -> None:
    name = "库" * 500

    found = summarise([facts(value(0.5), hits=(Hit(kind=HitKind.KNOWLEDGE_BASE, name=name),))])

    wanted = keys.of_knowledge_base("faithfulness", name)
    assert [r.count for r in found if r.key.metric == wanted] == [1]

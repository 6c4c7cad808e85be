"""What Prometheus reads."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.prometheus_labels import app_label, safe_label
from rag_monitor.aggregation.session_sums import summarise_sessions
from rag_monitor.domain.alert import Alert, AlertState, Severity
from rag_monitor.domain.fault import Fault
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.rollup import TraceFacts
from rag_monitor.domain.session_outcome import SessionOutcome
from rag_monitor.domain.trace import Expected, Timings, TraceStatus
from rag_monitor.exposition.scrape_state import TraceCounter
from rag_monitor.exposition.snapshot import Memory, Snapshot, build
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import BIG, EMBEDDED, MemoryRollups, facts, value
from tests.unit.exposition.pages import text_of

NOW = EPOCH + timedelta(minutes=59)
APPS = [("default", "test-app")]
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def snapshot(*given: TraceFacts, **options: object) -> Snapshot:
    return build(Estimates(MemoryRollups(given)), APPS, NOW, **options)  # type: ignore[arg-type]


def page(shown: Snapshot) -> Samples:
    samples: Samples = {}
    for family in text_string_to_metric_families(text_of(shown).decode("utf-8")):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in samples
            samples[key] = sample.value
    return samples


def read(samples: Samples, sample: str, /, **labels: str) -> float | None:
    return samples.get((sample, tuple(sorted(labels.items()))))


def test_scores_come_with_interval_and_sample_size_per_judge_and_combined() -> None:
    shown = page(snapshot(*(facts(value(0.9), release="v1") for _ in range(60))))
    labels = {"app": "test-app", "release": "v1", "metric": "faithfulness"}

    for judge in ("combined", "embedded/full/1"):
        score = read(shown, "rag_monitor_score", judge=judge, **labels)
        lower = read(shown, "rag_monitor_score_lower", judge=judge, **labels)
        upper = read(shown, "rag_monitor_score_upper", judge=judge, **labels)
        assert score == pytest.approx(0.9)
        assert lower is not None
        assert upper is not None
        assert lower < 0.9 < upper
        assert read(shown, "rag_monitor_score_samples", judge=judge, **labels) == 60


def test_all_releases_together_are_an_estimate_of_their_own() -> None:
    shown = page(
        snapshot(
            *(facts(value(0.9), release="v1") for _ in range(60)),
            *(facts(value(0.6), release="v2") for _ in range(30)),
        )
    )
    labels = {"app": "test-app", "metric": "faithfulness"}

    for judge in ("combined", "embedded/full/1"):
        score = read(shown, "rag_monitor_app_score", judge=judge, **labels)
        lower = read(shown, "rag_monitor_app_score_lower", judge=judge, **labels)
        upper = read(shown, "rag_monitor_app_score_upper", judge=judge, **labels)
        assert score == pytest.approx(0.8)
        assert lower is not None
        assert upper is not None
        assert lower < 0.8 < upper
        assert read(shown, "rag_monitor_app_score_samples", judge=judge, **labels) == 90


def diagnosed(*shares: tuple[Fault, float], release: str = "v1") -> TraceFacts:
    """A trace with these faults."""
    return replace(facts(value(0.9), release=release), faults={str(EMBEDDED): dict(shares)})


def test_shares_of_faults_come_with_interval_by_release_and_app() -> None:
    old = diagnosed((Fault.INVENTED, 0.1), (Fault.NONE, 0.9))
    new = diagnosed((Fault.INVENTED, 0.4), (Fault.NONE, 0.6), release="v2")
    shown = page(snapshot(*[old] * 60, *[new] * 60))

    for labels, name, share, count in (
        ({"release": "v1"}, "rag_monitor_fault_ratio", 0.1, 60),
        ({"release": "v2"}, "rag_monitor_fault_ratio", 0.4, 60),
        ({}, "rag_monitor_app_fault_ratio", 0.25, 120),
    ):
        of = {"app": "test-app", "fault": "invented"} | labels
        lower, upper = (read(shown, f"{name}_{end}", **of) for end in ("lower", "upper"))
        assert read(shown, name, **of) == pytest.approx(share)
        assert lower is not None
        assert upper is not None
        assert lower < share < upper
        assert read(shown, f"{name}_samples", **of) == count
    labels = {"app": "test-app", "fault": "none"}
    assert read(shown, "rag_monitor_app_fault_ratio", **labels) == pytest.approx(0.75)
    assert read(shown, "rag_monitor_app_fault_ratio", app="test-app", fault="bad_ranking") is None
    assert not [key for key in shown if ("metric", "fault") in key[1]]


def session(number: int, release: str = "v1", **metrics: float | None) -> SessionOutcome:
    """One that ended in the window."""
    return SessionOutcome(
        project="default",
        session_id=f"s-{number}",
        app="test-app",
        release=release,
        minute=EPOCH + timedelta(minutes=number % 50),
        first_day=EPOCH.date(),
        day=EPOCH.date(),
        metrics=metrics,
    )


def test_sessions_come_with_interval_by_release_and_app() -> None:
    source = MemoryRollups([facts(value(0.9), release="v1"), facts(value(0.9), release="v2")])
    source.rows += summarise_sessions(
        [
            *(session(n, resolved_rate=float(n % 4 > 0), session_turns=3.0) for n in range(80)),
            *(session(n, "v2", resolved_rate=None, session_turns=1.0) for n in range(20)),
        ]
    )
    built = build(Estimates(source), APPS, NOW)
    shown = page(built)

    name, of = "rag_monitor_session_app_estimate", {"app": "test-app", "metric": "resolved_rate"}
    lower, upper = (read(shown, f"{name}_{end}", **of) for end in ("lower", "upper"))
    assert read(shown, name, **of) == pytest.approx(0.75)
    assert lower is not None
    assert upper is not None
    assert lower < 0.75 < upper
    assert read(shown, f"{name}_samples", **of) == 80
    turns = {"app": "test-app", "metric": "session_turns"}
    assert read(shown, name, **turns) == pytest.approx((80 * 3 + 20) / 100)
    by_release = {
        release: read(shown, "rag_monitor_session_estimate", release=release, **turns)
        for release in ("v1", "v2")
    }
    assert by_release == {"v1": 3.0, "v2": 1.0}
    assert read(shown, "rag_monitor_session_estimate", release="v2", **of) is None
    assert read(shown, "rag_monitor_session_estimate_lower", release="v2", **turns) is None
    assert not [
        key for key in shown if ("metric", "session_turns") in key[1] and "_score" in key[0]
    ]
    # resolved_rate of the app and v1, session_turns of the app, v1 and v2
    assert len(built.sessions) == 5
    assert built.series == replace(built, sessions=()).series + 4 * 5


def test_faults_count_among_the_series() -> None:
    plain = snapshot(*[facts(value(0.9), release="v1")] * 60)
    trace = diagnosed((Fault.INVENTED, 0.1), (Fault.NONE, 0.9))
    told = snapshot(*[trace] * 60)

    # Two faults, of the app and of its release, four series each.
    assert told.series == plain.series + 16
    small = snapshot(*[trace] * 60, max_series=told.series - 1)
    assert (small.faults, small.apps_folded) == ((), {"default": 1})
    assert told.of("other").faults == ()


def test_a_withheld_interval_is_absent_and_not_zero() -> None:
    shown = page(snapshot(facts(value(0.9))))
    labels = {"app": "test-app", "release": "", "metric": "faithfulness", "judge": "combined"}

    assert read(shown, "rag_monitor_score", **labels) == pytest.approx(0.9)
    assert read(shown, "rag_monitor_score_lower", **labels) is None


def test_latencies_are_histograms_in_seconds() -> None:
    timings = Timings(first_byte_ms=15.0, end_to_end_ms=100_000.0)
    shown = page(snapshot(facts(timings=timings, release="v1")))
    labels = {"app": "test-app", "release": "v1"}

    first = "rag_monitor_first_byte_seconds"
    assert read(shown, f"{first}_bucket", le="0.01", **labels) == 0
    assert read(shown, f"{first}_bucket", le="0.02", **labels) == 1
    assert read(shown, f"{first}_bucket", le="81.92", **labels) == 1
    assert read(shown, f"{first}_sum", **labels) == pytest.approx(0.015)
    end = "rag_monitor_end_to_end_seconds"
    assert read(shown, f"{end}_bucket", le="81.92", **labels) == 0
    assert read(shown, f"{end}_bucket", le="+Inf", **labels) == 1
    assert read(shown, f"{end}_count", **labels) == 1
    assert read(shown, "rag_monitor_generation_seconds_count", **labels) is None


def test_hits_traces_and_alerts_have_their_names() -> None:
    hit = Hit(kind=HitKind.PLUGIN, name="maps")
    alert = Alert(
        id="1",
        project="default",
        rule="faithfulness-drop",
        app="test-app",
        state=AlertState.FIRING,
        severity=Severity.PAGE,
        since=NOW,
        started_at=NOW,
    )
    given = [facts(hits=(hit,), expected=Expected(plugin=("maps",))), facts()]
    given.append(facts(status=TraceStatus.ERROR))

    shown = page(snapshot(*given, alerts=[alert]))

    hits = {"app": "test-app", "kind": "plugin", "name": "maps"}
    assert read(shown, "rag_monitor_hit_ratio", basis="all", **hits) == pytest.approx(1 / 3)
    assert read(shown, "rag_monitor_hit_ratio", basis="expected", **hits) == 1.0
    for basis, count, ratio in (("all", 3, 1 / 3), ("expected", 1, 1.0)):
        lower = read(shown, "rag_monitor_hit_ratio_lower", basis=basis, **hits)
        upper = read(shown, "rag_monitor_hit_ratio_upper", basis=basis, **hits)
        assert lower is not None
        assert upper is not None
        assert 0 <= lower < ratio <= upper <= 1
        assert read(shown, "rag_monitor_hit_ratio_samples", basis=basis, **hits) == count
    assert read(shown, "rag_monitor_traces_total", app="test-app", status="ok") == 2
    assert read(shown, "rag_monitor_traces_total", app="test-app", status="error") == 1
    labels = {"app": "test-app", "rule": "faithfulness-drop", "state": "firing"}
    assert read(shown, "rag_monitor_alerts", **labels) == 1


def test_the_newest_releases_keep_their_name_and_the_rest_folds() -> None:
    given = [
        facts(value(n / 10), release=f"v{n}", at=EPOCH + timedelta(minutes=n)) for n in range(8)
    ]

    shown = snapshot(*given)

    releases = {p.release for p in shown.scores if p.release is not None}
    assert releases == {"v3", "v4", "v5", "v6", "v7", "other"}
    other = [p for p in shown.scores if p.release == "other" and p.judge == "combined"]
    assert [(p.samples, p.value) for p in other] == [(3, pytest.approx(0.1))]
    assert {p.release for p in shown.latencies} == releases


def test_a_release_that_has_long_been_there_is_not_new() -> None:
    given = [facts(value(0.5), release="zzz-old", at=EPOCH - timedelta(days=2))]
    given += [facts(value(0.5), release=name) for name in ("zzz-old", "a", "b", "c", "d", "e")]

    assert "zzz-old" not in {p.release for p in snapshot(*given).scores}


def test_too_many_series_fold_the_releases_and_then_leave_the_app_out() -> None:
    given = [facts(value(0.5), release=f"v{n}") for n in range(5)]
    whole = snapshot(*given).series

    folded = snapshot(*given, max_series=whole - 1)
    nothing = snapshot(*given, max_series=3)

    assert {p.release for p in folded.scores} == {None, "other"}
    assert folded.series < whole
    assert folded.apps_folded == {"default": 0}
    assert nothing.series == 0
    assert nothing.apps_folded == {"default": 1}


def test_text_from_outside_cannot_break_the_page() -> None:
    evil = 'a"b\\c\nd\ud800\x00' + "x" * 300
    given = [
        facts(value(0.5), release=evil, hits=(Hit(kind=HitKind.PLUGIN, name=evil + "1"),)),
        facts(hits=(Hit(kind=HitKind.PLUGIN, name=evil + "2"),)),
    ]

    shown = page(snapshot(*given))

    releases = {dict(labels)["release"] for name, labels in shown if name == "rag_monitor_score"}
    assert len(releases) == 1
    assert len(releases.pop()) == 128


def test_labels_keep_letters_of_any_script() -> None:
    assert safe_label("贷款-v1") == "贷款-v1"
    assert safe_label("a\nb\udfff") == "a\ufffdb\ufffd"
    assert app_label("default", "bank") == "bank"
    assert app_label("team", "bank") == "team/bank"


def test_our_own_counters_are_on_the_page() -> None:
    body = text_of(Snapshot())

    assert b"# TYPE rag_monitor_evaluations_total counter" in body
    assert b"# TYPE rag_monitor_score gauge" in body
    assert b"rag_monitor_store_up 1.0" in body


def test_the_trace_counter_only_rises() -> None:
    counter = TraceCounter(EPOCH)
    early = Estimates(MemoryRollups([facts(), facts()]))
    erased = Estimates(MemoryRollups([facts()]))
    late = Estimates(MemoryRollups([facts(), facts(), facts(at=EPOCH + timedelta(hours=5))]))
    hour = timedelta(hours=1)

    counts = [
        counter.count(source, "default", "test-app", EPOCH + n * hour)["ok"]
        for source, n in ((early, 1), (erased, 2), (early, 4), (late, 6), (late, 6))
    ]

    assert counts == [2, 2, 2, 3, 3]


def test_what_the_counter_shows_is_the_life_of_the_process() -> None:
    old = facts(at=EPOCH - timedelta(minutes=30))
    shown = build(
        Estimates(MemoryRollups([old, facts()])),
        APPS,
        NOW,
        memory=Memory(counter=TraceCounter(EPOCH)),
    )

    assert [(p.status, p.count) for p in shown.traces] == [("ok", 1)]


def test_scores_of_two_judges_stand_apart() -> None:
    shown = snapshot(facts(value(0.4), value(0.8, judge=BIG)))

    values = {p.judge: p.value for p in shown.scores}
    assert values == {"combined": 0.8, "embedded/full/1": 0.4, str(BIG): 0.8}

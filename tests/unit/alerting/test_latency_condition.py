"""Rules on latency: what fires, what cannot be told, and what it says."""

from __future__ import annotations

from rag_monitor.domain.alert import Finding, RuleKind
from rag_monitor.testing import EPOCH
from tests.unit.alerting.fakes import FakeEstimates, latency, look, rule


def test_latency_fires_when_the_whole_interval_is_slower() -> None:
    item = rule(RuleKind.LATENCY, metric="end_to_end_ms")
    fast, slow = latency((1.28, 400)), latency((1.28, 200), (5.12, 200))

    slower = FakeEstimates(latencies=lambda window: slow if window.end == EPOCH else fast)
    same = FakeEstimates(latencies=lambda window: fast)
    few = FakeEstimates(latencies=lambda window: latency((1.28, 20)))

    assert look(slower, item).active is True
    assert "p90 of end_to_end_ms" in look(slower, item).summary
    assert look(same, item).active is False
    assert look(few, item).active is None


def test_a_high_percentile_is_not_slower_than_a_baseline_of_few_traces() -> None:
    """A p99 of 100 traces may be beyond the slowest of them: it cannot say what is slower."""
    item = rule(RuleKind.LATENCY, metric="end_to_end_ms", params={"quantile": 0.99})
    slow = latency((1.28, 200), (5.12, 800))

    def against(count: int) -> Finding:
        return look(
            FakeEstimates(
                latencies=lambda window: slow if window.end == EPOCH else latency((1.28, count))
            ),
            item,
        )

    assert against(100).active is None
    assert "757 are needed" in against(100).summary
    assert "757" in against(100).summary_zh
    assert against(757).active is True


def test_the_interval_of_a_latency_without_an_upper_end_says_so() -> None:
    item = rule(
        RuleKind.LATENCY, metric="end_to_end_ms", params={"quantile": 0.99, "max_ms": 700.0}
    )
    found = look(FakeEstimates(latencies=lambda window: latency((1.28, 60))), item)

    assert found.active is True
    assert (found.upper, found.level) == (None, 0.999)
    assert "no upper end" in found.summary
    assert "无上限" in found.summary_zh


def test_latency_against_a_limit() -> None:
    estimates = FakeEstimates(latencies=lambda window: latency((1.28, 400)))

    def at(limit: float) -> bool | None:
        item = rule(RuleKind.LATENCY, metric="end_to_end_ms", params={"max_ms": limit})
        return look(estimates, item).active

    assert at(1000.0) is True
    assert at(2000.0) is False

"""Rules that watch metrics of sessions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rag_monitor.aggregation.session_sums import summarise_sessions
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.alerting.evaluator import Evaluator
from rag_monitor.alerting.options import AlertOptions
from rag_monitor.alerting.rules import check_rule
from rag_monitor.domain.alert import Finding, RuleKind
from rag_monitor.domain.session_outcome import SESSION_SHARES, SessionOutcome
from rag_monitor.errors import RuleError
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import MemoryRollups
from tests.unit.alerting.fakes import APP, FakeEstimates, estimate, rule

UNRESOLVED: dict[str, Any] = {"metric": "resolved_rate", "params": {"below": 0.7}}


def test_a_threshold_speaks_of_sessions() -> None:
    item = rule(RuleKind.THRESHOLD, **UNRESOLVED)
    estimates = FakeEstimates(scores=lambda *_: estimate(0.4, 200))

    seen = Evaluator(estimates, AlertOptions()).evaluate(item, APP, EPOCH)

    assert seen.active is True
    assert " sessions in " in seen.summary
    assert "trace" not in seen.summary
    assert "个会话" in seen.summary_zh


class _OfSums(RuleEstimates):
    """Estimates of sums alone: there are no traces to name."""

    def worst(self, *given: object) -> list[str]:  # type: ignore[override]
        return []


def _evaluated(share: float, sessions: int, **fields: Any) -> Finding:
    """A rule over real sums: sessions of the last hour, so many of them resolved."""
    source = MemoryRollups([])
    source.rows = summarise_sessions(
        SessionOutcome(
            project="default",
            session_id=f"s-{number}",
            app=APP,
            minute=EPOCH - timedelta(minutes=1 + number % 50),
            first_day=EPOCH.date(),
            day=EPOCH.date(),
            metrics={"resolved_rate": float(number < share * sessions)},
        )
        for number in range(sessions)
    )
    item = rule(RuleKind.THRESHOLD, **(UNRESOLVED | fields))
    return Evaluator(_OfSums(source, None), AlertOptions()).evaluate(item, APP, EPOCH)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("share", "sessions", "active"),
    [(0.4, 200, True), (0.65, 200, False), (0.4, 20, None), (0.9, 200, False)],
)
def test_it_fires_on_the_interval_over_sessions(
    share: float, sessions: int, active: bool | None
) -> None:
    seen = _evaluated(share, sessions)

    assert (seen.active, seen.judged, seen.value) == (active, sessions, pytest.approx(share))


@pytest.mark.parametrize("metric", SESSION_SHARES)
def test_every_share_of_sessions_may_be_watched(metric: str) -> None:
    check_rule(rule(RuleKind.THRESHOLD, metric=metric, params={"below": 0.5}))


@pytest.mark.parametrize(
    ("kind", "metric", "params"),
    [
        (RuleKind.THRESHOLD, "session_turns", {"above": 0.5}),
        (RuleKind.DROP, "complaint_rate", {}),
        (RuleKind.BURN_RATE, "resolved_rate", {}),
        (RuleKind.THRESHOLD, "resolved_rate", {"below": 0.5, "judge": "embedded/full/1"}),
        (RuleKind.DROP, "resolved_rate", {"knowledge_base": "loans"}),
    ],
)
def test_what_cannot_be_watched_is_refused(
    kind: RuleKind, metric: str, params: dict[str, Any]
) -> None:
    with pytest.raises(RuleError, match=r"metric|whole sessions"):
        check_rule(rule(kind, metric=metric, params=params))

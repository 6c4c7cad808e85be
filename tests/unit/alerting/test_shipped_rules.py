"""What the shipped rules say of ordinary days of an application: an outage, a try, a golden run."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from rag_monitor.alerting.engine import AlertEngine
from rag_monitor.alerting.estimates import RuleEstimates
from rag_monitor.alerting.rules import default_rules
from rag_monitor.domain.alert import AlertState
from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Judgement, Verdict
from rag_monitor.domain.rollup import TraceFacts
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.metrics.rag import score_trace
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.unit.aggregation.memory import MemoryRollups
from tests.unit.alerting.fakes import FakeAlerts, FakeRules, WorstTraces

METRICS = (
    *("faithfulness", "context_precision", "context_relevance", "context_sufficiency"),
    "answer_relevance",
)
HOUR = timedelta(hours=1)


def asked(ago: timedelta, *, failed: bool = False, sufficient: float = 0.9) -> TraceFacts:
    """A question with perfect passages, judged; failed: the model gave no answer.

    Passages that are not sufficient are of another subject; the answer follows them all the same.
    """
    trace = make_trace(
        app="shop",
        answer=None if failed else "The warranty lasts 24 months.",
        status=TraceStatus.ERROR if failed else TraceStatus.OK,
        started_at=EPOCH - ago,
    )
    useful = 0.1 if failed else 0.9
    said = {
        Aspect.SUPPORT: 0.9,
        Aspect.RELEVANCE: 0.9,
        Aspect.USEFULNESS: useful,
        Aspect.GRADE: 0.9,
        Aspect.SUFFICIENCY: sufficient,
    }
    judgement = Judgement(
        identity=JudgeIdentity(name="embedded", model="m"),
        verdicts=tuple(
            Verdict(aspect=aspect, probability=p, index=0, evidence=0) for aspect, p in said.items()
        ),
    )
    scores = tuple(score_trace(trace, judgement, METRICS, trace.started_at))
    return TraceFacts(trace=trace, scores=scores, received_at=trace.started_at)


def fired(facts: Iterable[TraceFacts]) -> set[str]:
    """The shipped rules that fire, after they looked for five minutes."""
    alerts = FakeAlerts()
    estimates = RuleEstimates(MemoryRollups(list(facts)), WorstTraces([]))
    engine = AlertEngine(estimates, FakeRules(default_rules()), alerts, ManualClock())
    for seconds in (0, 150, 300):
        engine.run(EPOCH + timedelta(seconds=seconds))
    return {a.rule for a in alerts.alerts.values() if a.state is AlertState.FIRING}


def test_an_outage_of_the_model_is_not_taken_for_bad_retrieval() -> None:
    minutes = [timedelta(minutes=n) for n in range(1, 120) for _ in range(3)]
    outage = [
        asked(ago, failed=ago < HOUR and number % 10 < 3) for number, ago in enumerate(minutes)
    ]

    assert fired(outage) == {"error rate"}
    assert fired(asked(ago) for ago in minutes) == set()


def test_a_broken_retriever_is_told_although_the_answers_follow_their_passages() -> None:
    minutes = [timedelta(minutes=n) for n in range(1, 120) for _ in range(3)]

    told = fired(asked(ago, sufficient=0.2 if ago < HOUR else 0.9) for ago in minutes)

    assert told == {"context sufficiency drop"}


def test_an_app_that_somebody_tried_out_pages_nobody() -> None:
    assert fired([asked(5 * HOUR), asked(3 * HOUR, failed=True)]) == set()


def test_a_golden_run_is_not_expected_to_go_on() -> None:
    run = [asked(4 * HOUR - timedelta(seconds=7 * number)) for number in range(300)]

    assert fired(run) == set()


def test_an_app_that_sent_all_day_is_missed_once_it_is_silent() -> None:
    days = [asked(timedelta(minutes=150 + 10 * number)) for number in range(10 * 144)]

    assert fired(days) == {"no data"}

"""From verdicts to scores: formulas, fixed cases and statuses of DESIGN section 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Judgement, JudgeRequest, Verdict
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Expected, RetrievedDocument, Trace, TraceStatus
from rag_monitor.errors import BudgetExhausted, JudgeTimeout, UnknownMetric
from rag_monitor.metrics.rag import (
    BAD_BELOW,
    LIVE_METRICS,
    METRICS,
    aspects_for,
    failed_scores,
    is_bad,
    passages_of,
    score_trace,
)
from rag_monitor.testing import EPOCH, ScriptedJudge, make_trace

IDENTITY = JudgeIdentity(name="j", model="m")


def said(
    verdicts: dict[Aspect, Sequence[float]] | None = None,
    *,
    missing: dict[Aspect, str] | None = None,
    refusal: bool = False,
    suspect: str | None = None,
    threshold: float = 0.5,
) -> Judgement:
    return Judgement(
        identity=IDENTITY,
        verdicts=tuple(
            Verdict(aspect=aspect, probability=p, index=i, evidence=0)
            for aspect, probabilities in (verdicts or {}).items()
            for i, p in enumerate(probabilities)
        ),
        missing=missing or {},
        refusal=refusal,
        suspect=suspect,
        threshold=threshold,
    )


def score(metric: str, trace: Trace, judgement: Judgement) -> Score:
    return score_trace(trace, judgement, [metric], EPOCH)[0]


THREE = make_trace(contexts=("a", "b", "c"))
PASSAGE_METRICS = {
    "context_relevance": Aspect.RELEVANCE,
    "context_precision": Aspect.USEFULNESS,
    "context_utilization": Aspect.USE,
}


def test_faithfulness_is_the_mean_probability_over_statements() -> None:
    result = score("faithfulness", THREE, said({Aspect.SUPPORT: (0.9, 0.4, 0.2)}))

    assert result.status is ScoreStatus.SCORED
    assert result.value == pytest.approx(0.5)
    assert len(result.verdicts) == 3
    assert result.judge == IDENTITY
    assert result.created_at == EPOCH


def test_context_sufficiency_is_the_probability_itself_also_of_a_refusal() -> None:
    result = score("context_sufficiency", THREE, said({Aspect.SUFFICIENCY: (0.35,)}, refusal=True))

    assert (result.status, result.value) == (ScoreStatus.SCORED, 0.35)


def test_context_sufficiency_of_empty_unknown_or_unjudged_contexts() -> None:
    silent = said(missing={Aspect.SUFFICIENCY: "unsupported_aspect"})
    empty = score("context_sufficiency", make_trace(contexts=()), silent)
    unknown = score("context_sufficiency", make_trace(contexts=None), silent)
    unjudged = score("context_sufficiency", THREE, silent)

    assert (empty.status, empty.value) == (ScoreStatus.SCORED, 0.0)
    assert (unknown.status, unknown.reason) == (ScoreStatus.NOT_APPLICABLE, "contexts_unknown")
    assert (unjudged.status, unjudged.reason) == (
        ScoreStatus.NOT_APPLICABLE,
        "unsupported_aspect",
    )


@pytest.mark.parametrize("metric", ["context_relevance", "context_utilization"])
def test_shares_of_passages_use_the_hard_verdict(metric: str) -> None:
    aspect = PASSAGE_METRICS[metric]

    assert score(metric, THREE, said({aspect: (0.5, 0.49, 0.1)})).value == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("useful", "expected"),
    [
        ((0.9, 0.1, 0.8), (1 + 2 / 3) / 2),
        ((0.1, 0.9, 0.1), 0.5),
        ((0.1, 0.1, 0.1), 0.0),
        ((0.9, 0.9, 0.9), 1.0),
    ],
)
def test_context_precision_is_the_average_precision_of_useful_passages(
    useful: tuple[float, ...], expected: float
) -> None:
    result = score("context_precision", THREE, said({Aspect.USEFULNESS: useful}))

    assert result.value == pytest.approx(expected)


@pytest.mark.parametrize("answer", [None, "", " \n"])
def test_without_an_answer_it_cannot_be_told_which_passages_were_useful(answer: str | None) -> None:
    """An outage of the model is no fault of the retriever."""
    trace = make_trace(answer=answer, contexts=("a", "b", "c"), status=TraceStatus.ERROR)
    judgement = said({Aspect.USEFULNESS: (0.1, 0.1, 0.1), Aspect.RELEVANCE: (0.9, 0.9, 0.9)})

    precision = score("context_precision", trace, judgement)
    relevance = score("context_relevance", trace, judgement)

    assert (precision.status, precision.reason) == (ScoreStatus.NOT_APPLICABLE, "empty_answer")
    assert relevance.value == 1.0


def test_the_worked_example_of_the_housing_loan_comes_out() -> None:
    trace = make_trace(
        question="2024年个人首套房商业贷款利率的最低标准是多少?",
        answer="2024年个人首套房商业贷款利率最低标准为3.4%(基准利率4.25%下浮20%)。",
        contexts=("基准利率为4.25%,首套房可下浮20%。", "二套房不低于1.1倍。", "2023年为3.65%。"),
        expected=Expected(key_points=("2024年", "首套房", "最低利率")),
    )
    judgement = said(
        {
            Aspect.SUPPORT: (1.0,),
            Aspect.GRADE: (1.0,),
            Aspect.RELEVANCE: (0.9, 0.1, 0.2),
            Aspect.USE: (0.9, 0.1, 0.2),
            Aspect.COVERAGE: (0.9, 0.9, 0.9),
        }
    )

    values = {
        s.metric: s.value
        for s in score_trace(
            trace,
            judgement,
            [
                "faithfulness",
                "answer_relevance",
                "context_relevance",
                "context_utilization",
                "context_recall",
            ],
            EPOCH,
        )
    }

    assert values == pytest.approx(
        {
            "faithfulness": 1.0,
            "answer_relevance": 1.0,
            "context_relevance": 1 / 3,
            "context_utilization": 1 / 3,
            "context_recall": 1.0,
        }
    )


def test_answer_supported_is_flagged_below_the_threshold_of_the_calibration() -> None:
    low = score("answer_supported", THREE, said({Aspect.ANSWER_SUPPORTED: (0.6,)}, threshold=0.7))
    high = score("answer_supported", THREE, said({Aspect.ANSWER_SUPPORTED: (0.6,)}))

    assert (low.value, low.flagged) == (0.6, True)
    assert (high.value, high.flagged) == (0.6, False)
    assert is_bad(low)
    assert not is_bad(high)


def test_answer_relevancy_averages_cosines_and_counts_negative_ones_as_nothing() -> None:
    judgement = said({Aspect.QUESTION_SIMILARITY: (0.9, -0.3, 0.6), Aspect.NONCOMMITTAL: (0.1,)})

    assert score("answer_relevancy", THREE, judgement).value == pytest.approx(0.5)


def test_a_noncommittal_answer_has_no_relevancy() -> None:
    judgement = said({Aspect.QUESTION_SIMILARITY: (0.9, 0.9, 0.9), Aspect.NONCOMMITTAL: (0.8,)})

    assert score("answer_relevancy", THREE, judgement).value == 0.0


def test_an_unanswered_noncommittal_question_fails_the_relevancy() -> None:
    judgement = said(
        {Aspect.QUESTION_SIMILARITY: (0.9,)}, missing={Aspect.NONCOMMITTAL: "verdict_missing"}
    )

    assert score("answer_relevancy", THREE, judgement).status is ScoreStatus.FAILED


@pytest.mark.parametrize("metric", ["faithfulness", "answer_supported", "context_utilization"])
def test_a_refusal_is_recognised_before_anything_else(metric: str) -> None:
    for contexts in (("a",), (), None):
        result = score(metric, make_trace(contexts=contexts), said(refusal=True))

        assert (result.status, result.reason) == (ScoreStatus.NOT_APPLICABLE, "refusal")
        assert result.value is None


def test_declining_when_nothing_was_recalled_is_not_held_against_the_answer() -> None:
    graded = said({Aspect.GRADE: (0.1,)}, refusal=True)

    nothing = score("answer_relevance", make_trace(contexts=()), graded)
    something = score("answer_relevance", THREE, graded)

    assert (nothing.status, nothing.reason) == (
        ScoreStatus.NOT_APPLICABLE,
        "refusal_on_empty_contexts",
    )
    assert something.value == 0.1


@pytest.mark.parametrize("metric", PASSAGE_METRICS)
def test_nothing_recalled_makes_passage_metrics_zero(metric: str) -> None:
    result = score(metric, make_trace(contexts=()), said())

    assert (result.status, result.value) == (ScoreStatus.SCORED, 0.0)


@pytest.mark.parametrize("metric", [*PASSAGE_METRICS, "faithfulness", "context_recall"])
def test_unknown_contexts_are_a_missing_value_and_not_zero(metric: str) -> None:
    result = score(metric, make_trace(contexts=None), said())

    assert (result.status, result.reason) == (ScoreStatus.NOT_APPLICABLE, "contexts_unknown")


def test_statements_without_any_passage_are_unfaithful_whatever_the_judge_says() -> None:
    judgement = said({Aspect.SUPPORT: (0.9, 0.9), Aspect.ANSWER_SUPPORTED: (0.9,)})
    trace = make_trace(contexts=())

    faithful = score("faithfulness", trace, judgement)
    supported = score("answer_supported", trace, judgement)

    assert faithful.value == 0.0
    assert [v.probability for v in faithful.verdicts] == [0.0, 0.0]
    assert [v.evidence for v in faithful.verdicts] == [None, None]
    assert (supported.value, supported.flagged) == (0.0, True)


def test_a_judge_that_gives_up_for_want_of_passages_still_means_zero() -> None:
    judgement = said(
        missing={Aspect.SUPPORT: "no_contexts", Aspect.ANSWER_SUPPORTED: "no_contexts"}
    )
    trace = make_trace(contexts=())

    assert score("faithfulness", trace, judgement).value == 0.0
    assert score("answer_supported", trace, judgement).flagged is True


def test_an_answer_without_statements_has_no_faithfulness() -> None:
    judgement = said(missing={Aspect.SUPPORT: "no_statements"})

    for contexts in (("a",), ()):
        result = score("faithfulness", make_trace(contexts=contexts), judgement)
        assert (result.status, result.reason) == (ScoreStatus.NOT_APPLICABLE, "no_statements")


@pytest.mark.parametrize("answer", [None, "", " \n"])
def test_an_empty_answer_has_no_answer_metrics(answer: str | None) -> None:
    trace = make_trace(answer=answer)
    for metric in (
        "faithfulness",
        "answer_supported",
        "answer_relevance",
        "answer_relevancy",
        "refusal_rate",
        "context_utilization",
        "summary_score",
    ):
        result = score(metric, trace, said())
        assert (result.status, result.reason) == (ScoreStatus.NOT_APPLICABLE, "empty_answer")


@pytest.mark.parametrize("metric", ["answer_relevance", "answer_relevancy", "context_relevance"])
def test_a_withheld_question_leaves_nothing_to_be_relevant_to(metric: str) -> None:
    trace = make_trace(question=None)  # type: ignore[arg-type]

    result = score(metric, trace, said())

    assert (result.status, result.reason) == (ScoreStatus.NOT_APPLICABLE, "no_question")


def test_a_missing_passage_verdict_fails_the_score() -> None:
    result = score("context_relevance", THREE, said({Aspect.RELEVANCE: (0.9, 0.9)}))

    assert (result.status, result.reason) == (ScoreStatus.FAILED, "verdict_missing")
    assert result.value is None


def test_a_gap_among_statement_verdicts_fails_the_score() -> None:
    judgement = Judgement(
        identity=IDENTITY,
        verdicts=tuple(Verdict(aspect=Aspect.SUPPORT, probability=0.9, index=i) for i in (0, 2)),
    )

    assert score("faithfulness", THREE, judgement).status is ScoreStatus.FAILED


@pytest.mark.parametrize("probability", [float("nan"), -0.1, 1.5])
def test_an_impossible_probability_fails_the_score(probability: float) -> None:
    result = score("faithfulness", THREE, said({Aspect.SUPPORT: (probability,)}))

    assert (result.status, result.reason) == (ScoreStatus.FAILED, "verdict_invalid")


def test_an_aspect_the_judge_cannot_answer_is_not_a_failure() -> None:
    cannot = said(missing={Aspect.QUESTION_SIMILARITY: "unsupported_aspect"})
    lost = said(missing={Aspect.QUESTION_SIMILARITY: "verdict_missing"})

    assert score("answer_relevancy", THREE, cannot).status is ScoreStatus.NOT_APPLICABLE
    assert score("answer_relevancy", THREE, lost).status is ScoreStatus.FAILED


def test_context_recall_counts_labelled_key_points() -> None:
    trace = make_trace(expected=Expected(key_points=("24 months", "parts", "labour")))

    result = score("context_recall", trace, said({Aspect.COVERAGE: (0.9, 0.2, 0.7)}))

    assert result.value == pytest.approx(2 / 3)
    assert result.inferred is False


def test_context_recall_marks_key_points_that_the_judge_inferred() -> None:
    judgement = said({Aspect.COVERAGE: (0.9, 0.2)})
    referenced = make_trace(expected=Expected(references=("24 months.",)))

    assert score("context_recall", THREE, judgement).inferred is True
    assert score("context_recall", referenced, judgement).inferred is False


@pytest.mark.parametrize(
    ("trace", "judgement"),
    [
        (make_trace(expected=Expected(key_points=())), said()),
        (THREE, said(missing={Aspect.COVERAGE: "no_key_points"})),
        (THREE, said(missing={Aspect.COVERAGE: "unsupported_aspect"})),
        (make_trace(contexts=()), said(missing={Aspect.COVERAGE: "unsupported_aspect"})),
    ],
)
def test_context_recall_needs_key_points(trace: Trace, judgement: Judgement) -> None:
    result = score("context_recall", trace, judgement)

    assert (result.status, result.reason) == (ScoreStatus.NOT_APPLICABLE, "no_key_points")


def test_labelled_key_points_are_not_covered_by_nothing() -> None:
    trace = make_trace(contexts=(), expected=Expected(key_points=("24 months",)))

    assert score("context_recall", trace, said()).value == 0.0


def test_the_refusal_rate_counts_answers_that_decline() -> None:
    assert score("refusal_rate", THREE, said(refusal=True)).value == 1.0
    assert score("refusal_rate", THREE, said()).value == 0.0


def test_the_summary_score_weighs_answers_against_length() -> None:
    trace = make_trace(answer="x" * 30, contexts=("y" * 100,))

    result = score("summary_score", trace, said({Aspect.SUMMARY_QUESTION: (0.9, 0.9, 0.1, 0.9)}))

    assert result.value == pytest.approx(0.75 * 0.5 + 0.7 * 0.5)


def test_a_suspect_judgement_keeps_its_value_but_not_its_standing() -> None:
    judgement = said({Aspect.SUPPORT: (1.0,)}, suspect="instruction_in_passage")

    result = score("faithfulness", THREE, judgement)

    assert result.status is ScoreStatus.SUSPECT
    assert (result.value, result.reason) == (1.0, "instruction_in_passage")


def test_suspicion_does_not_turn_a_missing_value_into_one() -> None:
    judgement = said(refusal=True, suspect="instruction_in_passage")

    assert score("faithfulness", THREE, judgement).status is ScoreStatus.NOT_APPLICABLE


def test_a_passage_whose_text_is_withheld_makes_the_contexts_unknown() -> None:
    withheld = (RetrievedDocument(content="a"), RetrievedDocument(content=None, rank=2))

    assert passages_of(replace(make_trace(), contexts=withheld)) is None
    assert passages_of(make_trace(contexts=None)) is None
    assert passages_of(make_trace(contexts=None, context_block="all of it")) == ("all of it",)
    assert passages_of(make_trace(contexts=("a", ""))) == ("a", "")


def test_a_failed_judgement_fails_every_metric_with_its_reason() -> None:
    timeouts = failed_scores(["faithfulness", "context_recall"], JudgeTimeout(), IDENTITY, EPOCH)
    shed = failed_scores(["faithfulness"], BudgetExhausted(), IDENTITY, EPOCH)
    other = failed_scores(["faithfulness"], RuntimeError("x"), IDENTITY, EPOCH)

    assert [(s.metric, s.status, s.reason) for s in timeouts] == [
        ("faithfulness", ScoreStatus.FAILED, "judge_timeout"),
        ("context_recall", ScoreStatus.FAILED, "judge_timeout"),
    ]
    assert shed[0].reason == "budget_exhausted"
    assert other[0].reason == "judge_error"


def test_an_unknown_metric_is_named_with_the_known_ones() -> None:
    with pytest.raises(UnknownMetric, match=r"faithfullness.*faithfulness"):
        aspects_for(["faithfullness"])


def test_metrics_ask_for_their_aspects() -> None:
    assert aspects_for(["faithfulness", "context_recall"]) == {Aspect.SUPPORT, Aspect.COVERAGE}
    assert aspects_for(METRICS) == frozenset(Aspect)
    assert set(BAD_BELOW) == set(METRICS) - {"refusal_rate"}


async def test_a_scripted_judge_scores_every_live_metric() -> None:
    judge = ScriptedJudge()
    trace = make_trace(expected=Expected(key_points=("24 months",)))
    judgement = await judge.judge(
        JudgeRequest(
            question=trace.question or "",
            answer=trace.answer or "",
            contexts=passages_of(trace),
            aspects=aspects_for(LIVE_METRICS),
        )
    )

    scores = {s.metric: s for s in score_trace(trace, judgement, LIVE_METRICS, EPOCH)}

    assert scores["faithfulness"].value == pytest.approx(0.9)
    assert scores["context_precision"].value == 1.0

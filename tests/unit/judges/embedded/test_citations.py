"""What is cited is held against the cited passages: right, swapped, invented, padded, misquoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pytest

from rag_monitor.domain.judgement import Aspect, Judgement
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import RetrievedDocument, Trace
from rag_monitor.evaluation.request import build_request
from rag_monitor.judges.embedded import create
from rag_monitor.metrics.rag import LIVE_METRICS, aspects_for, score_trace
from rag_monitor.testing import make_trace
from tests.unit.judges.embedded.cases import judge

METRICS: Final = ("citation_precision", "citation_recall", "citation_validity")
OF_CITATIONS: Final = frozenset({Aspect.CITED_SUPPORT, Aspect.CITATION})


@dataclass(frozen=True)
class Story:
    """A question with passages, and an answer whose statements take one passage each."""

    question: str
    passages: tuple[str, ...]
    answer: str
    """`{0}` and `{1}` stand where it cites the first and the second passage."""

    def cites(self, *marks: str) -> Trace:
        """The answer with these citations."""
        return make_trace(
            question=self.question, answer=self.answer.format(*marks), contexts=self.passages
        )


STORIES: Final = (
    Story(
        "What does the Gold card cost and include?",
        (
            "The annual fee of the Gold card is 90 euros and is waived in the first year.",
            "The Gold card includes travel insurance for trips of up to 45 days.",
            "Lost cards are replaced within three working days free of charge.",
        ),
        "The annual fee of the Gold card is 90 euros {0}. It includes travel insurance for trips "
        "of up to 45 days {1}.",
    ),
    Story(
        "How do I return a parcel?",
        (
            "Parcels can be returned within 30 days of delivery at any post office.",
            "Refunds are paid to the original card within five working days.",
            "The customer hotline is open from 8 am to 8 pm.",
        ),
        "You can return a parcel within 30 days of delivery at any post office {0}. The refund is "
        "paid to the original card within five working days {1}.",
    ),
    Story(
        "When may the vaccine be given?",
        (
            "The vaccine is approved for children from the age of six months.",
            "The second dose follows four weeks after the first one.",
            "Fever and tiredness are common for two days.",
        ),
        "The vaccine is approved for children from six months of age {0}. The second dose follows "
        "four weeks after the first one {1}.",
    ),
    Story(
        "首套房贷款的利率和提前还款规定是什么？",
        (
            "首套房贷款利率下限为3.4%，贷款期限最长30年。",
            "提前还款满一年后不收取违约金，须提前十天预约。",
            "办理贷款需要身份证、收入证明和购房合同。",
        ),
        "首套房贷款利率下限为3.4%{0}。提前还款满一年后不收取违约金{1}。",
    ),
    Story(
        "年假怎么算？",
        (
            "工作满一年不满十年的员工，每年享有5天年假。",
            "当年未休的年假可以顺延到次年三月底。",
            "病假期间工资按80%发放。",
        ),
        "工作满一年不满十年的员工每年有5天年假{0}。未休的年假可以顺延到次年三月底{1}。",
    ),
    Story(
        "这款手机的电池和防水怎么样？",
        (
            "该手机电池容量为5000毫安时，支持67瓦快充。",
            "机身达到IP68级防水防尘标准。",
            "屏幕为6.7英寸OLED。",
        ),
        "电池容量为5000毫安时，支持67瓦快充{0}。机身达到IP68级防水防尘标准{1}。",
    ),
)


def judgement_of(trace: Trace) -> Judgement:
    return judge().judge_one(build_request(trace, OF_CITATIONS))


def scores_of(trace: Trace) -> dict[str, Score]:
    return {score.metric: score for score in score_trace(trace, judgement_of(trace), METRICS)}


def values_of(trace: Trace) -> dict[str, float | None]:
    return {metric: score.value for metric, score in scores_of(trace).items()}


@pytest.mark.parametrize("story", STORIES, ids=[story.question for story in STORIES])
def test_right_swapped_and_invented_citations_are_told_apart(story: Story) -> None:
    assert values_of(story.cites("[1]", "[2]")) == dict.fromkeys(METRICS, 1.0)
    assert values_of(story.cites("[2]", "[1]")) == dict(zip(METRICS, (0.0, 0.0, 1.0), strict=True))
    assert values_of(story.cites("[7]", "[2]")) == dict.fromkeys(METRICS, 0.5)


@pytest.mark.parametrize("story", STORIES, ids=[story.question for story in STORIES])
def test_a_citation_that_the_others_make_needless_costs_precision_only(story: Story) -> None:
    values = values_of(story.cites("[1][3]", "[2]"))

    assert values["citation_recall"] == 1.0
    assert values["citation_precision"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("story", STORIES, ids=[story.question for story in STORIES])
def test_a_statement_that_cites_nothing_costs_recall_only(story: Story) -> None:
    values = values_of(story.cites("[1]", ""))

    assert values["citation_recall"] == 0.5
    assert values["citation_precision"] == 1.0


def test_citations_that_support_a_statement_only_together_all_count() -> None:
    passages = (
        "Ann Lee founded Brightwater in 1998.",
        "Brightwater has its head office in Leeds.",
        "Its shares rose in May.",
    )
    trace = make_trace(
        question="Who founded Brightwater, and where is it?",
        answer="Ann Lee founded Brightwater in 1998, and it has its head office in Leeds [1][2].",
        contexts=passages,
    )

    assert values_of(trace) == dict.fromkeys(METRICS, 1.0)


@pytest.mark.parametrize(
    ("quoted", "right"),
    [
        ("首套房贷款利率下限为3.4%，贷款期限最长30年", True),
        ("首套房贷款利率下限为3.4%……最长30年", True),
        ("首套房贷款利率下限为3.4%，贷款最长不超过30年", False),
    ],
)
def test_a_quotation_must_stand_in_the_passage_it_cites(quoted: str, right: bool) -> None:
    story = STORIES[3]
    trace = make_trace(
        question=story.question, answer=f"资料1写道：“{quoted}”。", contexts=story.passages
    )
    verdict = judgement_of(trace).of(Aspect.CITED_SUPPORT)[0]

    assert (verdict.reason == "misquoted") is not right


def test_a_quotation_from_another_passage_is_none_of_the_cited_one() -> None:
    story = STORIES[0]
    answer = 'The terms say that "the Gold card includes travel insurance for trips" {}.'

    def reason(mark: str) -> str | None:
        trace = make_trace(
            question=story.question, answer=answer.format(mark), contexts=story.passages
        )
        return judgement_of(trace).of(Aspect.CITED_SUPPORT)[0].reason

    assert reason("[1]") == "misquoted"
    assert reason("[2]") != "misquoted"


def test_verdicts_name_statement_passage_and_reason() -> None:
    trace = STORIES[0].cites("[2]", "[7]")

    first, second = judgement_of(trace).of(Aspect.CITATION)

    assert (first.evidence, first.holds) == (1, False)
    assert first.text == "The annual fee of the Gold card is 90 euros."
    assert (second.evidence, second.reason) == (None, "no_such_passage")


def test_a_mapping_says_what_the_model_was_shown() -> None:
    story = STORIES[0]
    documents = [
        RetrievedDocument(content=text, rank=rank, metadata={"citation": shown})
        for rank, (text, shown) in enumerate(zip(story.passages, "BAC", strict=True), start=1)
    ]

    def values(*marks: str) -> dict[str, float | None]:
        return values_of(replace(story.cites(*marks), contexts=tuple(documents)))

    assert values("[B]", "[A]") == dict.fromkeys(METRICS, 1.0)
    assert values("[A]", "[B]")["citation_recall"] == 0.0


def _missing(trace: Trace) -> Sequence[str | None]:
    scores = scores_of(trace).values()
    assert all(score.status is ScoreStatus.NOT_APPLICABLE for score in scores)
    return [score.reason for score in scores]


def test_without_citations_or_passages_there_is_nothing_to_tell() -> None:
    story = STORIES[0]

    assert _missing(story.cites("", "")) == ["no_citations"] * 3
    assert _missing(replace(story.cites("[1]", "[2]"), contexts=None)) == ["contexts_unknown"] * 3
    assert _missing(replace(story.cites("", ""), answer=" ")) == ["empty_answer"] * 3


def test_every_citation_is_invented_where_nothing_was_retrieved() -> None:
    trace = replace(STORIES[0].cites("[1]", "[2]"), contexts=())

    assert values_of(trace) == dict.fromkeys(METRICS, 0.0)


def test_the_citations_of_a_long_answer_are_checked_so_far_as_allowed() -> None:
    story = STORIES[0]
    answer = " ".join([story.answer.format("[1]", "[2]")] * 5)
    trace = make_trace(question=story.question, answer=answer, contexts=story.passages)
    strict = create({"max_citation_checks": 3})

    judgement = strict.judge_one(build_request(trace, OF_CITATIONS))

    assert len(judgement.of(Aspect.CITED_SUPPORT)) == 3
    assert len(judgement.of(Aspect.CITATION)) == 3
    recall, validity = score_trace(trace, judgement, ["citation_recall", "citation_validity"])
    assert (recall.value, validity.value) == (1.0, 1.0)


def test_the_other_verdicts_do_not_depend_on_what_is_cited() -> None:
    story, others = STORIES[0], aspects_for(LIVE_METRICS) - OF_CITATIONS

    def probabilities(*marks: str) -> list[tuple[Aspect, float]]:
        trace = story.cites(*marks)
        bare = replace(trace, answer=(trace.answer or "").replace(" .", "."))
        judgement = judge().judge_one(build_request(bare, others))
        return [(verdict.aspect, verdict.probability) for verdict in judgement.verdicts]

    assert probabilities("[7]", "【1†source】") == probabilities("", "")

"""Whether contexts hold what a complete answer needs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rag_monitor.domain.judgement import Aspect, JudgeRequest, Verdict
from rag_monitor.judges.embedded.combination import SUFFICIENCY_FEATURES, sufficiency_weights
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.judges.embedded.sufficiency import sufficiency_features
from tests.unit.judges.embedded.cases import judge, judged

WARRANTY = "The standard warranty lasts 24 months from the day of purchase."
FEES = "Express delivery costs 9 euros per parcel within the country."
ASKED = "How long does the standard warranty last?"


def told(question: str, *passages: str) -> Verdict:
    [verdict] = judged(question, passages, "").of(Aspect.SUFFICIENCY)
    return verdict


@pytest.mark.parametrize(
    ("question", "holding", "beside"),
    [
        (ASKED, WARRANTY, FEES),
        ("How much does express delivery cost?", FEES, WARRANTY),
        ("标准保修期多久？", "标准保修期为24个月。", "快递费为每件9元。"),
        ("快递费多少钱？", "快递费为每件9元。", "标准保修期为24个月。"),
    ],
)
def test_contexts_suffice_with_the_passage_that_holds_it_and_not_without(
    question: str, holding: str, beside: str
) -> None:
    assert told(question, beside, holding).holds
    assert told(question, beside, holding).evidence == 1
    assert not told(question, beside).holds


@pytest.mark.parametrize(
    ("question", "passage", "reason"),
    [
        ("What did delivery cost in 2021?", "In 2020 delivery cost 9 euros.", "year_mismatch"),
        ("第二期何时开始？", "第一期3月1日开始。", "series_mismatch"),
    ],
)
def test_a_passage_about_another_year_or_series_does_not_count(
    question: str, passage: str, reason: str
) -> None:
    verdict = told(question, passage)

    assert not verdict.holds
    assert verdict.reason == reason


def test_a_passage_beside_a_conflicting_one_counts() -> None:
    verdict = told(
        "What did delivery cost in 2021?",
        "In 2020 delivery cost 9 euros.",
        "In 2021 delivery cost 8 euros.",
    )

    assert (verdict.holds, verdict.evidence, verdict.reason) == (True, 1, None)


def test_nothing_recalled_suffices_for_nothing_and_unknown_contexts_are_unknown() -> None:
    assert told(ASKED).probability == 0.0
    missing = judged(ASKED, None, "").missing
    assert missing[Aspect.SUFFICIENCY] == "contexts_unknown"


def test_it_is_told_of_a_refusal_too() -> None:
    found = judged(ASKED, [WARRANTY], "I don't know.")

    assert found.refusal
    assert found.of(Aspect.SUFFICIENCY)[0].holds


def test_a_question_in_another_language_is_not_judged_by_words() -> None:
    found = judged("标准保修期多久？", [WARRANTY], "")

    assert found.missing[Aspect.SUFFICIENCY] == "languages_differ"


def test_the_rewritten_query_is_what_contexts_must_answer() -> None:
    request = JudgeRequest(
        question="And how long?",
        query=ASKED,
        answer="",
        contexts=(WARRANTY,),
        aspects=frozenset({Aspect.SUFFICIENCY}),
    )

    assert judge().judge_one(request).of(Aspect.SUFFICIENCY)[0].holds


@pytest.mark.parametrize(
    "passages",
    [(), ("",), ("…",), (WARRANTY,), (FEES, WARRANTY), ("标准保修期为24个月。",)],
)
@pytest.mark.parametrize("question", ["", "?", ASKED, "标准保修期多久？"])
def test_each_feature_lies_between_0_and_1(question: str, passages: Sequence[str]) -> None:
    def features(texts: Sequence[str]) -> list[float]:
        evidence = EvidenceIndex.build(texts, question)
        return sufficiency_features(evidence, Segment(question), range(len(texts)))[0]

    found = features(passages)

    assert len(found) == len(SUFFICIENCY_FEATURES)
    assert all(0 <= value <= 1 + 1e-9 for value in found)


@pytest.mark.parametrize("language", ["en", "标"])
def test_no_weight_is_negative(language: str) -> None:
    assert min(sufficiency_weights(language).weights) >= 0

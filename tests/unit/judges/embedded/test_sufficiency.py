"""Whether contexts hold what a complete answer needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.judgement import Aspect, JudgeRequest, Verdict
from rag_monitor.judges.embedded.combination import (
    SUFFICIENCY_FEATURES,
    read_sufficiency,
    sufficiency_weights,
)
from rag_monitor.judges.embedded.encoder import load_encoder, shipped_encoder
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.judges.embedded.sufficiency import sufficiency_features
from rag_monitor.judges.embedded.sufficiency_reading import reader_of, readings
from tests.unit.judges.embedded import tiny_encoders
from tests.unit.judges.embedded.cases import judge, judged, variant

WARRANTY = "The standard warranty lasts 24 months from the day of purchase."
FEES = "Express delivery costs 9 euros per parcel within the country."
ASKED = "How long does the standard warranty last?"


def told(question: str, *passages: str) -> Verdict:
    [verdict] = judged(question, passages, "").of(Aspect.SUFFICIENCY)
    return verdict


def asking(question: str, *passages: str) -> JudgeRequest:
    return JudgeRequest(
        question=question, answer="", contexts=passages, aspects=frozenset({Aspect.SUFFICIENCY})
    )


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


@pytest.mark.parametrize("language", ["en", "标"])
def test_what_the_encoder_says_counts_for_sufficiency(language: str) -> None:
    weights = read_sufficiency().weights(language).weights

    assert min(weights) >= 0
    assert weights[-1] > 0


def test_the_probe_belongs_to_the_shipped_encoder() -> None:
    assert read_sufficiency().encoder == shipped_encoder(1).version


def test_another_encoder_is_not_asked_about_sufficiency(tmp_path: Path) -> None:
    assert reader_of(load_encoder(tiny_encoders.pairs(tmp_path), 1)) is None
    assert reader_of(None) is None


@pytest.mark.parametrize(
    ("question", "answers", "beside"),
    [
        (
            ASKED,
            "The standard warranty lasts 24 months from the day of purchase.",
            "The standard warranty covers the battery and the motor.",
        ),
        ("标准保修期多久？", "标准保修期为24个月。", "标准保修涵盖电池和电机，不包括人为损坏。"),
    ],
)
def test_a_passage_on_the_subject_that_misses_the_point_does_not_suffice_beside_the_encoder(
    question: str, answers: str, beside: str
) -> None:
    def verdict(passage: str) -> Verdict:
        [found] = variant("full").judge_one(asking(question, passage)).of(Aspect.SUFFICIENCY)
        return found

    assert verdict(answers).holds
    assert not verdict(beside).holds


def test_a_question_that_depends_on_earlier_turns_is_judged_by_words() -> None:
    turn = EarlierTurn(question=ASKED, answer="24 months.")
    request = replace(asking("And the extended warranty?", WARRANTY), history=(turn,))

    full, lexical = (variant(name).judge_one(request) for name in ("full", "lexical"))

    assert full.of(Aspect.SUFFICIENCY) == lexical.of(Aspect.SUFFICIENCY)


def test_windows_that_hold_most_of_the_question_are_read_and_do_not_overlap() -> None:
    filler = "Our offices stand beside the river and open at nine on weekdays. " * 12
    passages = (filler, f"{filler}{WARRANTY} {filler}", f"{filler}Standard terms apply.")
    evidence = EvidenceIndex.build(passages, ASKED)

    read = readings(evidence, Segment(ASKED), range(len(passages)))

    assert [question for question, _ in read] == [ASKED, ASKED]
    assert WARRANTY in read[0][1]
    assert "Standard terms apply." in read[1][1]
    assert all(len(text) < 500 for _, text in read)


def test_windows_of_one_passage_do_not_overlap() -> None:
    passage = "".join(f"Clause {n} of the standard warranty covers part {n}. " for n in range(30))
    evidence = EvidenceIndex.build((passage,), ASKED)

    [(_, first), (_, second)] = readings(evidence, Segment(ASKED), [0])

    assert not set(first.split(". ")) & set(second.split(". ")) - {""}


@pytest.mark.parametrize("passages", [("",), ("…",), ("", "")])
def test_empty_passages_are_read_as_nothing(passages: Sequence[str]) -> None:
    evidence = EvidenceIndex.build(passages, ASKED)

    assert readings(evidence, Segment(ASKED), range(len(passages)))
    assert not told(ASKED, *passages).holds

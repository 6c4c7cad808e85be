"""The demo's documents, retriever, answerer and plugins, without any server."""

from __future__ import annotations

import re

import pytest

from rag_monitor.demo.answerer import chunks, extract, invent, sentences
from rag_monitor.demo.assistant import PLUGINS, order_lookup, rate_calculator
from rag_monitor.demo.corpus import LANGUAGES, Language, load_passages, load_questions
from rag_monitor.demo.retriever import Retriever, terms

BOTH = pytest.mark.parametrize("language", LANGUAGES)


@BOTH
def test_every_language_has_forty_passages_and_forty_questions(language: Language) -> None:
    passages, questions = load_passages(language), load_questions(language)

    assert len(passages) >= 40
    assert len({p.id for p in passages}) == len(passages)
    assert len({q.text for q in questions}) == len(questions) >= 40
    assert {q.passage for q in questions} <= {p.id for p in passages}


@BOTH
def test_the_retriever_finds_the_passage_that_holds_the_answer(language: Language) -> None:
    retriever = Retriever(load_passages(language))

    misses = [
        q.text
        for q in load_questions(language)
        if q.passage not in [hit.passage.id for hit in retriever.search(q.text, 3)]
    ]

    assert misses == []


@BOTH
def test_a_broken_retriever_returns_passages_of_other_topics(language: Language) -> None:
    retriever = Retriever(load_passages(language))

    for question in load_questions(language):
        wrong = retriever.from_elsewhere(question.text, 3)
        assert len(wrong) == 3
        assert question.knowledge_base not in {hit.passage.knowledge_base for hit in wrong}


@BOTH
def test_an_extracted_answer_consists_of_sentences_of_the_passages(language: Language) -> None:
    retriever = Retriever(load_passages(language))

    for question in load_questions(language):
        passages = [hit.passage for hit in retriever.search(question.text, 3)]
        source = {sentence for passage in passages for sentence in sentences(passage.text)}
        assert set(sentences(extract(question.text, passages, retriever))) <= source


@BOTH
def test_without_passages_the_answerer_says_that_it_cannot_answer(language: Language) -> None:
    retriever = Retriever(load_passages(language))
    question = load_questions(language)[0].text

    answer = extract(question, [], retriever)

    assert ("抱歉" if language == "zh" else "Sorry") in answer


@BOTH
def test_invented_figures_stand_nowhere_in_the_corpus(language: Language) -> None:
    known = set(re.findall(r"\d+", " ".join(p.text for p in load_passages(language))))

    for question in load_questions(language):
        answer = invent(question.text)
        assert set(re.findall(r"\d+", answer)) - known
        assert answer == invent(question.text)


def test_an_answer_is_streamed_without_loss() -> None:
    text = "年利率为3.30%。" * 7

    assert "".join(chunks(text)) == text
    assert len(chunks(text)) > 1


def test_chinese_is_indexed_by_bigrams_and_english_by_stems() -> None:
    assert terms("年利率3.30%") == ["年利", "利率", "3.30"]
    assert terms("The Warranty covers repairs") == ["warranty", "cover", "repair"]


def test_the_calculator_pays_back_the_loan() -> None:
    result = rate_calculator("贷款100万元，期限30年，年利率3.30%，每月还款多少？")

    assert result is not None
    payment = float(re.findall(r"每月还款([\d.]+)元", result.text)[0])
    owed = 1_000_000.0
    for _ in range(360):
        owed = owed * (1 + 0.033 / 12) - payment
    assert abs(owed) < 10


def test_an_unknown_order_is_an_empty_hit() -> None:
    assert order_lookup("Where is ES-99999?") is not None
    assert order_lookup("Where is ES-99999?").items == 0  # type: ignore[union-attr]
    assert order_lookup("Where is my parcel?") is None


@BOTH
def test_questions_labelled_with_a_plugin_are_those_the_plugin_answers(language: Language) -> None:
    for question in load_questions(language):
        called = {name for name, (_, call) in PLUGINS.items() if call(question.text)}
        assert called == ({question.plugin} if question.plugin else set())

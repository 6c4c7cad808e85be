"""Figures that textbooks and teaching material print, each named with where it comes from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.domain.judgement import Aspect, Judgement, Verdict
from rag_monitor.errors import ConfigurationError, NotApplicable
from rag_monitor.metrics.classification import BinaryCounts, ConfusionMatrix
from rag_monitor.metrics.rag import score_trace
from rag_monitor.metrics.ranking import average_precision, dcg, ndcg_at, precision_at, recall_at
from rag_monitor.metrics.text.bleu import BleuCounts, bleu, bleu_counts
from rag_monitor.metrics.text.meteor import meteor
from rag_monitor.metrics.text.overlap import exact_match, f1_of, token_f1
from rag_monitor.metrics.text.rouge import longest_common_subsequence, rouge
from rag_monitor.metrics.text.suite import TEXT_METRICS, score_text
from rag_monitor.metrics.text.tokens import (
    CHARACTERS,
    WORDS,
    Tokenizer,
    read_terms,
    read_weights,
)
from rag_monitor.testing import ScriptedJudge, make_trace


def test_average_precision_of_the_ranking_lecture() -> None:
    """Relevance yes, no, yes, yes, no with R = 3 (ranking chapter of the teaching material)."""
    assert average_precision(["a", "b", "c", "d", "e"], ["a", "c", "d"]) == pytest.approx(
        0.8056, abs=5e-5
    )


def test_ndcg_of_the_ranking_lecture() -> None:
    """Grades 4, 3, 2, 0, 1 against their ideal order (ranking chapter; it adds rounded terms)."""
    grades = {"a": 4, "b": 3, "c": 2, "d": 0, "e": 1}

    assert dcg([4, 3, 2, 0, 1]) == pytest.approx(7.2797, abs=1e-4)
    assert dcg([4, 3, 2, 1, 0]) == pytest.approx(7.3235, abs=1e-4)
    assert ndcg_at(list("abcde"), grades) == pytest.approx(0.994, abs=5e-4)


def test_precision_and_recall_of_the_search_example() -> None:
    """10 retrieved of which 6 relevant, 20 relevant in all (ranking chapter)."""
    retrieved = [f"r{i}" for i in range(6)] + [f"x{i}" for i in range(4)]
    relevant = [f"r{i}" for i in range(20)]
    precision, recall = precision_at(retrieved, relevant, 10), recall_at(retrieved, relevant, 10)

    assert precision == pytest.approx(0.60)
    assert recall == pytest.approx(0.30)
    assert f1_of(precision, recall).f1 == pytest.approx(0.40)


def test_confusion_of_the_sentiment_example() -> None:
    """TP 180, FP 20, FN 30, TN 770 (e-commerce sentiment; the .867 printed there is a slip)."""
    counts = BinaryCounts(tp=180, fp=20, fn=30, tn=770)

    assert counts.accuracy == pytest.approx(0.95)
    assert counts.precision == pytest.approx(0.90)
    assert counts.recall == pytest.approx(180 / 210)
    assert counts.f1 == pytest.approx(360 / 410)


def test_confusion_of_the_agent_lists() -> None:
    """16 labels of which 14 are positive, every prediction positive (agent evaluation series)."""
    actual = [1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1]
    pairs = Counter((str(label), "1") for label in actual)
    counts = ConfusionMatrix(("0", "1"), dict(pairs)).of("1")

    assert (counts.tp, counts.fp, counts.tn, counts.fn) == (14, 2, 0, 0)
    assert counts.precision == pytest.approx(0.875)
    assert counts.recall == 1
    assert counts.false_positive_rate == 1
    assert counts.false_negative_rate == 0
    assert counts.f1 == pytest.approx(0.9333, abs=5e-5)


def test_token_f1_of_the_question_answering_course() -> None:
    """奥巴马 against 巴拉克·奥巴马 at word level."""
    words = Tokenizer(terms=("奥巴马", "巴拉克"))
    score = token_f1("奥巴马", ["巴拉克·奥巴马"], words)

    assert (score.precision, score.recall) == (1.0, 0.5)
    assert score.f1 == pytest.approx(0.67, abs=5e-3)


def test_exact_match_of_the_question_answering_course() -> None:
    assert exact_match("蒂姆·库克", ["蒂姆·库克"]) == 1
    assert exact_match("库克", ["蒂姆·库克"]) == 0


def test_rouge_l_of_the_profit_example() -> None:
    """企业利润增长10% is wholly in order within 企业利润同比增长10%."""
    short, long = CHARACTERS("企业利润增长10%"), CHARACTERS("企业利润同比增长10%")

    assert longest_common_subsequence(short, long) == len(short)
    score = rouge("企业利润增长10%", ["企业利润同比增长10%"], tokenizer=CHARACTERS)
    assert score.precision == 1
    assert score.recall == pytest.approx(len(short) / len(long))


def test_bleu_clips_repeated_words() -> None:
    """Seven times "the" against a reference with two (Papineni et al. 2002, section 2.1)."""
    score = bleu(
        "the the the the the the the",
        ["The cat is on the mat.", "There is a cat on the mat."],
        order=1,
        smoothing="none",
    )

    assert score == pytest.approx(2 / 7)


def test_bleu_uses_the_closest_reference_length() -> None:
    near, far = "a b c d", "a b c d e f g h"

    alone = bleu("a b c d", [far], smoothing="none")
    both = bleu("a b c d", [near, far], smoothing="none")

    assert alone < 1
    assert both == pytest.approx(1.0)


def test_counts_of_rows_pool_and_allow_uneven_references() -> None:
    pairs = [("the cat sat on the mat", ["the cat sat on the mat"]), ("a dog", ["a cat", "a dog"])]

    pooled = sum((bleu_counts(text, targets) for text, targets in pairs), BleuCounts())

    assert pooled.score() == pytest.approx(1.0)


def test_domain_terms_are_not_cut() -> None:
    assert "年化收益率" in Tokenizer(terms=("年化收益率",))("产品的年化收益率为4.25%")
    assert "靶向药" in Tokenizer(terms=("靶向药",))("医保目录新增靶向药")


@pytest.mark.parametrize(
    ("term", "text", "tokens"),
    [
        ("net income", "Net  income fell.", ("net income", "fell")),
        ("net income", "internet income", ("internet", "income")),
        ("T+1", "按 t+1 到账", ("按", "t+1", "到", "账")),
        ("2024年", "截至2024年末", ("截至", "2024年", "末")),
        ("C++", "C++ and C", ("c++", "and", "c")),
    ],
)
def test_a_term_of_several_words_signs_or_scripts_is_not_cut(
    term: str, text: str, tokens: tuple[str, ...]
) -> None:
    assert Tokenizer(terms=(term,))(text) == tokens


def test_lines_of_terms_may_hold_several_words_or_be_those_of_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "terms.txt"
    path.write_text("年化收益率 300 n\n靶向药 5\nNet Income\n\nbasis point\n", encoding="utf-8")

    assert read_terms(path) == ("年化收益率", "靶向药", "net income", "basis point")


def test_key_terms_have_a_weight_each(tmp_path: Path) -> None:
    path = tmp_path / "key.txt"
    path.write_text("营收 3\n成本\t2.5\nNet income,4\n\n", encoding="utf-8")

    assert read_weights(path) == {"营收": 3.0, "成本": 2.5, "net income": 4.0}


@pytest.mark.parametrize("line", ["营收", "3", "营收 -1", "营收 0", "营收 inf", "营收 three"])
def test_a_key_term_without_a_weight_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "key.txt"
    path.write_text(f"成本 2\n{line}\n", encoding="utf-8")

    with pytest.raises(ConfigurationError, match=r"key.txt, line 2: .* 营收 3"):
        read_weights(path)


def test_recall_and_precision_of_rouge_have_names_of_their_own() -> None:
    names = ("rouge_l", "rouge_l_precision", "rouge_l_recall", "rouge_2_recall")

    found = score_text("企业利润增长10%", ["企业利润同比增长10%"], names)

    assert found["rouge_l_precision"] == 1.0
    assert found["rouge_l_recall"] == pytest.approx(4 / 5)
    assert found["rouge_l"] == pytest.approx(2 * 0.8 / 1.8)
    assert found["rouge_2_recall"] == pytest.approx(2 / 4)


@pytest.mark.parametrize("text", ["", "   ", "。", "!?…"])
def test_a_text_without_tokens_scores_nothing_with_every_measure(text: str) -> None:
    found = score_text(text, ["hello world"], TEXT_METRICS)

    assert found == dict.fromkeys(TEXT_METRICS, 0.0)


@pytest.mark.parametrize("reference", ["", "。", "…!?"])
@pytest.mark.parametrize("measure", [bleu, meteor, rouge])
def test_a_reference_without_tokens_measures_nothing(measure: Any, reference: str) -> None:
    with pytest.raises(NotApplicable, match="no tokens in the reference"):
        measure("hello world", [reference])


def test_mixed_scripts_keep_both_languages() -> None:
    assert WORDS("GPU 训练 costs 3.5万") == ("gpu", "训练", "costs", "3.5", "万")


ANNOUNCEMENT = (
    "A company is launching a new product, a smartphone app designed to help users track their"
    " fitness goals. The app allows users to set daily exercise targets, log their meals, and track"
    " their water intake. It also provides personalized workout recommendations and sends"
    " motivational reminders throughout the day."
)
SUMMARY = (
    "A company is launching a fitness tracking app that helps users set exercise goals, log meals,"
    " and track water intake, with personalized workout suggestions and motivational reminders."
)


@pytest.mark.parametrize(("answered", "of"), [(8, 8), (6, 8), (0, 8)])
def test_summary_score_of_the_smart_phone_app(answered: int, of: int) -> None:
    """The fitness app announcement and its one-sentence summary (summary metric's own sample)."""
    conciseness = 1 - len(SUMMARY) / (len(ANNOUNCEMENT) + 1e-10)
    verdicts = tuple(
        Verdict(aspect=Aspect.SUMMARY_QUESTION, probability=float(n < answered), index=n)
        for n in range(of)
    )
    judgement = Judgement(identity=ScriptedJudge().identity, verdicts=verdicts)
    trace = make_trace(question=None, answer=SUMMARY, contexts=[ANNOUNCEMENT])  # type: ignore[arg-type]

    (score,) = score_trace(trace, judgement, ["summary_score"])

    assert score.value == pytest.approx(0.5 * answered / of + 0.5 * conciseness)


def test_faithfulness_of_the_einstein_example() -> None:
    """Born 14 March 1879 in Germany; the answer says 20 March: one of two statements is held."""
    verdicts = tuple(
        Verdict(aspect=Aspect.SUPPORT, probability=p, index=n) for n, p in enumerate((1.0, 0.0))
    )
    judgement = Judgement(identity=ScriptedJudge().identity, verdicts=verdicts)

    (score,) = score_trace(make_trace(), judgement, ["faithfulness"])

    assert score.value == pytest.approx(0.5)

"""Our numbers against the reference implementations, on random Chinese and English pairs."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal

import pytest

from rag_monitor.errors import NotApplicable
from rag_monitor.metrics.text.bleu import BleuCounts, bleu, bleu_counts
from rag_monitor.metrics.text.meteor import meteor
from rag_monitor.metrics.text.overlap import token_f1
from rag_monitor.metrics.text.rouge import longest_common_subsequence, rouge
from rag_monitor.metrics.text.tokens import CHARACTERS, WORDS

PAIRS = 1000
_ENGLISH = "the rate of a loan is four percent per year and the bank may change it without notice"
_EN = _ENGLISH.split()
_ZH = "年利率为百分之四银行可以随时调整首套房贷款最低标准由央行公布"


def _pairs(seed: int = 7) -> list[tuple[str, list[str]]]:
    draw = random.Random(seed)
    rows: list[tuple[str, list[str]]] = []
    for number in range(PAIRS):
        chinese = number % 2
        make = (
            (lambda: "".join(draw.choices(_ZH, k=draw.randint(1, 30))))
            if chinese
            else (lambda: " ".join(draw.choices(_EN, k=draw.randint(1, 30))))
        )
        rows.append((make(), [make() for _ in range(draw.randint(1, 3))]))
    return rows


def test_bleu_equals_nltk_without_smoothing() -> None:
    """Tolerance 1e-9 wherever all four orders exist (nltk has no effective order)."""
    from nltk.translate.bleu_score import sentence_bleu

    compared = 0
    for text, references in _pairs():
        tokens = CHARACTERS(text)
        if len(tokens) < 4:
            continue
        ours = bleu(text, references, smoothing="none", tokenizer=CHARACTERS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nltk warns where an order has no match
            theirs = sentence_bleu([CHARACTERS(r) for r in references], tokens)
        assert ours == pytest.approx(theirs, abs=1e-9)
        compared += 1
    assert compared > PAIRS / 2


@pytest.mark.parametrize("variant", ["1", "2", "L"])
def test_rouge_equals_rouge_score(variant: str) -> None:
    """Tolerance 1e-9."""
    from rouge_score import rouge_scorer, tokenizers

    class Ours(tokenizers.Tokenizer):  # type: ignore[misc, unused-ignore]
        def tokenize(self, text: str) -> list[str]:
            return list(CHARACTERS(text))

    name = f"rouge{variant}"
    scorer = rouge_scorer.RougeScorer([name], tokenizer=Ours())
    for text, references in _pairs():
        theirs = scorer.score(references[0], text)[name]
        ours = rouge(text, references[:1], variant, tokenizer=CHARACTERS)  # type: ignore[arg-type]
        assert (ours.precision, ours.recall, ours.f1) == pytest.approx(
            (theirs.precision, theirs.recall, theirs.fmeasure), abs=1e-9
        )


def test_the_bit_parallel_subsequence_equals_the_table() -> None:
    def table(left: Sequence[str], right: Sequence[str]) -> int:
        row = [0] * (len(right) + 1)
        for token in left:
            diagonal = 0
            for place, other in enumerate(right, start=1):
                kept = row[place]
                row[place] = diagonal + 1 if token == other else max(row[place], row[place - 1])
                diagonal = kept
        return row[-1]

    for text, references in _pairs(seed=8):
        left, right = CHARACTERS(text), CHARACTERS(references[0])
        assert longest_common_subsequence(left, right) == table(left, right)


def test_uniform_weights_change_nothing() -> None:
    weights = dict.fromkeys([*_EN, *_ZH], 1.0)
    for text, references in _pairs(seed=9)[:200]:
        for variant in ("1", "2", "L", "S"):
            plain = rouge(text, references, variant, tokenizer=CHARACTERS)  # type: ignore[arg-type]
            weighed = rouge(
                text,
                references,
                variant,  # type: ignore[arg-type]
                tokenizer=CHARACTERS,
                weights=weights,
            )
            assert weighed.f1 == pytest.approx(plain.f1, abs=1e-12)


def test_a_key_term_weighs_more() -> None:
    reference = ["营收 增长 两 成"]
    weights = {"营收": 5.0}

    with_term = rouge("营收 增长", reference, "1", weights=weights)
    without = rouge("增长 两", reference, "1", weights=weights)

    assert with_term.recall > without.recall


def test_meteor_equals_nltk() -> None:
    """Tolerance 1e-9; the stages that ran are named."""
    from nltk.translate.meteor_score import single_meteor_score

    class NoSynonyms:
        def synsets(self, _word: str) -> list[object]:
            return []

    for text, references in _pairs(seed=10):
        ours = meteor(text, references[:1], tokenizer=WORDS)
        if "synonym" in ours.stages:
            pytest.skip("WordNet is installed: the stages differ")
        theirs = single_meteor_score(WORDS(references[0]), WORDS(text), wordnet=NoSynonyms())
        assert ours.value == pytest.approx(theirs, abs=1e-9)


def test_several_references_take_the_best() -> None:
    references = ["a b c d", "x y z w"]

    assert rouge("a b c d", references, "1").f1 == 1


def _outcome(measure: Callable[[], float]) -> float | Literal["reason"]:
    try:
        return measure()
    except NotApplicable:
        return "reason"


CORNERS = [
    "",
    "好",
    "word",
    "。!?",
    "GPU训练cost高",
    "🙂🙂 emoji 🎉",
    "a\u0000b",
    "\ud800 lone",
    "长" * 2_000,
    "word " * 20_000,
]


@pytest.mark.parametrize("text", CORNERS, ids=lambda t: repr(t[:8]))
@pytest.mark.parametrize("reference", [*CORNERS[:8], "word " * 300], ids=lambda t: repr(t[:8]))
def test_corner_inputs_give_a_number_or_a_reason(text: str, reference: str) -> None:
    measures = (
        lambda: bleu(text, [reference]),
        lambda: rouge(text, [reference], "1").f1,
        lambda: rouge(text, [reference], "2").f1,
        lambda: rouge(text, [reference], "L").f1,
        lambda: rouge(text, [reference], "S").f1,
        lambda: token_f1(text, [reference]).f1,
        lambda: meteor(text[:500], [reference]).value,
    )
    for measure in measures:
        outcome = _outcome(measure)
        assert outcome == "reason" or 0 <= outcome <= 1


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("smoothing", ["none", "floor", "add-k", "exp"])
def test_bleu_equals_sacrebleu_for_every_order_and_smoothing(order: int, smoothing: Any) -> None:
    """Tolerance 1e-9: sentence and corpus, one to three references."""
    from sacrebleu.metrics.bleu import BLEU

    sentence, corpus = (
        BLEU(
            tokenize="none",
            force=True,
            smooth_method=smoothing,
            max_ngram_order=order,
            effective_order=effective,
        )
        for effective in (True, False)
    )
    rows = [(CHARACTERS(t), [CHARACTERS(r) for r in refs]) for t, refs in _pairs(seed=11)]
    for (text, references), (tokens, targets) in zip(_pairs(seed=11), rows, strict=True):
        theirs = sentence.sentence_score(" ".join(tokens), [" ".join(r) for r in targets]).score
        ours = bleu(text, references, order, smoothing=smoothing, tokenizer=CHARACTERS)
        assert ours == pytest.approx(min(1.0, theirs / 100), abs=1e-9)
    streams = [[" ".join(r[i]) if i < len(r) else None for _, r in rows] for i in range(3)]
    pooled = corpus.corpus_score([" ".join(t) for t, _ in rows], streams).score
    counts = (bleu_counts(t, refs, CHARACTERS) for t, refs in _pairs(seed=11))
    ours = sum(counts, BleuCounts()).score(order, smoothing)
    assert ours == pytest.approx(pooled / 100, abs=1e-9)


def test_token_f1_equals_the_squad_script_on_words() -> None:
    """Tolerance 1e-9, written out from the published evaluation script."""
    for text, references in _pairs(seed=12):
        found, best = CHARACTERS(text), 0.0
        for reference in references:
            wanted = CHARACTERS(reference)
            same = sum((Counter(found) & Counter(wanted)).values())
            if same:
                precision, recall = same / len(found), same / len(wanted)
                best = max(best, 2 * precision * recall / (precision + recall))
        assert token_f1(text, references, CHARACTERS).f1 == pytest.approx(best, abs=1e-9)


def test_ascii_text_is_cut_as_any_other() -> None:
    """The short cut for ASCII gives the same tokens as the general way."""
    draw = random.Random(5)
    for _ in range(2_000):
        text = "".join(draw.choices([chr(n) for n in range(128)], k=draw.randint(0, 30)))
        # A trailing ideographic space is no token and takes the general way.
        assert WORDS(text) == WORDS(text + "\u3000")


def test_a_hundred_thousand_characters_take_a_moment_and_give_a_number() -> None:
    english, chinese = "word other " * 9_100, "企业利润同比增长" * 12_500

    for text in (english, chinese):
        assert bleu(text, [text]) == pytest.approx(1.0)
        assert rouge(text, [text], "L").f1 == 1.0
        assert token_f1(text, [text]).f1 == 1.0

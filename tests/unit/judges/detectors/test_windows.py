"""Long passages in windows, long answers in stretches, words that are not supported."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_monitor.domain.judgement import Statement
from rag_monitor.judges.batching import batches
from rag_monitor.judges.detectors.asking import fitted
from rag_monitor.judges.detectors.facts import Facts
from rag_monitor.judges.detectors.formats import format_of
from rag_monitor.judges.detectors.options import DetectorOptions
from rag_monitor.judges.detectors.runner import Numbers
from rag_monitor.judges.detectors.spans import SpanAsker, Token, spans_of, support_of
from rag_monitor.judges.detectors.texts import Texts, Window, nearest, share_of, windows_of
from tests.unit.judges.detectors.tiny_detectors import tokenizer
from tests.unit.judges.requests import warranty

BERT = Texts(tokenizer("bert"))
T5 = Texts(tokenizer("t5"))


@given(text=st.text(max_size=120), most=st.integers(1, 20))
@settings(max_examples=25, deadline=None)
def test_stretches_are_the_whole_text_and_none_is_too_long(text: str, most: int) -> None:
    text = BERT.plain(text)

    found = BERT.stretches(text, most)

    assert "".join(text[start:end] for start, end, _ in found) == text
    longest_character = 4
    assert all(tokens <= max(most, longest_character) for _, _, tokens in found)


def test_a_long_text_is_cut_where_sentences_end() -> None:
    text = "It covers parts. It lasts 24 months. Our shop opens at nine. Our shop opens at nine."
    most = BERT.count("It covers parts. It lasts 24 months.") + 2

    found = [text[start:end] for start, end, _ in BERT.stretches(text, most)]

    assert found == [
        "It covers parts. It lasts 24 months.",
        " Our shop opens at nine.",
        " Our shop opens at nine.",
    ]
    assert BERT.cut(text, most) == found[0]


def test_neighbouring_passages_share_a_window_while_they_fit() -> None:
    passages = ["warranty " * 5, "parts " * 5, "shop " * 200, "nine " * 5]

    windows = windows_of(passages, BERT, 100)

    assert windows[0].indexes == (0, 1)
    assert {index for window in windows for index in window.indexes} == {0, 1, 2, 3}
    for index, passage in enumerate(passages):
        stretches = [
            text
            for window in windows
            for text, own in zip(window.passages, window.indexes, strict=True)
            if own == index
        ]
        assert "".join(stretches) == passage
    assert all(sum(map(BERT.count, window.passages)) <= 100 for window in windows)


def test_of_too_many_windows_those_nearest_to_the_answer_are_read() -> None:
    windows = [Window((text,), (n,)) for n, text in enumerate(["shop " * 9, "24 months", "x" * 11])]

    kept = nearest(windows, "It lasts 24 months.", 1)

    assert kept == [1]
    assert share_of(windows, kept) == pytest.approx(9 / 65)
    assert nearest(windows, "whatever", 3) == [0, 1, 2]
    assert share_of(windows, range(3)) == 1.0


def test_evidence_is_the_passage_of_the_window_that_shares_most_words() -> None:
    window = Window(("Our shop opens at nine.", "The warranty lasts 24 months."), (4, 7))

    assert window.evidence("The warranty lasts two years.") == 7
    assert window.evidence("zzz") is None
    assert Window(("a", "b"), (3, 3)).evidence("zzz") == 3


@pytest.mark.parametrize(
    ("texts", "text"),
    [(BERT, "parts [SEP] ignore this"), (T5, "parts</s>claim <pad> x"), (T5, "</</s>s>")],
)
def test_text_of_a_trace_forms_no_special_token(texts: Texts, text: str) -> None:
    plain = texts.plain(text)
    without = set(texts.encode(plain).ids) - set(texts.encode("").ids)
    specials = {tokenizer("bert").token_to_id("[SEP]"), tokenizer("t5").token_to_id("</s>")}

    assert len(plain) == len(text)
    assert texts.count(plain) == len(texts.encode(plain).ids) - len(texts.encode("").ids)
    assert len(without & specials) <= 1, "a number may be a letter of the other tokenizer"
    assert "</s>" not in plain
    assert "[SEP]" not in plain


def test_halves_of_pairs_do_not_stop_a_tokenizer() -> None:
    assert BERT.count(BERT.plain("a\ud800b")) > 0


def test_a_statement_is_as_well_supported_as_its_worst_word_and_quotes_it() -> None:
    answer = "The capital is Paris. It has 69 million people."
    words = [(0, 3, 0.1), (4, 11, 0.2), (12, 14, 0.1), (15, 20, 0.3), (20, 21, 0.0),
             (22, 24, 0.1), (25, 28, 0.2), (29, 31, 0.9), (32, 39, 0.7), (40, 46, 0.4)]  # fmt: skip
    tokens = [Token(*word) for word in words]
    first = Statement(text=answer[:21], start=0, end=21)
    second = Statement(text=answer[22:], start=22, end=47)

    assert support_of(first, tokens, answer).probability == pytest.approx(0.7)
    assert support_of(first, tokens, answer).reason is None
    assert support_of(second, tokens, answer).probability == pytest.approx(0.1)
    assert support_of(second, tokens, answer).reason == "“69 million”"
    assert spans_of(tokens) == [(29, 39)]


def test_a_span_over_two_statements_counts_against_both() -> None:
    tokens = [Token(0, 5, 0.8), Token(5, 10, 0.9)]
    found = [support_of(Statement(text="x", start=s, end=e), tokens, "abcdefghij")
             for s, e in ((0, 5), (5, 10), (20, 25))]  # fmt: skip

    assert [support.probability for support in found] == [
        pytest.approx(0.2),
        pytest.approx(0.1),
        None,
    ]


def test_a_word_is_supported_where_one_of_several_windows_supports_it() -> None:
    form = format_of("lettucedetect", Facts(), DetectorOptions(model="m", max_tokens=160))
    answer = "It covers parts."
    request = warranty(answer=answer, question="", contexts=("shop " * 100, "nine " * 100))
    statements = [Statement(text=answer, start=0, end=len(answer))]
    asked = SpanAsker(form, BERT, 64).ask(request, statements)

    def numbers(row: int) -> Numbers:
        """Each window supports every other word, counted from the end."""
        size = len(asked.encodings[row].ids)
        against = np.where(np.arange(size)[::-1] % 2 == row % 2, 4.0, -4.0)
        return np.asarray(np.stack([np.zeros(size), against], 1), np.float32)

    rows = range(len(asked.encodings))
    one = asked.conclude([numbers(0) for _ in rows])  # by the same words everywhere
    both = asked.conclude([numbers(row) for row in rows])

    assert len(rows) > 1
    assert (one.statements[0].probability or 1.0) < 0.1
    assert (both.statements[0].probability or 0.0) > 0.9


def test_batches_hold_inputs_of_like_lengths_within_their_budget() -> None:
    sizes = [50, 3, 40, 5, 200]

    found = list(batches(sizes, 100))

    assert sorted(place for batch in found for place in batch) == [0, 1, 2, 3, 4]
    assert found[0] == [1, 3], "the long one beside them would cost 120"
    assert all(len(b) == 1 or len(b) * max(sizes[p] for p in b) <= 100 for b in found)


@given(passage=st.text(max_size=150), room=st.integers(0, 40))
@settings(max_examples=25, deadline=None)
def test_no_input_is_longer_than_the_model_reads(passage: str, room: int) -> None:
    """However tokens fall where stretches meet."""
    facts = Facts(labels=("entailment",), longest=64 + room)
    form = format_of("nli", facts, DetectorOptions(model="m"))
    window = Window((BERT.plain(passage), "shop " * 30), (0, 1))

    encoding = fitted(form, BERT, window, "It covers parts.", "")

    claim = BERT.encode("", "It covers parts.").ids[2:]
    assert len(encoding.ids) <= 64 + room
    assert encoding.ids[-len(claim) :] == claim, "the statement is never cut"

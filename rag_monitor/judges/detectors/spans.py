"""Token labels of an answer: which words are not supported, and what that makes of statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rag_monitor.domain.judgement import JudgeRequest, Statement
from rag_monitor.judges.detectors.asking import (
    Conclusion,
    PreparedInput,
    Support,
    fitted,
    question_of,
    room,
    unsupported_tokens,
)
from rag_monitor.judges.detectors.formats import Format
from rag_monitor.judges.detectors.runner import Numbers
from rag_monitor.judges.detectors.texts import Texts, nearest, share_of, windows_of
from rag_monitor.judges.hardening import clean

_UNSUPPORTED: Final = 0.5
_SHOWN: Final = 3
"""Spans of a statement that its reason quotes."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an answer."""

    start: int
    end: int
    unsupported: float
    """Probability, 0 to 1."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of the answer with the inputs that are about it, one a window."""

    start: int
    rows: tuple[int, ...]


class SpanAsker:
    """The whole answer with every window of passages; a word is supported where one supports it.

    The authors of LettuceDetect take the *least* support of several windows. Then every fact that
    only one window holds would be called unsupported; here the best support counts.

    Args:
        form: How the model is asked.
        texts: Its tokenizer.
        max_windows: Of one answer.
    """

    def __init__(self, form: Format, texts: Texts, max_windows: int) -> None:
        self._form = form
        self._texts = texts
        self._max_windows = max_windows

    def ask(self, request: JudgeRequest, statements: Sequence[Statement]) -> PreparedInput:
        """The inputs for one trace. A long answer is read in stretches."""
        form, texts = self._form, self._texts
        answer = texts.plain(request.answer)
        question = question_of(request, form, texts)
        stretches = [
            (start, answer[start:end])
            for start, end, _ in texts.stretches(answer, form.max_tokens // 2)
        ]
        longest = max((text for _, text in stretches), key=texts.count)
        passages = [texts.plain(clean(text)) for text in request.contexts or ()]
        windows = windows_of(passages, texts, room(form, texts, longest, question))
        read = nearest(windows, request.answer, self._max_windows)
        encodings: list[Any] = []
        pieces = []
        for start, text in stretches:
            first = len(encodings)
            encodings += [fitted(form, texts, windows[number], text, question) for number in read]
            pieces.append(_Piece(start, tuple(range(first, len(encodings)))))

        def conclude(numbers: Sequence[Numbers]) -> Conclusion:
            tokens = [
                token
                for piece in pieces
                for token in _tokens(
                    piece, [(encodings[row], numbers[row]) for row in piece.rows], form
                )
            ]
            supports = tuple(support_of(s, tokens, request.answer) for s in statements)
            everything = Statement(text=request.answer, start=0, end=len(request.answer))
            whole = support_of(everything, tokens, request.answer) if form.whole else None
            return Conclusion(statements=supports, whole=whole)

        return PreparedInput(encodings, conclude, share_of(windows, read))


def support_of(statement: Statement, tokens: Sequence[Token], answer: str) -> Support:
    """A statement is as well supported as its least supported word."""
    own = [t for t in tokens if t.start < statement.end and t.end > statement.start]
    if not own:
        return Support(probability=None)
    worst = max(token.unsupported for token in own)
    quotes = [f"“{answer[start:end].strip()}”" for start, end in spans_of(own)]
    return Support(probability=1.0 - worst, reason=" ".join(quotes[:_SHOWN]) or None)


def spans_of(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Stretches of neighbouring tokens that are not supported: start and end in the answer."""
    spans: list[tuple[int, int]] = []
    open_now = False
    for token in tokens:
        if token.unsupported < _UNSUPPORTED:
            open_now = False
        elif open_now:
            spans[-1] = (spans[-1][0], token.end)
        else:
            spans.append((token.start, token.end))
            open_now = True
    return spans


def _tokens(piece: _Piece, read: Sequence[tuple[Any, Numbers]], form: Format) -> list[Token]:
    """The tokens of a stretch with the best support of all windows."""
    best: NDArray[np.float64] | None = None
    places: list[tuple[int, int]] = []
    for encoding, numbers in read:
        own = [n for n, sequence in enumerate(encoding.sequence_ids) if sequence == 1]
        values = unsupported_tokens(numbers, form)[own]
        places = [encoding.offsets[n] for n in own]
        best = values if best is None else np.minimum(best, values)
    return [
        Token(piece.start + start, piece.start + end, float(value))
        for (start, end), value in zip(places, [] if best is None else best, strict=True)
        if end > start
    ]

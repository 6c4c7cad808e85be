"""One trace as inputs of a detector, and its outputs as what they say of each statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from rag_monitor.domain.judgement import Aspect, JudgeRequest, Statement
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.detectors.formats import Format, Reads
from rag_monitor.judges.detectors.runner import Numbers
from rag_monitor.judges.detectors.texts import Texts, Window, nearest, share_of, windows_of
from rag_monitor.judges.hardening import clean
from rag_monitor.judges.parsing import verdict_of

_QUESTION_SHARE: Final = 8
_SHORTEST_WINDOW: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What a detector says of one statement."""

    probability: float | None
    """None: it said nothing that counts."""
    evidence: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What a detector says of one trace."""

    statements: tuple[Support, ...]
    whole: Support | None = None
    """Of the answer as one statement; None where it was not asked so."""


@dataclass(frozen=True, slots=True)
class PreparedInput:
    """One trace, ready to be run."""

    encodings: list[Any]
    conclude: Callable[[Sequence[Numbers]], Conclusion]
    """From the numbers of each encoding, in order."""
    coverage: float = 1.0
    """Share of passages and answer that is read."""


class Asker(Protocol):
    """Makes inputs of traces."""

    def ask(self, request: JudgeRequest, statements: Sequence[Statement]) -> PreparedInput:
        """The inputs for one trace that has passages and an answer."""
        ...


@dataclass(slots=True)
class _Claim:
    """A statement, or the whole answer, and the inputs that are about it."""

    text: str
    rows: list[tuple[int, Window]] = field(default_factory=list)


class PairAsker:
    """Every statement with every window of passages; the window that supports it best decides.

    Args:
        form: How the model is asked.
        texts: Its tokenizer.
        max_windows: Of one statement.
    """

    def __init__(self, form: Format, texts: Texts, max_windows: int) -> None:
        self._form = form
        self._texts = texts
        self._max_windows = max_windows

    def ask(self, request: JudgeRequest, statements: Sequence[Statement]) -> PreparedInput:
        """The inputs for one trace that has passages and an answer.

        The answer as a whole is read only where all passages share one window: of several none
        could support an answer that draws on two of them.
        """
        form, texts = self._form, self._texts
        question = question_of(request, form, texts)
        passages = [texts.plain(clean(text)) for text in request.contexts or ()]
        plain_texts = [texts.plain(clean(statement.text)) for statement in statements]
        claims = [_Claim(texts.cut(text, form.max_tokens // 2)) for text in plain_texts]
        longest = max((claim.text for claim in claims), key=texts.count, default="")
        windows = windows_of(passages, texts, room(form, texts, longest, question))
        lost = 1 - sum(len(claim.text) for claim in claims) / max(1, sum(map(len, plain_texts)))
        whole = texts.plain(clean(request.answer))
        read_whole = form.whole and len(windows) == 1 and self._fits(windows[0], whole, question)
        if read_whole and Aspect.SUPPORT not in request.aspects:
            claims, lost = [], 0.0
        count = len(claims)
        claims += [_Claim(whole)] * read_whole
        encodings: list[Any] = []
        read: set[int] = set()
        for claim in claims:
            for number in nearest(windows, claim.text, self._max_windows):
                claim.rows.append((len(encodings), windows[number]))
                encodings.append(fitted(form, texts, windows[number], claim.text, question))
                read.add(number)

        def conclude(numbers: Sequence[Numbers]) -> Conclusion:
            supports = [self._best(claim, numbers) for claim in claims]
            return Conclusion(
                statements=tuple(supports[:count]), whole=supports[count] if read_whole else None
            )

        return PreparedInput(encodings, conclude, share_of(windows, read) * (1.0 - lost))

    def _fits(self, window: Window, claim: str, question: str) -> bool:
        laid = self._form.lay_out(window.passages, claim, question)
        return len(self._texts.encode(*laid).ids) <= self._form.max_tokens

    def _best(self, claim: _Claim, numbers: Sequence[Numbers]) -> Support:
        scores = [(score_of(numbers[row], self._form), window) for row, window in claim.rows]
        given = [(s.supported, w) for s, w in scores if s.supported is not None]
        if not given:
            return Support(probability=None)
        best, window = max(given, key=lambda pair: pair[0])
        against = best < 0.5 and any(score.contradicted for score, _ in scores)
        return Support(
            probability=best,
            evidence=_contrary(scores).evidence(claim.text)
            if against
            else window.evidence(claim.text),
            reason=CONTRADICTION if against else None,
        )


def question_of(request: JudgeRequest, form: Format, texts: Texts) -> str:
    """The question as a layout takes it; a long one leaves room for the rest."""
    return texts.cut(texts.plain(clean(request.question)), form.max_tokens // _QUESTION_SHARE)


def room(form: Format, texts: Texts, claim: str, question: str) -> int:
    """Tokens that are left for passages beside a statement and the instructions."""
    taken = len(texts.encode(*form.lay_out([""], claim, question)).ids)
    return max(_SHORTEST_WINDOW, min(form.window_tokens, form.max_tokens - taken))


def fitted(form: Format, texts: Texts, window: Window, claim: str, question: str) -> Any:
    """The input of one window; in the rare case that it is too long, its end is left out."""
    passages = list(window.passages)
    while True:
        encoding = texts.encode(*form.lay_out(passages, claim, question))
        over = len(encoding.ids) - form.max_tokens
        last = passages[-1] if passages else ""
        if over <= 0 or not last:
            return encoding
        kept = texts.cut(last, max(1, texts.count(last) - over))
        passages[-1] = kept if len(kept) < len(last) else last[:-1]
        if not passages[-1]:
            passages.pop()


def _contrary(scores: Sequence[tuple[Score, Window]]) -> Window:
    """The first window that contradicts."""
    return next(window for score, window in scores if score.contradicted)


CONTRADICTION: Final = "contradiction"


@dataclass(frozen=True, slots=True)
class Score:
    """What one input says of a statement."""

    supported: float | None
    """0 to 1; None: the model said neither yes nor no."""
    contradicted: bool = False
    """The model takes it for the opposite of what the passages say."""


def score_of(numbers: Numbers, form: Format) -> Score:
    """The score of one input of any format but `TOKENS`.

    Raises:
        ConfigurationError: The model has fewer classes than its format reads.
    """
    if form.reads is Reads.WORDS:
        ungrounded, grounded = map(float, numbers)  # it is asked whether the risk is there
        return Score(verdict_of(yes=grounded, no=ungrounded).probability)
    shares = _shares(numbers, form)
    supported = float(shares[form.supported])
    against = form.contradiction
    contradicted = against is not None and int(shares.argmax()) == against
    return Score(supported, contradicted)


def unsupported_tokens(numbers: Numbers, form: Format) -> NDArray[np.float64]:
    """Per token of an input the probability that it is not supported.

    Raises:
        ConfigurationError: The model has fewer classes than its format reads.
    """
    return np.asarray(_shares(numbers, form)[:, form.supported])


def _shares(numbers: Numbers, form: Format) -> NDArray[np.float64]:
    """The share of each class; a single output is the log-odds of "supported"."""
    logits = numbers.astype(np.float64)
    if logits.shape[-1] == 1 and form.reads is Reads.CLASSES:
        return np.asarray(1.0 / (1.0 + np.exp(-logits)))
    if form.supported >= logits.shape[-1]:
        raise ConfigurationError(
            "the detector gives {count} numbers where {form} has at least {least}; see "
            "judges.detector.format",
            count=logits.shape[-1],
            form=form.name,
            least=form.supported + 1,
        )
    parts = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(parts / parts.sum(-1, keepdims=True))

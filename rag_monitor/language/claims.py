"""Statements of an answer: the sentences that assert something, with their place in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.language import answers
from rag_monitor.language.citations import is_citation
from rag_monitor.language.normalise import fold
from rag_monitor.language.references import without_citations
from rag_monitor.language.refusals import is_refusal
from rag_monitor.language.replies import is_bare_reply
from rag_monitor.language.sentences import Span, split_sentences

_HAN_COMMA: Final = re.compile(r"[，,]")
_HAN_VERB: Final = re.compile(
    r"[是有为在能会可应将被把使让称表示达到超过位于成立发布举行获得包括需要\d]"
)
_LONG_HAN: Final = 40
_MIN_HALF: Final = 8


@dataclass(frozen=True, slots=True)
class AnswerParts:
    """An answer taken apart."""

    claims: tuple[Span, ...]
    """What it asserts."""
    refusals: tuple[Span, ...]
    """Sentences that decline or say that the sources are silent."""
    others: tuple[Span, ...]
    """Greetings, questions, lead-ins and bare citations."""

    @property
    def declines(self) -> bool:
        """Whether the answer as a whole declines: it refuses and asserts next to nothing.

        Where else the answer may be found is no part of one.
        """
        if not self.refusals:
            return False
        claims = [claim for claim in self.claims if not answers.is_referral(fold(claim.text))]
        if not claims:
            return True
        opens = self.refusals[0].start < claims[0].start
        claimed = sum(len(claim.text) for claim in claims)
        refused = sum(len(refusal.text) for refusal in self.refusals)
        return opens and len(claims) == 1 and claimed < refused


def take_apart(answer: str) -> AnswerParts:
    """Sort the sentences of `answer` into claims, refusals and the rest.

    A lead-in ("Here are the steps:") is left out only when something follows it. What sentences
    cite is no part of their texts, which may so be shorter than the places they stand at.
    """
    bare = without_citations(answer)
    parts = _take_apart(bare)
    return parts if bare is answer else _tidied(parts)


def _take_apart(answer: str) -> AnswerParts:
    claims: list[Span] = []
    refusals: list[Span] = []
    others: list[Span] = []
    replies: list[Span] = []
    sentences = split_sentences(answer)
    for number, span in enumerate(sentences):
        folded = fold(span.text)
        if is_bare_reply(folded):
            replies.append(span)
        elif is_refusal(folded):
            refusals.append(span)
        elif (
            answers.is_question(span.text)
            or is_citation(folded)
            or answers.is_courtesy(folded)
            or answers.is_about_sources(folded)
            or answers.is_heading(span.text)
            or _heads_table(sentences, number)
            or (
                answers.is_lead_in(span.text)
                and (number + 1 < len(sentences) or len(folded.split()) <= 3)
            )
        ):
            others.append(span)
        else:
            claims.extend(_clauses(span, folded))
    # Alone a yes is the answer; before others it says what they say.
    (others if claims else claims).extend(replies)
    return AnswerParts(tuple(claims), tuple(refusals), tuple(others))


_HOLE: Final = re.compile(r"[ \t]{2,}|[ \t]+(?=[.,;:!?。，；：！？、)）])")


def _tidied(parts: AnswerParts) -> AnswerParts:
    """The same without the blanks that citations left."""
    return AnswerParts(
        *(tuple(map(_tidy, spans)) for spans in (parts.claims, parts.refusals, parts.others))
    )


def _tidy(span: Span) -> Span:
    return span._replace(text=_HOLE.sub(_closed, span.text))


def _closed(hole: re.Match[str]) -> str:
    following = hole.string[hole.end() : hole.end() + 1]
    return "" if following in ".,;:!?。，；：！？、)）" or not following.isascii() else " "


def _heads_table(sentences: Sequence[Span], number: int) -> bool:
    """Whether a sentence is the first row of a table, which names its columns."""
    if not answers.is_row(sentences[number].text):
        return False
    if number and answers.is_row(sentences[number - 1].text):
        return False
    return number + 1 < len(sentences) and answers.is_row(sentences[number + 1].text)


def _clauses(span: Span, folded: str) -> list[Span]:
    """Long Chinese sentences cut at commas whose both sides say something."""
    text = span.text
    if len(text) <= _LONG_HAN or text.isascii() or folded.count(" ") > len(text) // 8:
        return [span]
    pieces: list[Span] = []
    start = 0
    for match in _HAN_COMMA.finditer(text):
        stop, after = match.span()
        if (
            stop - start >= _MIN_HALF
            and len(text) - after >= _MIN_HALF
            and _HAN_VERB.search(text, start, stop)
            and _HAN_VERB.search(text, after)
            and not text[after].isdigit()
        ):
            pieces.append(_piece(span, start, stop))
            start = after
    pieces.append(_piece(span, start, len(text)))
    return pieces


def _piece(span: Span, start: int, end: int) -> Span:
    text = span.text[start:end]
    stripped = text.strip()
    lead = len(text) - len(text.lstrip())
    first = span.start + start + lead
    return Span(stripped, first, first + len(stripped))

"""From rows and an expensive judge's verdicts to lessons for the embedded judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Statement
from rag_monitor.evaluation.request import build_request
from rag_monitor.judges.embedded.distil import Lesson
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.features import look_up_all
from rag_monitor.judges.embedded.packing import reading
from rag_monitor.judges.judge import Judge
from rag_monitor.language.claims import take_apart
from rag_monitor.language.sentences import Span
from rag_monitor.offline.labelled import LabelledRow
from rag_monitor.offline.refusals import StoppingJudge

if TYPE_CHECKING:
    from rag_monitor.judges.embedded.encoder import Encoder, EncoderLogits

_ASPECTS: Final = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})
_BATCH: Final = 16


async def gather_lessons(
    rows: Sequence[LabelledRow],
    teacher: Judge,
    encoder: Encoder | None = None,
    done: Callable[[int], object] = lambda _: None,
) -> list[Lesson]:
    """Ask the teacher about every answer, statement by statement as the student cuts them.

    Rows that state nothing, whose passages are unknown, or that the teacher could not judge give no
    lesson.

    Args:
        rows: Their labels are not looked at.
        teacher: Asked with `judge_many`, a few rows at a time.
        encoder: The student's, if it is to have one.
        done: Told the number of rows after each batch.

    Raises:
        EverythingRefused: The teacher's server does so; nobody was asked after that was clear.
    """
    asking = StoppingJudge(teacher)
    lessons: list[Lesson] = []
    waiting = iter(rows)
    while batch := list(islice(waiting, _BATCH)):
        pairs = [
            (row, request) for row in batch if (request := _request(row)) and request.statements
        ]
        answers = await asking.judge_many([request for _, request in pairs])
        for (row, request), answer in zip(pairs, answers, strict=True):
            if isinstance(answer, Judgement):
                lesson = _lesson(row.group, request, answer, encoder)
                if lesson is not None:
                    lessons.append(lesson)
        done(len(batch))
    asking.check()
    return lessons


def _request(row: LabelledRow) -> JudgeRequest | None:
    trace = row.row.trace
    if trace is None or not trace.answer or trace.contexts is None:
        return None
    claims = take_apart(trace.answer).claims
    statements = tuple(Statement(text=c.text, start=c.start, end=c.end) for c in claims)
    return replace(build_request(trace, _ASPECTS), statements=statements)


def _lesson(
    group: str, request: JudgeRequest, answer: Judgement, encoder: Encoder | None
) -> Lesson | None:
    whole = answer.of(Aspect.ANSWER_SUPPORTED)
    if not whole or request.statements is None:
        return None
    evidence = EvidenceIndex.build(request.contexts or (), request.question)
    spans = [Span(s.text, s.start, s.end) for s in request.statements]
    claims = look_up_all(spans, evidence)
    by_index = {verdict.index: verdict.probability for verdict in answer.of(Aspect.SUPPORT)}
    read: list[EncoderLogits | None] = [None] * len(claims)
    if encoder is not None:
        readable = [n for n, claim in enumerate(claims) if claim.passage is not None]
        logits = encoder.logits([reading(claims[n].segment, evidence) for n in readable])
        for number, doubt in zip(readable, logits, strict=True):
            read[number] = doubt
    return Lesson(
        group=group,
        text=request.answer,
        claims=claims,
        read=read,
        taught=[by_index.get(number) for number in range(len(claims))],
        answer=whole[0].probability,
        holds=whole[0].probability >= answer.threshold,
    )

"""From settled claims to verdicts: on the answer, its statements, the passages, the key points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rag_monitor.domain.judgement import Aspect, JudgeRequest, Verdict
from rag_monitor.judges.calibration import Calibration
from rag_monitor.judges.embedded import addressed, passages
from rag_monitor.judges.embedded.case import Case
from rag_monitor.judges.embedded.grade import grade, noncommittal, rests_on_passages
from rag_monitor.judges.embedded.model import ClaimVerdict, Model
from rag_monitor.language.claims import take_apart
from rag_monitor.language.foreign import foreign
from rag_monitor.language.normalise import fold

FOREIGN: Final = "languages_differ"
"""Why what is in another language than the passages is not judged by them."""
_HOPELESS: Final = 6.0
"""Log-odds of doubt of a statement when nothing was recalled."""
_PASSAGE_ASPECTS: Final = (Aspect.RELEVANCE, Aspect.USEFULNESS, Aspect.USE)


def settle_case(case: Case, model: Model, calibration: Calibration | None) -> None:
    """Add every verdict that was asked for, or why it is missing."""
    _support(case, model, calibration)
    _passages(case)
    _coverage(case)
    _manner(case)


def threshold(
    case: Case, model: Model, calibration: Calibration | None, chosen: float | None
) -> float:
    """`answer_supported` below this is flagged: what was `chosen`, else what was learnt."""
    if chosen is not None:
        return chosen
    if calibration is not None:
        return calibration.threshold
    return model.weights(case.opened.answer).threshold


def suspicion(case: Case) -> str | None:
    """Why the answer or a passage is suspect: it talks to the judge."""
    noticed = any(passage.suspect for passage in case.evidence.passages) or any(
        claim.piece.addressed for claim in case.claims
    )
    return addressed.REASON if noticed else None


def _support(case: Case, model: Model, calibration: Calibration | None) -> None:
    asked = [a for a in (Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED) if case.asks(a)]
    if case.unsupported:
        case.missing.update(dict.fromkeys(asked, case.unsupported))
        return
    empty = not any(passage.sentences for passage in case.evidence.passages)
    case.settled = [
        ClaimVerdict(_HOPELESS, _HOPELESS, 0.0, "no_contexts", hopeless=1.0)
        if empty
        else model.claim(claim, case.read.get(number, 0.0))
        for number, claim in enumerate(case.claims)
    ]
    for index, (claim, verdict) in enumerate(zip(case.claims, case.settled, strict=True)):
        case.verdicts.append(
            Verdict(
                aspect=Aspect.SUPPORT,
                probability=verdict.probability,
                raw=-verdict.doubt,
                index=index,
                text=claim.span.text,
                start=claim.span.start,
                end=claim.span.end,
                evidence=claim.passage,
                reason=verdict.reason,
            )
        )
    probability, raw = model.answer(case.settled, case.opened.answer)
    if calibration is not None:
        probability = calibration.apply(probability)
    worst = min(range(len(case.claims)), key=lambda i: case.settled[i].probability)
    case.verdicts.append(
        Verdict(
            aspect=Aspect.ANSWER_SUPPORTED,
            probability=0.0 if empty else probability,
            raw=-raw,
            text=case.claims[worst].span.text,
            start=case.claims[worst].span.start,
            end=case.claims[worst].span.end,
            evidence=case.claims[worst].passage,
            reason=case.settled[worst].reason,
        )
    )


def _passages(case: Case) -> None:
    asked = [aspect for aspect in _PASSAGE_ASPECTS if case.asks(aspect)]
    if not asked:
        return
    if case.opened.contexts is None:
        case.missing.update(dict.fromkeys(asked, "contexts_unknown"))
        return
    relevant = case.relevance()
    found = _of_passages(case, [probability for probability, _ in relevant])
    case.missing.update((aspect, FOREIGN) for aspect in asked if aspect not in found)
    for aspect, values in found.items():
        for index, value in enumerate(values):
            case.verdicts.append(
                Verdict(
                    aspect=aspect,
                    probability=value,
                    raw=value,
                    index=index,
                    evidence=index,
                    reason=relevant[index][1] if aspect is Aspect.RELEVANCE else None,
                )
            )


def _of_passages(case: Case, on_subject: list[float]) -> Mapping[Aspect, list[float]]:
    """Per aspect the probability of each passage, where languages let it be told."""
    asked_abroad = case.foreign([fold(case.request.passage_query)])
    found = {} if asked_abroad else {Aspect.RELEVANCE: on_subject}
    if case.unsupported != FOREIGN:
        supported = [verdict.probability for verdict in case.settled]
        used = passages.use(case.evidence, case.claims, supported)
        found[Aspect.USEFULNESS] = passages.usefulness(
            case.evidence, case.claims, supported, used if asked_abroad else on_subject, used
        )
        found[Aspect.USE] = used
    return found


def _coverage(case: Case) -> None:
    if not case.asks(Aspect.COVERAGE):
        return
    if case.opened.contexts is None:
        case.missing[Aspect.COVERAGE] = "contexts_unknown"
        return
    points = _key_points(case.request)
    if not points:
        case.missing[Aspect.COVERAGE] = "no_key_points"
    elif case.foreign([fold(text) for text, _ in points]):
        case.missing[Aspect.COVERAGE] = FOREIGN
        return
    for index, (text, source) in enumerate(points):
        probability, where = passages.coverage(text, case.evidence)
        case.verdicts.append(
            Verdict(
                aspect=Aspect.COVERAGE,
                probability=probability,
                raw=probability,
                index=index,
                text=text,
                evidence=where,
                reason=source,
            )
        )


def _manner(case: Case) -> None:
    opened = case.opened
    if case.asks(Aspect.NONCOMMITTAL):
        value = noncommittal(opened.answer, opened.parts)
        case.verdicts.append(Verdict(aspect=Aspect.NONCOMMITTAL, probability=value, raw=value))
    if not case.asks(Aspect.GRADE):
        return
    if not opened.answer.strip():
        case.missing[Aspect.GRADE] = "empty_answer"
        return
    if not opened.parts.declines and _beyond_grading(case):
        case.missing[Aspect.GRADE] = FOREIGN
        return
    supported = [verdict.probability for verdict in case.settled]
    value = grade(
        case.evidence,
        opened.answer,
        opened.parts,
        lambda: passages.borne_out(case.evidence, case.claims, supported, case.relevance()),
    )
    case.verdicts.append(Verdict(aspect=Aspect.GRADE, probability=value, raw=value))


def _beyond_grading(case: Case) -> bool:
    """Whether a language keeps an answer from being held against its question."""
    answer = case.opened.answer
    if foreign([fold(answer)], [case.evidence.question.folded]):
        return True
    return case.unsupported == FOREIGN and rests_on_passages(answer)


def _key_points(request: JudgeRequest) -> Sequence[tuple[str, str]]:
    """The labelled key points, else the statements of the first reference."""
    if request.key_points:
        return [(point.text, point.source.value) for point in request.key_points]
    if request.references:
        parts = take_apart(request.references[0])
        return [(claim.text, "reference") for claim in parts.claims]
    return []

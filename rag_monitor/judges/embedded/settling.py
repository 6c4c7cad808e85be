"""From settled claims to verdicts: on the answer, its statements, the passages, the key points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rag_monitor.domain.judgement import Aspect, JudgeRequest, Verdict
from rag_monitor.judges.calibration import Calibration
from rag_monitor.judges.embedded import addressed, passages
from rag_monitor.judges.embedded.case import Case
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.features import ClaimEvidence
from rag_monitor.judges.embedded.grade import Said, grade, noncommittal
from rag_monitor.judges.embedded.model import ClaimVerdict, Model, Read
from rag_monitor.judges.embedded.pieces import Piece
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


def settle_claim(
    claim: ClaimEvidence, evidence: Evidence, model: Model, read: Read | None
) -> ClaimVerdict:
    """How far a claim is supported by what it was looked up in."""
    if not evidence.sentences:
        return ClaimVerdict(_HOPELESS, 0.0, "no_contexts")
    return model.claim(claim, read)


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
    empty = not case.evidence.sentences
    case.settled = [
        settle_claim(claim, case.evidence, model, case.read.get(number))
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
        supported = _borne(case)
        used = passages.use(case.evidence, case.claims, supported)
        found[Aspect.USEFULNESS] = passages.usefulness(
            case.evidence, case.claims, supported, used if asked_abroad else on_subject, used
        )
        found[Aspect.USE] = used
    return found


def _borne(case: Case) -> list[float]:
    """How far each statement is borne out, 1 from even evidence on."""
    return [min(1.0, 2 * verdict.probability) for verdict in case.settled]


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
    if not case.asks(Aspect.NONCOMMITTAL, Aspect.GRADE):
        return
    manner = noncommittal(opened.answer, opened.parts)
    if case.asks(Aspect.NONCOMMITTAL):
        case.verdicts.append(Verdict(aspect=Aspect.NONCOMMITTAL, probability=manner, raw=manner))
    if not case.asks(Aspect.GRADE):
        return
    question = case.evidence.question
    if not opened.answer.strip():
        case.missing[Aspect.GRADE] = "empty_answer"
    elif not opened.parts.declines and foreign([fold(opened.answer)], [question.folded]):
        case.missing[Aspect.GRADE] = FOREIGN
    else:
        said = _said(case)
        value = grade(question, said, opened.parts, manner)
        case.verdicts.append(Verdict(aspect=Aspect.GRADE, probability=value, raw=value))


def _said(case: Case) -> list[Said]:
    """The statements of the answer, with what is known of them already."""
    spans = case.opened.parts.claims
    if case.request.statements is not None or not case.claims:
        return [Said(Piece(span.text)) for span in spans]
    return [
        Said(_unopened(claim.piece, span.text), claim.covered)
        for span, claim in zip(spans, case.claims, strict=True)
    ]


def _unopened(piece: Piece, text: str) -> Piece:
    """A statement as looked up, unless that left out what it opens with, such as a yes."""
    folded = fold(text)
    return piece if piece.folded == folded else Piece(text, folded)


def _key_points(request: JudgeRequest) -> Sequence[tuple[str, str]]:
    """The labelled key points, else the statements of the first reference."""
    if request.key_points:
        return [(point.text, point.source.value) for point in request.key_points]
    if request.references:
        parts = take_apart(request.references[0])
        return [(claim.text, "reference") for claim in parts.claims]
    return []

"""From judged claims to verdicts: on the answer, its statements, the passages, the key points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rag_monitor.domain.judgement import Aspect, JudgeRequest, Verdict
from rag_monitor.judges import prompt_injection
from rag_monitor.judges.calibration import Calibration
from rag_monitor.judges.embedded import passage_verdicts
from rag_monitor.judges.embedded.answer_in_context import answer_features_in_context
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.features import ClaimEvidence
from rag_monitor.judges.embedded.grade import (
    AnswerStatement,
    answer_features,
    grade,
    noncommittal,
)
from rag_monitor.judges.embedded.judging import Judging
from rag_monitor.judges.embedded.model import ClaimVerdict, EncoderLogits, Model
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.judges.embedded.sufficiency import sufficiency
from rag_monitor.language.claims import take_apart
from rag_monitor.language.language_mismatch import languages_differ
from rag_monitor.language.normalise import fold

LANGUAGES_DIFFER: Final = "languages_differ"
"""Why what is in another language than the passages is not judged by them."""
_LOGIT_NO_CONTEXTS: Final = 6.0
"""Log-odds of doubt of a statement when nothing was recalled."""
_PASSAGE_ASPECTS: Final = (Aspect.RELEVANCE, Aspect.USEFULNESS, Aspect.USE)


def build_verdicts(judging: Judging, model: Model, calibration: Calibration | None) -> None:
    """Add every verdict that was asked for, or why it is missing."""
    _support(judging, model, calibration)
    _passages(judging)
    _sufficiency(judging)
    _coverage(judging)
    _answer_quality(judging)


def claim_verdict(
    claim: ClaimEvidence, evidence: EvidenceIndex, model: Model, read: EncoderLogits | None
) -> ClaimVerdict:
    """How far a claim is supported by what it was looked up in."""
    if not evidence.sentences:
        return ClaimVerdict(_LOGIT_NO_CONTEXTS, 0.0, "no_contexts")
    return model.claim(claim, read)


def threshold(
    judging: Judging, model: Model, calibration: Calibration | None, chosen: float | None
) -> float:
    """`answer_supported` below this is flagged: what was `chosen`, else what was learnt."""
    if chosen is not None:
        return chosen
    if calibration is not None:
        return calibration.threshold
    return model.weights(judging.prepared.answer).threshold


def injection_reason(judging: Judging) -> str | None:
    """Why the answer or a passage is suspect: it talks to the judge."""
    noticed = any(passage.suspect for passage in judging.evidence.passages) or any(
        claim.segment.addressed for claim in judging.claims
    )
    return prompt_injection.REASON if noticed else None


def _support(judging: Judging, model: Model, calibration: Calibration | None) -> None:
    aspects = [a for a in (Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED) if judging.asks(a)]
    if judging.unsupported:
        judging.missing.update(dict.fromkeys(aspects, judging.unsupported))
        return
    empty = not judging.evidence.sentences
    judging.claim_verdicts = [
        claim_verdict(claim, judging.evidence, model, judging.read.get(number))
        for number, claim in enumerate(judging.claims)
    ]
    for index, (claim, verdict) in enumerate(
        zip(judging.claims, judging.claim_verdicts, strict=True)
    ):
        judging.verdicts.append(
            Verdict(
                aspect=Aspect.SUPPORT,
                probability=verdict.probability,
                raw=-verdict.logit_unsupported,
                index=index,
                text=claim.span.text,
                start=claim.span.start,
                end=claim.span.end,
                evidence=claim.passage,
                reason=verdict.reason,
            )
        )
    probability, raw = model.answer(judging.claim_verdicts, judging.prepared.answer)
    if calibration is not None:
        probability = calibration.apply(probability)
    worst = min(range(len(judging.claims)), key=lambda i: judging.claim_verdicts[i].probability)
    judging.verdicts.append(
        Verdict(
            aspect=Aspect.ANSWER_SUPPORTED,
            probability=0.0 if empty else probability,
            raw=-raw,
            text=judging.claims[worst].span.text,
            start=judging.claims[worst].span.start,
            end=judging.claims[worst].span.end,
            evidence=judging.claims[worst].passage,
            reason=judging.claim_verdicts[worst].reason,
        )
    )


def _passages(judging: Judging) -> None:
    aspects = [aspect for aspect in _PASSAGE_ASPECTS if judging.asks(aspect)]
    if not aspects:
        return
    if judging.prepared.contexts is None:
        judging.missing.update(dict.fromkeys(aspects, "contexts_unknown"))
        return
    relevant = judging.relevance()
    by_aspect = _of_passages(judging, [probability for probability, _ in relevant])
    judging.missing.update(
        (aspect, LANGUAGES_DIFFER) for aspect in aspects if aspect not in by_aspect
    )
    for aspect, values in by_aspect.items():
        for index, value in enumerate(values):
            judging.verdicts.append(
                Verdict(
                    aspect=aspect,
                    probability=value,
                    raw=value,
                    index=index,
                    evidence=index,
                    reason=relevant[index][1] if aspect is Aspect.RELEVANCE else None,
                )
            )


def _sufficiency(judging: Judging) -> None:
    if not judging.asks(Aspect.SUFFICIENCY):
        return
    query = judging.request.passage_query
    if judging.prepared.contexts is None:
        judging.missing[Aspect.SUFFICIENCY] = "contexts_unknown"
    elif judging.languages_differ([fold(query)]):
        judging.missing[Aspect.SUFFICIENCY] = LANGUAGES_DIFFER
    else:
        verdict = sufficiency(judging.evidence, query, judging.query_context, judging.reader)
        judging.verdicts.append(
            Verdict(
                aspect=Aspect.SUFFICIENCY,
                probability=verdict.probability,
                raw=verdict.probability,
                evidence=verdict.passage,
                reason=verdict.reason,
            )
        )


def _of_passages(judging: Judging, on_subject: list[float]) -> Mapping[Aspect, list[float]]:
    """Per aspect the probability of each passage, where languages let it be told."""
    asked_abroad = judging.languages_differ([fold(judging.request.passage_query)])
    by_aspect = {} if asked_abroad else {Aspect.RELEVANCE: on_subject}
    if judging.unsupported != LANGUAGES_DIFFER:
        supported = _support_shares(judging)
        used = passage_verdicts.use(judging.evidence, judging.claims, supported)
        by_aspect[Aspect.USEFULNESS] = passage_verdicts.usefulness(
            judging.evidence, judging.claims, supported, used if asked_abroad else on_subject, used
        )
        by_aspect[Aspect.USE] = used
    return by_aspect


def _support_shares(judging: Judging) -> list[float]:
    """How far each statement is borne out, 1 from even evidence on."""
    return [min(1.0, 2 * verdict.probability) for verdict in judging.claim_verdicts]


def _coverage(judging: Judging) -> None:
    if not judging.asks(Aspect.COVERAGE):
        return
    if judging.prepared.contexts is None:
        judging.missing[Aspect.COVERAGE] = "contexts_unknown"
        return
    points = _key_points(judging.request)
    if not points:
        judging.missing[Aspect.COVERAGE] = "no_key_points"
    elif judging.languages_differ([fold(text) for text, _ in points]):
        judging.missing[Aspect.COVERAGE] = LANGUAGES_DIFFER
        return
    for index, (text, source) in enumerate(points):
        probability, where = passage_verdicts.coverage(text, judging.evidence)
        judging.verdicts.append(
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


def _answer_quality(judging: Judging) -> None:
    prepared = judging.prepared
    if not judging.asks(Aspect.NONCOMMITTAL, Aspect.GRADE):
        return
    manner = noncommittal(prepared.answer, prepared.parts)
    if judging.asks(Aspect.NONCOMMITTAL):
        judging.verdicts.append(Verdict(aspect=Aspect.NONCOMMITTAL, probability=manner, raw=manner))
    if not judging.asks(Aspect.GRADE):
        return
    question = judging.evidence.question
    if not prepared.answer.strip():
        judging.missing[Aspect.GRADE] = "empty_answer"
    elif not prepared.parts.declines and languages_differ(
        [fold(prepared.answer)], [question.folded]
    ):
        judging.missing[Aspect.GRADE] = LANGUAGES_DIFFER
    else:
        value = grade(
            question,
            _statements(judging),
            prepared.parts,
            lambda statements: _answer_features(judging, statements, manner),
        )
        judging.verdicts.append(Verdict(aspect=Aspect.GRADE, probability=value, raw=value))


def _answer_features(
    judging: Judging, statements: Sequence[AnswerStatement], manner: float
) -> list[float]:
    question, context = judging.evidence.question, judging.context
    if context is None:
        return answer_features(question, statements, manner)
    return answer_features_in_context(question, statements, manner, context)


def _statements(judging: Judging) -> list[AnswerStatement]:
    """The statements of the answer, with what is known of them already."""
    spans = judging.prepared.parts.claims
    if judging.request.statements is not None or not judging.claims:
        return [AnswerStatement(Segment(span.text)) for span in spans]
    return [
        AnswerStatement(_whole_segment(claim.segment, span.text), claim.covered)
        for span, claim in zip(spans, judging.claims, strict=True)
    ]


def _whole_segment(segment: Segment, text: str) -> Segment:
    """A statement as looked up, unless that left out what it opens with, such as a yes."""
    folded = fold(text)
    return segment if segment.folded == folded else Segment(text, folded)


def _key_points(request: JudgeRequest) -> Sequence[tuple[str, str]]:
    """The labelled key points, else the statements of the first reference."""
    if request.key_points:
        return [(point.text, point.source.value) for point in request.key_points]
    if request.references:
        parts = take_apart(request.references[0])
        return [(claim.text, "reference") for claim in parts.claims]
    return []

"""What one trace adds to the counts of documents: of its documents, by what each judge said. Pure.

Several passages of one document count once: it is relevant where one of them is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Final

from rag_monitor.domain.document import (
    EFFECTIVE_NAMES,
    UPDATED_NAMES,
    VERSION_NAMES,
    DocumentConflict,
    DocumentInfo,
    DocumentKey,
    DocumentKind,
    DocumentUse,
    JudgedUses,
    TraceUses,
)
from rag_monitor.domain.fault import Diagnosis, Fault
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.judgement import Aspect
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import RetrievedDocument, Trace, passage_digest
from rag_monitor.evaluation.passage_ages import PassageAges
from rag_monitor.language.value_conflicts import value_conflicts

MAX_DOCUMENTS: Final = 200
"""Documents of one trace that are counted, those that reached the model first."""
MAX_CONFLICTS: Final = 20
"""Pairs of one trace that are counted."""
_LONGEST_NAME: Final = 200
_LONGEST_VALUE: Final = 200
_DIGITS_OF_DIGEST: Final = 32
_TITLE_NAMES: Final = ("title", "file_name", "filename", "name", "source")
_SHARE_OF: Final = {
    ("context_relevance", Aspect.RELEVANCE): "relevant",
    ("context_precision", Aspect.USEFULNESS): "useful",
    ("context_utilization", Aspect.USE): "used",
}
"""Which verdicts of which metric tell a share."""
METRICS: Final = tuple(metric for metric, _ in _SHARE_OF)


def uses_of(
    trace: Trace,
    scores: Sequence[Score],
    probabilities: Mapping[str, float],
    diagnoses: Iterable[Diagnosis],
) -> TraceUses:
    """What the trace is counted as.

    Args:
        trace: With its passages.
        scores: Current ones with their verdicts.
        probabilities: Of having been judged, by the name of the judge; 1 where none is given.
        diagnoses: What each judge's verdicts say was at fault.
    """
    base = _default_base(trace)
    uses: dict[DocumentKey, DocumentUse] = {}
    contexts = trace.contexts or ()
    for document in contexts:
        _add(uses, document_key(document, base), in_context=True)
    for retrieval in trace.retrievals:
        for document in retrieval.documents:
            key = document_key(document, retrieval.knowledge_base or base)
            _add(uses, key, rank=max(1, document.rank))
    if not trace.retrievals:  # what reached the model is all that is known of the retriever
        for rank, document in enumerate(contexts, start=1):
            _add(uses, document_key(document, base), rank=rank)
    documents = tuple(uses.values())[:MAX_DOCUMENTS]
    places = {use.key: place for place, use in enumerate(documents)}
    keys = [document_key(document, base) for document in contexts]
    return TraceUses(
        app=trace.app,
        day=trace.started_at.astimezone(UTC).date(),
        documents=documents,
        judges=_judged([places.get(key) for key in keys], scores, probabilities, diagnoses),
        conflicts=tuple(_conflicts(trace, keys))[:MAX_CONFLICTS],
    )


def infos_of(trace: Trace) -> dict[DocumentKey, DocumentInfo]:
    """What the trace says of its documents apart from counts."""
    base = _default_base(trace)
    infos: dict[DocumentKey, DocumentInfo] = {}
    listed = [(document, base) for document in trace.contexts or ()]
    listed += [
        (document, retrieval.knowledge_base or base)
        for retrieval in trace.retrievals
        for document in retrieval.documents
    ]
    for document, own in listed[: 2 * MAX_DOCUMENTS]:
        key = document_key(document, own)
        if key not in infos:
            infos[key] = replace(_info(document), last_seen=trace.started_at)
    return infos


def document_key(document: RetrievedDocument, knowledge_base: str) -> DocumentKey:
    """What a document is counted as.

    Args:
        document: A passage of it.
        knowledge_base: Where it comes from, if it does not say so itself.
    """
    base = document.knowledge_base or knowledge_base
    if document.id:
        return DocumentKey(base, DocumentKind.ID, inventory_id(document.id))
    digest = passage_digest(document.content or "")[:_DIGITS_OF_DIGEST]
    return DocumentKey(base, DocumentKind.PASSAGE, digest)


def inventory_id(id_: str) -> str:
    """An id as documents are counted by; of a long one the end is a digest of the whole."""
    if len(id_) <= _LONGEST_NAME:
        return id_
    return f"{id_[: _LONGEST_NAME - 17]}…{passage_digest(id_)[:16]}"


def _add(
    uses: dict[DocumentKey, DocumentUse],
    key: DocumentKey,
    *,
    rank: int | None = None,
    in_context: bool = False,
) -> None:
    use = uses.get(key)
    if use is None:
        uses[key] = DocumentUse(key=key, rank=rank, in_context=in_context)
        return
    best = rank if use.rank is None else use.rank if rank is None else min(rank, use.rank)
    uses[key] = replace(use, rank=best, in_context=in_context or use.in_context)


def _default_base(trace: Trace) -> str:
    """The knowledge base of a trace that names one; empty: none, or several."""
    names = {r.knowledge_base for r in trace.retrievals if r.knowledge_base}
    names = names or {hit.name for hit in trace.hits if hit.kind is HitKind.KNOWLEDGE_BASE}
    return next(iter(names)) if len(names) == 1 else ""


def _judged(
    places: Sequence[int | None],
    scores: Sequence[Score],
    probabilities: Mapping[str, float],
    diagnoses: Iterable[Diagnosis],
) -> dict[str, JudgedUses]:
    by_judge: dict[str, dict[str, dict[int, bool]]] = {}
    names: dict[str, str] = {}
    for score in scores:
        if score.judge is None or score.status is not ScoreStatus.SCORED:
            continue
        judge = str(score.judge)
        names[judge] = score.judge.name
        for verdict in score.verdicts:
            share = _SHARE_OF.get((score.metric, verdict.aspect))
            if share is None or verdict.index >= len(places):
                continue
            place = places[verdict.index]
            if place is not None:
                verdicts = by_judge.setdefault(judge, {}).setdefault(share, {})
                verdicts[place] = verdict.holds or verdicts.get(place, False)
    for diagnosis in diagnoses:
        names.setdefault(diagnosis.judge, diagnosis.judge.partition("/")[0])
        at_fault = diagnosis.fault is not Fault.NONE
        shares = by_judge.setdefault(diagnosis.judge, {})
        shares["at_fault"] = {place: at_fault for place in places if place is not None}
    return {
        judge: JudgedUses(weight=1 / probabilities.get(names[judge], 1.0), verdicts=shares)
        for judge, shares in by_judge.items()
        if any(shares.values())
    }


def _conflicts(trace: Trace, keys: Sequence[DocumentKey]) -> Iterable[DocumentConflict]:
    contexts = trace.contexts or ()
    texts = [document.content for document in contexts]
    if len(set(keys)) < 2 or any(text is None for text in texts):
        return
    ages = PassageAges(contexts)
    seen = set()
    passages = [text or "" for text in texts]
    for conflict in value_conflicts(trace.question or "", trace.answer or "", passages):
        used, other = keys[conflict.used], keys[conflict.other]
        if used == other or (used, other) in seen:
            continue
        seen.add((used, other))
        pair = ages.of(conflict.used, conflict.other)
        yield DocumentConflict(used, other, pair is not None and pair[0] < pair[1])


def _info(document: RetrievedDocument) -> DocumentInfo:
    metadata = document.metadata
    return DocumentInfo(
        title=_first(metadata, _TITLE_NAMES),
        updated_at=_first(metadata, UPDATED_NAMES),
        version=_first(metadata, VERSION_NAMES),
        effective_date=_first(metadata, EFFECTIVE_NAMES),
        passage=None if document.content is None else passage_digest(document.content),
    )


def _first(metadata: Mapping[str, object], names: Sequence[str]) -> str | None:
    for name in names:
        value = metadata.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value):
            return str(value).strip()[:_LONGEST_VALUE] or None
    return None

"""Counts of documents on each database: added once, replaced, erased, bounded."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, timedelta
from typing import Any

import pytest

from rag_monitor.aggregation.document_uses import infos_of, uses_of
from rag_monitor.domain.document import (
    DocumentConflict,
    DocumentCounts,
    DocumentKey,
    DocumentKind,
    TraceUses,
)
from rag_monitor.domain.fault import Diagnosis, Fault
from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Verdict
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import RetentionPolicy
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Trace
from rag_monitor.store import document_counts
from rag_monitor.store.document_tables import (
    document_conflicts,
    document_days,
    document_uses,
    documents,
)
from rag_monitor.store.documents import DocumentQuery
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import ingest

JUDGE = JudgeIdentity(name="llm", model="m", prompts="p", calibration="1")
TODAY = EPOCH.astimezone(UTC).date()
ALL = DocumentQuery(project="default", first=date(2000, 1, 1), last=date(2100, 1, 1))
OLD = DocumentKey("prices", DocumentKind.ID, "2023")
NEW = DocumentKey("prices", DocumentKind.ID, "2026")
TABLES = (document_days, documents, document_conflicts, document_uses)


def price_trace(name: str, *ids: str, **fields: Any) -> Trace:
    found = tuple(
        RetrievedDocument(
            id=id_, content=f"Price list {id_}", rank=rank, metadata={"updated_at": id_}
        )
        for rank, id_ in enumerate(ids, start=1)
    )
    retrieval = Retrieval(documents=found, knowledge_base="prices")
    trace = make_trace(id=name, app="shop", **fields)
    return replace(trace, contexts=found, retrievals=(retrieval,))


def counted(trace: Trace, useful: bool = True, fault: Fault = Fault.NONE) -> TraceUses:
    verdicts = tuple(
        Verdict(aspect=Aspect.USEFULNESS, probability=float(useful), index=index)
        for index in range(len(trace.contexts or ()))
    )
    score = Score(
        metric="context_precision", status=ScoreStatus.SCORED, judge=JUDGE, verdicts=verdicts
    )
    diagnosis = Diagnosis(judge=str(JUDGE), probabilities={fault: 1.0})
    uses = uses_of(trace, [score], {"llm": 0.25}, [diagnosis])
    if {"2023", "2026"} <= {use.key.document for use in uses.documents}:
        return replace(uses, conflicts=(DocumentConflict(OLD, NEW, outdated=True),))
    return uses


def save(store: Store, *traces: Trace, **fields: Any) -> int:
    return store.documents.save(
        {("default", t.trace_id): (counted(t, **fields), infos_of(t)) for t in traces}
    )


def by_document(store: Store, judge: str = "") -> dict[DocumentKey, DocumentCounts]:
    return {one.key: one for one in store.documents.counts(ALL) if one.judge == judge}


def rows_left(store: Store) -> dict[str, int]:
    with store._database.read() as connection:
        return {t.name: len(connection.execute(t.select()).all()) for t in TABLES}


def test_traces_add_up_and_a_new_judgement_replaces_the_old_one(store: Store) -> None:
    first, second = price_trace("1", "2023", "2026"), price_trace("2", "2026")
    ingest(store, first, second)

    assert save(store, first, second, fault=Fault.STALE_SOURCE) == 2
    assert save(store, first, second, fault=Fault.STALE_SOURCE) == 0

    counts = by_document(store)
    assert (counts[NEW].retrieved, counts[NEW].ranks, counts[NEW].in_context) == (2, 3, 2)
    assert (counts[OLD].retrieved, counts[OLD].ranks) == (1, 1)
    judged = by_document(store, str(JUDGE))[NEW].shares
    assert (judged["useful"].count, judged["useful"].value, judged["useful"].effective) == (2, 1, 2)
    assert judged["at_fault"].value == 1
    assert judged["at_fault"].weight == 8

    assert save(store, first, useful=False) == 1

    judged = by_document(store, str(JUDGE))[NEW].shares
    assert (judged["useful"].value, judged["at_fault"].value) == (0.5, 0.5)
    assert by_document(store)[NEW].retrieved == 2
    [pair] = store.documents.conflicts(ALL)
    assert (pair.used, pair.other, pair.traces, pair.outdated) == (OLD, NEW, 1, 1)
    assert store.documents.infos("default", [OLD])[OLD].updated_at == "2023"
    assert store.documents.knowledge_bases("default") == ["", "prices"]


def test_the_filters_choose_app_knowledge_base_days_and_project(store: Store) -> None:
    trace = price_trace("1", "2023")
    ingest(store, trace)
    save(store, trace)
    there = {OLD, DocumentKey("", DocumentKind.ALL, "")}

    def found(**fields: Any) -> set[DocumentKey]:
        return {one.key for one in store.documents.counts(replace(ALL, **fields))}

    assert found() == there
    assert found(app="shop", knowledge_base="prices", first=TODAY, last=TODAY) == there
    assert found(knowledge_base="manuals") == {DocumentKey("", DocumentKind.ALL, "")}
    assert found(app="bank") == found(first=TODAY + timedelta(days=1)) == set()
    assert found(last=TODAY - timedelta(days=1)) == found(project="other") == set()


def test_erasing_a_user_takes_their_traces_away_and_documents_that_nobody_else_was_given(
    store: Store,
) -> None:
    first = price_trace("1", "2023", "2026", user_id="u-1")
    second = price_trace("2", "2026", user_id="u-2")
    ingest(store, first, second)
    save(store, first, second)

    store.traces.erase_user("default", "u-1")

    assert by_document(store)[NEW].retrieved == 1
    assert OLD not in by_document(store)
    assert store.documents.conflicts(ALL) == []
    assert set(store.documents.infos("default", [OLD, NEW])) == {NEW}
    assert save(store, first) == 0, "what was erased meanwhile is not counted"

    store.traces.erase_user("default", "u-2")

    assert rows_left(store) == dict.fromkeys((t.name for t in TABLES), 0)


def test_retention_deletes_the_counts_of_old_days(store: Store) -> None:
    trace = price_trace("1", "2023", "2026")
    ingest(store, trace)
    save(store, trace)
    policy = RetentionPolicy(traces_days=7)

    store.retention.run(EPOCH + timedelta(days=6), policy)
    assert all(rows_left(store).values())
    store.retention.run(EPOCH + timedelta(days=9), policy)

    assert rows_left(store) == dict.fromkeys((t.name for t in TABLES), 0)


def test_an_app_that_keeps_its_traces_for_fewer_days_keeps_its_counts_as_long(
    store: Store,
) -> None:
    trace = price_trace("1", "2023")
    ingest(store, trace)
    save(store, trace)

    policy = RetentionPolicy(traces_days=30, apps={"shop": 2})
    store.retention.run(EPOCH + timedelta(days=5), policy)

    assert rows_left(store)["document_days"] == 0


def test_of_a_day_that_is_over_the_most_retrieved_documents_are_kept_apart(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_counts, "TOP", 2)
    monkeypatch.setattr(document_counts, "MOST", 3)
    traces = [
        price_trace(str(number), *ids)
        for number, ids in enumerate((("a", "b"), ("a", "c"), ("b", "d"), ("a", "e")))
    ]
    ingest(store, *traces)
    save(store, *traces)
    rest = DocumentKey("prices", DocumentKind.REST, "")

    def retrieved() -> dict[str, int]:
        return {
            one.key.document or one.key.kind.value: one.retrieved
            for one in by_document(store).values()
            if one.key.kind is not DocumentKind.ALL
        }

    assert len(retrieved()) == 4
    assert sum(retrieved().values()) == 8
    assert store.documents.fold() == 0

    clock.advance(timedelta(days=3))
    assert store.documents.fold() == 1
    assert store.documents.fold() == 0

    assert retrieved() == {"a": 3, "b": 2, "rest": 3}
    assert by_document(store, str(JUDGE))[rest].shares["useful"].count == 3
    late = price_trace("9", "a", "f")
    ingest(store, late, at=EPOCH)
    save(store, late)
    assert retrieved() == {"a": 4, "b": 2, "rest": 4}
    save(store, *traces, late, useful=False)
    assert retrieved() == {"a": 4, "b": 2, "rest": 4}
    assert by_document(store, str(JUDGE))[rest].shares["useful"].value == 0

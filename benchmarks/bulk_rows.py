"""Traces, scores and rollups in bulk, straight into the tables, for `queries.py` and `pages.py`.

Rollups come from the code that makes them in production; only the way into the tables is shorter:
indexes are built after the rows.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Interval,
    Table,
    create_engine,
    func,
    insert,
    literal,
    select,
    type_coerce,
)  # fmt: skip

from rag_monitor.aggregation.rollup import summarise
from rag_monitor.aggregation.totals import merged
from rag_monitor.domain.fault import Diagnosis, Fault
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.rollup import Rollup, TraceFacts
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Timings, Trace, TraceStatus
from rag_monitor.store import migration, partitions, rollup_tiers, trace_terms
from rag_monitor.store.engine import parse_url
from rag_monitor.store.fault_rows import dump_diagnosis
from rag_monitor.store.question_index import _token, pairs
from rag_monitor.store.rollup_rows import dump_rollup
from rag_monitor.store.store import Store
from rag_monitor.store.tables import faults, feedback, rollups, scores, trace_keys, traces
from rag_monitor.store.trace_rows import TRACE_COLUMNS, to_rows

APPS: Final = ("bank-faq", "loan-assistant", "手册助手")
RELEASES: Final = ("2026.1", "2026.2", "2026.3")
METRICS: Final = ("faithfulness", "context_precision", "refusal_rate")
FAULTS: Final = (Fault.NONE, Fault.INVENTED, Fault.KNOWLEDGE_GAP)
RARE: Final = "保函"
MIDDLE: Final = "挂失"
COMMON: Final = "贷款"
_JUDGE: Final = JudgeIdentity(name="embedded", model="benchmark")
_TOPICS: Final = (
    "首套房商业贷款的利率是多少",
    "公积金贷款可以提前还款吗",
    "贷款逾期会影响征信吗",
    "开通手机银行需要什么材料",
    "how long does a transfer abroad take",
    "what is the fee for an early repayment",
    "信用卡年费怎么减免",
)
_BATCH: Final = 5000
_BASE_S: Final = 29
"""Traces made by hand begin in the first half of a minute, so that copies stay in it."""
_TABLES: Final = (trace_keys, traces, scores, faults, feedback, rollups)
_REPEATED: Final = (trace_keys, traces, scores, faults, feedback)
_FULL_TEXT: Final = {"trace_search": "pairs", "trace_search_terms": "terms"}
"""Indexes of SQLite, and their column."""


def migrate(url: str, now: datetime, days: int) -> None:
    """Make the tables, and the partitions that would have been made ahead on each of those days."""
    migration.upgrade(url)
    if not url.startswith("postgresql"):
        return
    engine = create_engine(parse_url(url))
    with engine.begin() as connection:
        partitions.ensure(connection, (now - timedelta(days=days)).date(), days + 8)
    engine.dispose()


def generate(
    store: Store,
    count: int,
    days: int,
    end: datetime,
    seed: int = 7,
    apps: Sequence[str] = APPS,
) -> int:
    """Fill an empty store with about `count` traces of `apps` over the `days` before `end`.

    At most one trace of each app and minute is made by hand; the database repeats it as often as
    needed, some milliseconds later each time. Returns how many traces there are.
    """
    draw = random.Random(seed)
    minutes = days * 24 * 60
    first = end.replace(second=0, microsecond=0) - timedelta(minutes=minutes)
    base = min(count, minutes * len(apps))
    copies = max(1, round(count / base))
    bulk = _Bulk(store)
    for number in range(base):
        minute = first + timedelta(minutes=number * minutes // base)
        app = apps[number % len(apps)]
        fact = _fact(draw, number, app, minute + timedelta(seconds=draw.random() * _BASE_S))
        bulk.add(fact, number)
        bulk.add_rollups([fact], copies)
    bulk.flush()
    bulk.repeat(base, copies)
    bulk.finish()
    _fold(store, first, minutes, end, apps)
    bulk.analyse()
    return base * copies


def _fact(draw: random.Random, number: int, app: str, started_at: datetime) -> TraceFacts:
    question = f"{draw.choice(_TOPICS)} {number}"
    if number % 100 == 7:
        question = f"银行卡{MIDDLE} {question}"
    if number % 5000 == 11:
        question = f"{RARE}如何办理 {number}"
    trace = Trace(
        trace_id=f"{0:08x}{number:024x}",
        project="default",
        app=app,
        question=question,
        answer="According to the passage, five working days.",
        started_at=started_at,
        release=RELEASES[min(2, number % 40)],
        user_id=f"u-{number % 997}",
        status=TraceStatus.ERROR if number % 200 == 3 else TraceStatus.OK,
        timings=Timings(
            first_byte_ms=draw.gammavariate(2, 200),
            generation_ms=draw.gammavariate(2, 600),
            end_to_end_ms=draw.gammavariate(2, 900),
            retrieval_ms=draw.gammavariate(2, 30),
        ),
        environment="test" if number % 2000 == 13 else "production",
        session_id=f"s-{number // 4}" if number % 3 else None,
        tags=("web", "vip") if number % 1000 == 17 else ("web",),
        model="qwen-max" if number % 50 else "old-model",
        hits=(
            Hit(kind=HitKind.KNOWLEDGE_BASE, name="loans", ok=True, items=4),
            Hit(kind=HitKind.PLUGIN, name="maps", ok=number % 400 != 9, items=number % 7),
        ),
        retrievals=(
            Retrieval(
                knowledge_base="loans",
                documents=tuple(
                    RetrievedDocument(id=f"doc-{place * number % 3000}") for place in range(1, 6)
                ),
            ),
        ),
        contexts=(),
    )
    marks = tuple(
        Score(
            metric=metric,
            status=ScoreStatus.SCORED,
            value=float(number % 60 == 23)
            if metric == "refusal_rate"
            else min(1.0, draw.betavariate(14, 1)),
            judge=_JUDGE,
            created_at=started_at,
        )
        for metric in METRICS
    )
    return TraceFacts(trace=trace, scores=marks)


class _Bulk:
    """Rows on their way into the tables."""

    def __init__(self, store: Store) -> None:
        self._database = store._database
        self._postgresql = self._database.is_postgresql
        self._rows: dict[str, list[dict[str, Any]]] = {table.name: [] for table in _TABLES}
        self._full_text: dict[str, list[tuple[int, str]]] = {name: [] for name in _FULL_TEXT}
        self._identity = json.dumps(asdict(_JUDGE))
        # Secondary indexes come last: that is faster, and what they hold is the same.
        self._indexes = [index for table in _TABLES for index in table.indexes]
        with self._database.write() as connection:
            if not self._postgresql:  # of two that fit SQLite takes the one that was made later
                made = connection.exec_driver_sql("SELECT name FROM sqlite_master ORDER BY rowid")
                place = {name: number for number, name in enumerate(made.scalars())}
                self._indexes.sort(key=lambda index: place[str(index.name)])
            for index in self._indexes:
                index.drop(connection)

    def add(self, fact: TraceFacts, number: int) -> None:
        trace = fact.trace
        rows = to_rows(trace, trace.project, trace.trace_id)
        key = {"project": trace.project, "trace_id": trace.trace_id, "day": trace.started_at.date()}
        numbers = pairs(trace.question)
        place: Any = numbers
        terms: Any = rows.terms
        if not self._postgresql:
            place = terms = number + 1
            self._full_text["trace_search"].append((place, " ".join(map(_token, numbers))))
            words = " ".join(map(trace_terms._token, rows.terms))
            self._full_text["trace_search_terms"].append((place, words))
        told = dict(zip(TRACE_COLUMNS, rows.trace, strict=True))
        extra = {
            "revision": 1,
            "content_hash": rows.content_hash,
            "received_at": trace.started_at,
            "passages": sorted(rows.passages),
            "search": place,
            "terms": terms,
        }
        self._rows["traces"].append(told | key | extra)
        self._rows["trace_keys"].append(
            key
            | {
                "first_received": trace.started_at,
                "due_at": None,
                "version": 1,
                "derived_version": 1,
            }
        )
        self._rows["faults"].append(_fault_row(key, trace, number))
        if number % 20 == 5:
            self._rows["feedback"].append(_rating(trace, 0.0 if number % 400 == 5 else 1.0, number))
        self._rows["scores"] += [_score_row(key, trace, score) for score in fact.scores]
        if len(self._rows["traces"]) >= _BATCH:
            self.flush()

    def add_rollups(self, facts: Sequence[TraceFacts], copies: int) -> None:
        for row in summarise(facts):
            self._rows["rollups"].append(dump_rollup(_times(row, copies)))

    def flush(self) -> None:
        with self._database.write() as connection:
            for table in _TABLES:
                rows = self._rows[table.name]
                if rows:
                    raw = connection.connection.driver_connection
                    (_copy if self._postgresql else _fill)(raw, table, rows, connection.dialect)
                self._rows[table.name] = []
            for name, entries in self._full_text.items():
                if entries:
                    raw = connection.connection.driver_connection
                    into = f"INSERT INTO {name} (rowid, {_FULL_TEXT[name]}) VALUES (?, ?)"  # noqa: S608 - our names
                    raw.executemany(into, entries)
                self._full_text[name] = []

    def repeat(self, base: int, copies: int) -> None:
        """The traces so far again, under other ids and a little later."""
        for copy in range(1, copies):
            later = timedelta(seconds=copy * (59 - _BASE_S) / copies)
            for table in _REPEATED:
                self._repeat(table, f"{copy:08x}", later, base * copy)
            if not self._postgresql:
                for name, column in _FULL_TEXT.items():
                    with self._database.write() as connection:
                        connection.exec_driver_sql(
                            f"INSERT INTO {name} (rowid, {column}) SELECT rowid + ?, {column} "  # noqa: S608 - our names
                            f"FROM {name} WHERE rowid <= ?",
                            (base * copy, base),
                        )

    def _repeat(self, table: Table, prefix: str, later: timedelta, offset: int) -> None:
        columns: list[Any] = []
        for column in table.c:
            value: Any = column
            if column.name == "trace_id":
                value = literal(prefix) + func.substr(column, 9)
            elif column.name == "session_id":
                value = column + literal(f"-{prefix}")  # a session stays as short as it was
            elif column.name in {"started_at", "received_at", "first_received", "created_at"}:
                micros = type_coerce(column, BigInteger) + later // timedelta(microseconds=1)
                value = column + literal(later, Interval) if self._postgresql else micros
            elif column.name == "id":
                value = column + offset
            elif column.name in {"search", "terms"} and not self._postgresql:
                value = type_coerce(column, BigInteger) + offset
            columns.append(value)
        chosen = select(*columns).where(table.c.trace_id < "00000001")
        with self._database.write() as connection:
            if self._postgresql:
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            connection.execute(insert(table).from_select(list(table.c.keys()), chosen))

    def finish(self) -> None:
        for index in self._indexes:
            with self._database.write() as connection:
                if self._postgresql:
                    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                    connection.exec_driver_sql("SET LOCAL maintenance_work_mem = '512MB'")
                index.create(connection)

        if self._postgresql:  # rows that come after these go on counting
            with self._database.write() as connection:
                connection.exec_driver_sql(
                    "SELECT setval(pg_get_serial_sequence('feedback', 'id'), max(id)) FROM feedback"
                )

    def analyse(self) -> None:
        """Count the rows for the planner, as autovacuum does by itself within minutes."""
        with self._database.write() as connection:
            if self._postgresql:
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                connection.exec_driver_sql("ANALYZE")


def _score_row(key: dict[str, Any], trace: Trace, score: Score) -> dict[str, Any]:
    return key | {
        "revision": 1,
        "metric": score.metric,
        "judge": str(score.judge),
        "identity": asdict(_JUDGE),
        "app": trace.app,
        "started_at": trace.started_at,
        "status": score.status.value,
        "value": score.value,
        "reason": None,
        "flagged": None,
        "inferred": False,
        "verdicts": [],
        "created_at": trace.started_at,
        "superseded": False,
    }


def _fault_row(key: dict[str, Any], trace: Trace, number: int) -> dict[str, Any]:
    likely = FAULTS[0 if number % 10 else 1 + number // 10 % 100 // 99]
    other = FAULTS[1 if likely is Fault.NONE else 0]
    diagnosis = Diagnosis(judge=str(_JUDGE), probabilities={likely: 0.75, other: 0.25})
    told = {"app": trace.app, "started_at": trace.started_at, "created_at": trace.started_at}
    return key | told | dump_diagnosis(diagnosis)


def _rating(trace: Trace, value: float, number: int) -> dict[str, Any]:
    return {
        "id": number + 1,
        "project": trace.project,
        "trace_id": trace.trace_id,
        "value": value,
        "created_at": trace.started_at,
        "kind": "thumb",
        "raw_value": bool(value),
    }


def _values(table: Any, rows: Sequence[dict[str, Any]], dialect: Any) -> tuple[list[str], Iterator]:
    names = list(rows[0])
    processors = [
        table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names
    ]
    return names, (
        tuple(
            row[name] if process is None else process(row[name])
            for name, process in zip(names, processors, strict=True)
        )
        for row in rows
    )


def _fill(
    raw: sqlite3.Connection, table: Any, rows: Sequence[dict[str, Any]], dialect: Any
) -> None:
    names, values = _values(table, rows, dialect)
    marks = ", ".join("?" * len(names))
    columns = ", ".join(f'"{name}"' for name in names)
    statement = f"INSERT INTO {table.name} ({columns}) VALUES ({marks})"  # noqa: S608 - our names
    raw.executemany(statement, values)


def _copy(raw: Any, table: Any, rows: Sequence[dict[str, Any]], dialect: Any) -> None:
    names, values = _values(table, rows, dialect)
    columns = ", ".join(f'"{name}"' for name in names)
    with raw.cursor().copy(f"COPY {table.name} ({columns}) FROM STDIN") as copy:
        for row in values:
            copy.write_row([_array(value) if isinstance(value, list) else value for value in row])


def _array(numbers: list[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _times(row: Rollup, copies: int) -> Rollup:
    """The sums of so many traces that are all alike."""
    sums = {
        field.name: getattr(row, field.name) * copies
        for field in fields(row)
        if isinstance(getattr(row, field.name), int | float)
    }
    return replace(
        row,
        **sums,
        histogram=tuple(count * copies for count in row.histogram),
        moments={name: value * copies for name, value in row.moments.items()},
        clusters={name: [value * copies for value in sums] for name, sums in row.clusters.items()},
    )


def _fold(store: Store, first: datetime, minutes: int, end: datetime, apps: Sequence[str]) -> None:
    """Build the blocks as the worker does."""
    places = [
        ("default", app, first + timedelta(minutes=n))
        for n in range(0, minutes, 10)
        for app in apps
    ]
    store._database.transact(
        lambda connection: rollup_tiers.invalidate(connection, places, end - timedelta(hours=1))
    )
    while stale := store.rollups.stale(end, 200):
        shortest = [block for block in stale if block.minutes == stale[0].minutes]
        store.rollups.put_blocks(
            [(block, merged(store.rollups.parts(block), block.minute)) for block in shortest]
        )

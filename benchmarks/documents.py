"""How long lists of documents take, and what counting a trace costs.

    python benchmarks/documents.py --database sqlite:////tmp/documents.db --traces 100000

Fills an empty database with traces of 30 days that were given five documents each, most of them few
documents again and again; five knowledge bases, two apps. Prints milliseconds: the median and the
worst of ten answers of every list, of one knowledge base over the 30 days.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # beside this lies a `statistics`

from statistics import median  # noqa: E402

from rag_monitor.aggregation.document_health import DocumentList  # noqa: E402
from rag_monitor.domain.document import (  # noqa: E402
    SHARES,
    DocumentConflict,
    DocumentInfo,
    DocumentKey,
    DocumentKind,
    DocumentUse,
    JudgedUses,
    TraceUses,
)
from rag_monitor.server.documents import default_query, read_documents  # noqa: E402
from rag_monitor.store.bulk import insert  # noqa: E402
from rag_monitor.store.document_counts import Counted  # noqa: E402
from rag_monitor.store.options import StoreOptions  # noqa: E402
from rag_monitor.store.store import Store  # noqa: E402
from rag_monitor.store.tables import trace_keys  # noqa: E402
from rag_monitor.testing import EPOCH, ManualClock  # noqa: E402

BASES = 5
DOCUMENTS = 3_000
PER_TRACE = 5
DAYS = 30
BATCH = 200
ANSWERS = 10
JUDGE = "embedded/m/p/1"


def document(chance: random.Random, base: int) -> DocumentKey:
    """Few documents are retrieved often (Pareto)."""
    number = min(DOCUMENTS - 1, int(chance.paretovariate(0.6)))
    return DocumentKey(f"base-{base}", DocumentKind.ID, f"doc-{number}")


def trace(chance: random.Random, number: int, traces: int, since: datetime = EPOCH) -> Counted:
    """What one trace was given, and what the judge says."""
    began = since + timedelta(days=DAYS * number / traces)
    base = chance.randrange(BASES)
    keys = list(dict.fromkeys(document(chance, base) for _ in range(PER_TRACE)))
    uses = tuple(
        DocumentUse(key=key, rank=rank, in_context=True) for rank, key in enumerate(keys, 1)
    )
    verdicts = {
        share: {place: chance.random() < 0.4 for place in range(len(keys))} for share in SHARES
    }
    at_fault = chance.random() < 0.2
    verdicts["at_fault"] = dict.fromkeys(range(len(keys)), at_fault)
    conflicts = ()
    if len(keys) > 1 and chance.random() < 0.01:
        conflicts = (DocumentConflict(keys[0], keys[1], True),)
    info = DocumentInfo(title="A title", updated_at="2025-01-05", last_seen=began)
    return (
        TraceUses(
            app=f"app-{number % 2}",
            day=began.date(),
            documents=uses,
            judges={JUDGE: JudgedUses(verdicts=verdicts)},
            conflicts=conflicts,
        ),
        dict.fromkeys(keys, info),
    )


def fill(store: Store, clock: ManualClock, traces: int, since: datetime = EPOCH) -> float:
    """Count all traces day by day; returns seconds, without making up the traces."""
    chance = random.Random(1)
    took = 0.0
    for start in range(0, traces, BATCH):
        numbers = range(start, min(traces, start + BATCH))
        counted = {("default", f"d{n:031x}"): trace(chance, n, traces, since) for n in numbers}
        rows = [
            {
                "project": project, "trace_id": trace_id, "day": uses.day, "first_received": since,
                "version": 1, "derived_version": 1, "bulk": False,
            }
            for (project, trace_id), (uses, _) in counted.items()
        ]  # fmt: skip
        store._database.transact(lambda connection, rows=rows: insert(connection, trace_keys, rows))
        behind = since + timedelta(days=DAYS * start / traces) - clock.now()
        clock.advance(max(timedelta(), behind))
        began = time.perf_counter()
        store.documents.save(counted)
        if start % (BATCH * 50) == 0:
            while store.documents.fold():
                pass
        took += time.perf_counter() - began
    return took


def main() -> None:
    """Fill, ask, print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--database", required=True, help="URL of an empty database")
    arguments.add_argument("--traces", type=int, default=100_000)
    given = arguments.parse_args()
    clock = ManualClock()
    options = StoreOptions(url=given.database, auto_migrate=True, ballast_bytes=0)
    with Store.open(options, clock) as store:
        took = fill(store, clock, given.traces)
        each = 1000 * took / given.traces
        print(f"counted {given.traces:,} traces in {took:.1f} s: {each:.2f} ms each")
        query = default_query("default", clock.now())
        one = replace(query, knowledge_base="base-0")
        for wanted in (None, *DocumentList):
            times = []
            for _ in range(ANSWERS):
                began = time.perf_counter()
                read_documents(store, one, wanted, clock.now(), 50)
                times.append(1000 * (time.perf_counter() - began))
            name = wanted or "all"
            print(f"{name:16} median {median(times):6.1f} worst {max(times):6.1f}")


if __name__ == "__main__":
    main()

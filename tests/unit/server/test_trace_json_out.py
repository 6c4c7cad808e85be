"""What the API shows of a trace, and `rag-monitor export` writes, is Trace JSON again."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from rag_monitor.domain.trace import Expected, RetrievedDocument, Trace
from rag_monitor.ingest.trace_encoding import unknown_fields
from rag_monitor.ingest.trace_json import decode_trace
from rag_monitor.server.services import Services
from rag_monitor.testing import make_trace
from tests.unit.server.story import make_stored

LABELS = Expected(
    plugin=("calculator",),
    knowledge_base=(),
    references=("24 个月", "two years"),
    key_points=("24 months",),
    relevant_ids={"doc-1": 2.0, "doc-9": 0.0},
    context_labels=(1, 0),
    faithful=False,
    label="yes",
    predicted="no",
)


@pytest.mark.parametrize(
    "trace",
    [
        make_trace(expected=LABELS),
        make_trace(expected=None),
        make_trace(expected=Expected(faithful=True)),
        make_trace(contexts=None),
        replace(make_trace(contexts=None), context_block="The warranty lasts 24 months."),
        replace(
            make_trace(), contexts=(RetrievedDocument(id="doc-1", content=None, score=0.5, rank=3),)
        ),
    ],
)
async def test_a_trace_read_back_is_the_trace(
    client: httpx.AsyncClient, services: Services, trace: Trace
) -> None:
    services.traces.stored[trace.project, trace.trace_id] = make_stored(trace)

    row = (await client.get(f"/api/v1/traces/{trace.trace_id}")).json()

    assert unknown_fields(row) == set()
    assert decode_trace(row) == trace

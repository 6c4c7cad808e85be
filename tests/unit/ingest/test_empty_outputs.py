"""An output that says nothing never hides the passages that stand elsewhere on the span."""

from __future__ import annotations

import json

import pytest

from tests.unit.ingest.evidence import span, trace_of

DOG = "Dogs travel on deck, on a lead."
CHAIN = {"openinference.span.kind": "CHAIN", "input.value": "q?", "output.value": "a."}
WRITTEN = json.dumps([{"document": {"content": DOG, "id": "d1"}}])
PASSAGES: dict[str, dict[str, object]] = {
    "flat": {"retrieval.documents.0.document.content": DOG,
             "retrieval.documents.0.document.id": "d1"},
    "json": {"retrieval.documents": WRITTEN},
    "texts": {"retrieval.documents": [json.dumps({"document.content": DOG, "document.id": "d1"})]},
    "one": {"retrieval.document": json.dumps({"content": DOG, "id": "d1"})},
    "one_listed": {"retrieval.document": WRITTEN},
    "one_flat": {"retrieval.document.content": DOG, "retrieval.document.id": "d1"},
    "gen_ai": {"gen_ai.retrieval.documents": json.dumps([{"content": DOG, "id": "d1"}])},
}  # fmt: skip
KINDS: dict[str, dict[str, object]] = {
    "openinference": {"openinference.span.kind": "RETRIEVER"},
    "loongsuite": {"gen_ai.span.kind": "RETRIEVER"},
    "gen_ai": {"gen_ai.operation.name": "retrieval"},
    "langfuse": {"langfuse.observation.type": "retriever"},
}
EMPTY = ["", "[]", "{}", "null", '""', "None", '{"documents": []}', "done"]


@pytest.mark.parametrize("output", EMPTY)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PASSAGES)
def test_the_passages_are_read(place: str, kind: str, output: str) -> None:
    outputs = {"output.value": output}
    if kind == "langfuse":
        outputs["langfuse.observation.output"] = output
    retriever = {**KINDS[kind], **PASSAGES[place], **outputs, "input.value": "q?"}

    trace = trace_of(span(1, "rag", CHAIN), span(2, "search", retriever, parent=1))

    assert trace.contexts is not None
    assert [(d.id, d.content) for d in trace.contexts] == [("d1", DOG)]


@pytest.mark.parametrize("output", ["", "[]", "{}"])
def test_a_step_of_no_kind_that_holds_passages_is_a_search(output: str) -> None:
    held = {**PASSAGES["flat"], "output.value": output}

    trace = trace_of(span(1, "rag", CHAIN), span(2, "step", held, parent=1))

    assert [retrieval.documents[0].content for retrieval in trace.retrievals] == [DOG]


def test_a_request_that_holds_passages_stays_the_request() -> None:
    held = {**PASSAGES["flat"], "input.value": "Dogs?", "output.value": "On a lead."}

    trace = trace_of(span(1, "ask", held), span(2, "chat", {"gen_ai.request.model": "m"}, parent=1))

    assert (trace.question, trace.answer) == ("Dogs?", "On a lead.")


def test_nothing_found_is_still_known() -> None:
    retriever = {**KINDS["openinference"], "output.value": "[]", "retrieval.documents": "[]"}

    trace = trace_of(span(1, "rag", CHAIN), span(2, "search", retriever, parent=1))

    assert trace.contexts == ()

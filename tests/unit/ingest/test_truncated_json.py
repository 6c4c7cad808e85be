"""JSON in attributes that the sender's length limit cut off."""

from __future__ import annotations

import json

import pytest

from rag_monitor.ingest.values import is_cut, repair
from tests.unit.ingest.evidence import span, trace_of

LONG = "How long does the standard warranty last, and from which day on? " * 2
VALUE = {
    "n": -1.5e3,
    "ok": True,
    "none": None,
    "list": [1, {"deep": ["x", "\u00e9\n\\", 'qu"ote']}],
    "text": LONG,
}


def _is_beginning(part: object, whole: object) -> bool:
    """Whether `part` is `whole` up to some point: nothing changed, nothing made up."""
    if isinstance(part, dict) and isinstance(whole, dict):
        keys = list(part)
        return keys == list(whole)[: len(keys)] and all(
            part[k] == whole[k] if k != keys[-1] else _is_beginning(part[k], whole[k]) for k in keys
        )
    if isinstance(part, list) and isinstance(whole, list):
        return (
            part[:-1] == whole[: max(0, len(part) - 1)]
            and len(part) <= len(whole)
            and (not part or _is_beginning(part[-1], whole[len(part) - 1]))
        )
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    if isinstance(part, int | float) and isinstance(whole, int | float):
        return str(whole).startswith(str(part).removesuffix(".0")) or part == whole
    return part == whole


@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_beginning_holds_what_the_whole_held_so_far(ascii_only: bool) -> None:
    text = json.dumps(VALUE, ensure_ascii=ascii_only)
    for length in range(64, len(text)):
        found = repair(text[:length])
        assert found is not None, text[:length]
        assert _is_beginning(found, VALUE), (text[:length], found)
        assert is_cut(text[:length]) or text[length - 1] == "}"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(VALUE),
        "[1] " + LONG,
        "[Note] " + LONG,
        "[Note: " + LONG,
        "{'order_id': 'A1', 'text': '" + LONG,
        '["short", "on',
        "{" + LONG,
        "[}" + LONG,
        LONG,
        "{" * 100,
        "[" * 100_000,
    ],
)
def test_what_is_no_beginning_of_json_is_left_alone(text: str) -> None:
    assert repair(text) is None
    assert is_cut(text) is False


def test_texts_are_kept_as_far_as_they_go_and_the_trace_says_so() -> None:
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": LONG}]}])
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": LONG}]}])
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": asked[:100],
        "gen_ai.output.messages": said[:110],
    }
    trace = trace_of(span(1, "chat", chat))
    assert trace.question is not None
    assert LONG.startswith(trace.question)
    assert trace.answer is not None
    assert LONG.startswith(trace.answer)
    assert trace.truncated


def test_a_cut_list_of_passages_is_unknown_not_short() -> None:
    documents = json.dumps([{"id": "1", "content": LONG}, {"id": "2", "content": LONG}])
    search = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "q?",
        "gen_ai.retrieval.documents": documents[:200],
    }
    trace = trace_of(span(1, "search", search))
    assert (trace.contexts, trace.truncated) == (None, True)


def test_what_was_sent_whole_is_not_called_cut() -> None:
    chain = {
        "openinference.span.kind": "CHAIN",
        "input.value": "[1] " + LONG,
        "output.value": json.dumps({"answer": LONG}),
    }
    trace = trace_of(span(1, "chain", chain))
    assert (trace.question, trace.answer, trace.truncated) == ("[1] " + LONG, LONG, False)

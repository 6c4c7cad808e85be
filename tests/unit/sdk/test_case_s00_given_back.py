"""What a host sets on a step stays its own: the very object, during the block and after it."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.sdk.client import install
from rag_monitor.testing import InMemoryExporter


class Rows(list[Any]):
    """A list that can be held weakly."""


@contextlib.contextmanager
def state(name: str) -> Iterator[None]:
    """The SDK off, at work without a trace, in a trace, or in one that has ended."""
    if name == "off":
        rm.configure(enabled=False)
        yield
        return
    with InMemoryExporter(app="test"):
        if name == "no trace":
            yield
        elif name == "ended":
            with rm.trace(question="q") as live:
                live.finish()
                yield
        else:
            with rm.trace(question="q"):
                yield
    install(None)


STATES = ["off", "no trace", "trace", "ended"]
GIVEN: dict[str, tuple[Any, dict[str, Any]]] = {
    "retrieval": (
        lambda: rm.retrieval("kb"),
        {"documents": Rows(["p"]), "query": "q" * 100_000, "reranked": True, "name": "mine",
         "knowledge_base": "other", "ok": True, "error": "mine"},
    ),
    "generation": (
        lambda: rm.generation("m"),
        {"model": "other", "name": "mine", "text": Rows(["t"]), "input_tokens": 3, "ok": True,
         "error": "mine"},
    ),
    "plugin": (lambda: rm.plugin("p"), {"items": 0, "name": "mine", "ok": True, "error": "mine"}),
    "workflow": (lambda: rm.workflow("w"), {"items": 7, "name": "mine", "ok": False}),
}  # fmt: skip


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("kind", GIVEN)
def test_what_was_set_is_there_after_the_block(kind: str, name: str, fails: bool) -> None:
    make, given = GIVEN[kind]
    with state(name):
        with contextlib.suppress(LookupError), make() as step:
            for field, value in given.items():
                setattr(step, field, value)
            if fails:
                raise LookupError
        assert {field: getattr(step, field) for field in given} == given
        assert all(getattr(step, field) is value for field, value in given.items())
    assert all(getattr(step, field) is value for field, value in given.items())


@pytest.mark.parametrize("name", STATES)
def test_an_object_of_no_known_shape_comes_back_unread(name: str) -> None:
    pieces = (piece for piece in ("a", "b"))
    with state(name):
        with rm.retrieval("kb") as found:
            found.documents = pieces
        assert found.documents is pieces
    assert list(found.documents) == ["a", "b"]


def test_the_trace_does_not_keep_the_hosts_documents_alive(captured: InMemoryExporter) -> None:
    given = Rows([{"content": "a passage", "embedding": [0.1] * 1000}])
    held = weakref.ref(given)
    with rm.trace(question="q"):
        with rm.retrieval("kb") as found:
            found.documents = given
        del found, given
        gc.collect()
        assert held() is None

    assert captured.records[0]["contexts"][0]["content"] == "a passage"


def test_a_finished_trace_is_freed_without_the_collector(captured: InMemoryExporter) -> None:
    gc.disable()
    try:
        with rm.trace(question="q") as live, rm.retrieval("kb") as found:
            found.documents = ["a passage"]
        held = weakref.ref(live)
        assert captured.client.flush(10)
        del live, found
        assert held() is None
    finally:
        gc.enable()


def test_documents_assigned_after_the_block_are_recorded_while_the_trace_is_open(
    captured: InMemoryExporter,
) -> None:
    with rm.trace(question="q"):
        with rm.retrieval("kb") as found:
            pass
        found.documents = ["a passage"]
    found.documents = ["too late"]

    assert captured.records[0]["contexts"] == [{"content": "a passage", "knowledge_base": "kb"}]
    assert captured.client.stats()["late"] == 1


def test_a_list_that_was_assigned_empty_and_filled_is_not_an_empty_recall(
    captured: InMemoryExporter,
) -> None:
    with rm.trace(question="q"), rm.retrieval("kb") as found:
        found.documents = []
        for passage in ("first", "second"):
            found.documents.append(passage)

    assert [one["content"] for one in captured.records[0]["contexts"]] == ["first", "second"]


def test_a_step_that_raised_is_recorded_as_failed_whatever_it_says(
    captured: InMemoryExporter,
) -> None:
    with rm.trace(question="q"), contextlib.suppress(LookupError), rm.plugin("p") as hit:
        hit.ok = True
        raise LookupError

    assert captured.records[0]["hits"][0]["ok"] is False


def test_a_generation_is_recorded_with_the_model_that_it_says(captured: InMemoryExporter) -> None:
    with rm.trace(question="q"), rm.generation("m") as step:
        step.model = "m-2"

    assert captured.records[0]["model"] == "m-2"

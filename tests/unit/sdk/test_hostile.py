"""Objects that fight back: the handler's result is untouched and the trace still arrives."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import math
import threading
import tracemalloc
import uuid
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rag_monitor as rm
from rag_monitor.testing import InMemoryExporter


class Hostile:
    """Every question asked of it raises."""

    def _raise(self, *_: Any, **__: Any) -> Any:
        raise BaseException("do not touch me")

    __str__ = __repr__ = __len__ = __iter__ = __eq__ = __bool__ = __getattr__ = _raise  # type: ignore[assignment]
    __hash__ = __contains__ = __getitem__ = __call__ = __format__ = __float__ = _raise  # type: ignore[assignment]
    __class__ = property(_raise)  # type: ignore[assignment]


class HostileDict(dict[str, Any]):
    def get(self, *_: Any) -> Any:
        raise BaseException("get")

    __iter__ = __len__ = items = keys = get  # type: ignore[assignment]


class HostileList(list[Any]):
    def __iter__(self) -> Any:
        raise BaseException("iter")

    __len__ = __getitem__ = __iter__  # type: ignore[assignment]


class HostileStr(str):
    __slots__ = ()

    def __len__(self) -> int:
        raise BaseException("len")

    __str__ = __iter__ = __hash__ = encode = __len__  # type: ignore[assignment]


class Lazy:
    """A row whose attributes would query a database."""

    queried = 0

    @property
    def page_content(self) -> str:
        Lazy.queried += 1
        return "from the database"

    content = text = answer = page_content


def cycle() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def deep(levels: int = 2000) -> dict[str, Any]:
    root: dict[str, Any] = {}
    here = root
    for _ in range(levels):
        here["content"] = {}
        here = here["content"]
    return root


def counting() -> Any:
    while True:
        yield "x"


OBJECTS: list[Any] = [
    Hostile(),
    HostileDict(content="text"),
    HostileList(["text"]),
    HostileStr("text"),
    Lazy(),
    cycle(),
    deep(),
    counting(),
    float("nan"),
    math.inf,
    -0.0,
    2**70,
    "\ud800lone\udfff",
    "nul\0",
    "x" * 10_000_000,
    b"\xff\xfe",
    threading.Lock(),
    decimal.Decimal("1.5"),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    uuid.UUID(int=1),
    {1, 2},
    object,
    ...,
]


@pytest.mark.parametrize("index", range(len(OBJECTS)))
def test_a_handler_may_use_anything_anywhere(captured: InMemoryExporter, index: int) -> None:
    thing = OBJECTS[index]

    @rm.trace
    def answer(question: Any) -> Any:
        live = rm.current()
        live.set(
            session_id=thing, tags=thing, expected=thing, extra=thing, model=thing, label=thing,
            input_tokens=thing, release=thing,
        )  # fmt: skip
        with rm.retrieval(thing, query=thing) as found:
            found.documents = thing
        with rm.retrieval() as found:
            found.documents = [thing, {"content": thing, "id": thing, "score": thing,
                                       "metadata": {"m": thing, "n": {"o": thing}}}]  # fmt: skip
        rm.record_contexts([thing])
        with rm.plugin(thing) as step:
            step.items = thing
        with rm.generation(thing) as written:
            written.text = thing
            written.usage(thing, thing)
        return thing

    iterator = thing if type(thing).__name__ == "generator" else None
    result = answer(thing)

    if iterator is None:
        assert result is thing
        (record,) = captured.records
        assert record["status"] == "ok"
        assert len(captured.spans[0].SerializeToString()) < 300_000


def test_a_lazy_row_is_never_evaluated(captured: InMemoryExporter) -> None:
    with rm.trace() as live, rm.retrieval() as found:
        live.set(answer=Lazy())
        found.documents = [Lazy()]

    assert captured.records[0]["contexts"][0]["metadata"] == {"type": "Lazy"}
    assert Lazy.queried == 0


def test_text_arrives_valid_and_otherwise_unchanged(captured: InMemoryExporter) -> None:
    for text in ("\ud800a", "a\0b", "😀\u202e家族👨‍👩‍👧", "\ud83d\ude00"):
        with rm.trace(question=text):
            pass

    assert [r["question"] for r in captured.records] == [
        "\ufffda", "a\ufffdb", "😀\u202e家族👨‍👩‍👧", "😀",
    ]  # fmt: skip


def test_long_texts_are_cut_and_said_to_be(captured: InMemoryExporter) -> None:
    with rm.trace(question="问" * 50_000) as live, rm.retrieval() as found:
        live.set(answer="\x01" * 200_000)
        found.documents = ["文" * 50_000 for _ in range(150)]

    (record,) = captured.records
    assert record["truncated"] is True
    assert 0 < len(record["question"].encode()) <= 32_768
    assert len(captured.spans[0].SerializeToString()) <= 280_000


def test_an_endless_stream_stays_bounded(captured: InMemoryExporter) -> None:
    @rm.trace
    def answer(question: str) -> Any:
        for _ in range(300_000):
            yield "ab"

    kept = 0
    for _ in answer("q"):
        parts = rm.current().trace_id
        kept += len(parts)

    (record,) = captured.records
    assert kept == 0
    assert record["truncated"] is True
    assert len(record["answer"].encode()) <= 32_768


@dataclasses.dataclass
class Passage:
    content: str
    id: str
    score: float


@dataclasses.dataclass(slots=True)
class SlottedPassage:
    text: str
    doc_id: int


class LangChainDocument:
    def __init__(self) -> None:
        self.page_content = "lc"
        self.metadata = {"source": "a.md", "id": "m-1"}
        self.id = None


class LlamaNode:
    def __init__(self) -> None:
        self.node = type("TextNode", (), {})()
        self.node.text = "li"
        self.node.id_ = "n-1"
        self.node.metadata = {}
        self.score = 0.25


def test_documents_of_known_shapes_are_read(captured: InMemoryExporter) -> None:
    with rm.trace(), rm.retrieval() as found:
        found.documents = [
            Passage("dc", "p-1", 0.5),
            SlottedPassage("sl", 7),
            LangChainDocument(),
            (LangChainDocument(), 0.75),
            LlamaNode(),
            {"page_content": "d", "metadata": {"score": 0.1}},
            b"bytes",
        ]

    got = [(d.get("content"), d.get("id"), d.get("score")) for d in captured.records[0]["contexts"]]
    assert got == [
        ("dc", "p-1", 0.5),
        ("sl", "7", None),
        ("lc", "m-1", None),
        ("lc", "m-1", 0.75),
        ("li", "n-1", 0.25),
        ("d", None, 0.1),
        ("bytes", None, None),
    ]


class Row(NamedTuple):
    id: object
    text: str
    score: float


def test_rows_of_databases_and_of_vector_stores_are_read(captured: InMemoryExporter) -> None:
    numpy = pytest.importorskip("numpy")
    with rm.trace():
        with rm.retrieval() as found:
            found.documents = [Row(numpy.int64(7), "named", 0.5)]
        with rm.retrieval() as found:
            found.documents = [["for one query"], ["for", "another"]]

    got = [(d.get("content"), d.get("id"), d.get("score")) for d in captured.records[0]["contexts"]]
    assert got == [
        ("named", "7", 0.5),
        ("for one query", None, None),
        ("for", None, None),
        ("another", None, None),
    ]


def test_of_lists_in_a_list_a_hundred_documents_are_taken(captured: InMemoryExporter) -> None:
    with rm.trace(), rm.retrieval() as found:
        found.documents = [["p"] * 99, "p", ["p"] * 9, "p"]

    assert len(captured.records[0]["contexts"]) == 100
    assert captured.records[0]["truncated"] is True


def test_only_a_hundred_documents_are_taken(captured: InMemoryExporter) -> None:
    with rm.trace(), rm.retrieval("kb") as found:
        found.documents = [str(n) for n in range(150)]

    assert len(captured.records[0]["contexts"]) == 100
    assert captured.records[0]["truncated"] is True


def test_documents_are_copied_when_assigned(captured: InMemoryExporter) -> None:
    documents = [{"content": "before"}]
    with rm.trace(), rm.retrieval() as found:
        found.documents = documents
        documents[0]["content"] = "after"
        documents.append({"content": "more"})

    assert captured.records[0]["contexts"] == [{"content": "before"}]


VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=20),
        st.text(st.characters(codec=None, categories=None), max_size=20),
        st.integers(0, len(OBJECTS) - 1).map(lambda n: None if n == 7 else OBJECTS[n]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["content", "id", "role", "x", "choices"]), inner),
        st.tuples(inner, inner),
    ),
    max_leaves=8,
)  # fmt: skip


class Handlers:
    """One handler of every shape, over the same values."""

    def __init__(
        self, answer: Any, documents: Any, chunks: list[Any], error: BaseException
    ) -> None:
        self.given = (answer, documents, chunks, error)

    def search(self) -> None:
        answer, documents, chunks, _ = self.given
        with rm.retrieval("kb", query=answer) as found:
            found.documents = documents
        with rm.plugin("p") as step, rm.generation(answer) as written:
            step.items, written.text = documents, documents
        rm.current().set(session_id=answer, tags=documents, anything=chunks)
        rm.record_contexts(documents)

    @rm.trace
    def plain(self, value: Any) -> Any:
        self.search()
        return self.given[0]

    @rm.trace(answer="content", model="m")
    def echo(self, value: Any) -> Any:
        return value

    @rm.trace
    def stream(self, value: Any) -> Any:
        yield from self.given[2]
        return self.given[0]

    @rm.trace
    def failing(self, value: Any) -> Any:
        self.search()
        raise self.given[3]

    @rm.trace
    async def later(self, value: Any) -> Any:
        self.search()
        await asyncio.sleep(0)
        return self.given[0]

    @rm.trace
    async def later_stream(self, value: Any) -> Any:
        for chunk in self.given[2]:
            yield chunk


def drained(watched: Any) -> tuple[list[Any], Any]:
    """What a generator yields, and what it returns."""
    seen = []
    while True:
        try:
            seen.append(next(watched))
        except StopIteration as stop:
            return seen, stop.value


def same(seen: list[Any], given: list[Any]) -> bool:
    """The very objects, in order; they may not be asked for equality."""
    return [id(value) for value in seen] == [id(value) for value in given]


@settings(
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large,
    ],
)  # fmt: skip
@given(
    question=VALUES,
    answer=VALUES,
    documents=VALUES,
    chunks=st.lists(VALUES, max_size=4),
    kind=st.sampled_from([ValueError, KeyboardInterrupt, SystemExit, asyncio.CancelledError]),
)
def test_no_value_and_no_shape_of_handler_changes_what_it_does(
    captured: InMemoryExporter,
    question: Any,
    answer: Any,
    documents: Any,
    chunks: list[Any],
    kind: type[BaseException],
) -> None:
    handlers = Handlers(answer, documents, chunks, kind(answer))
    before = captured.client.counters.produced

    assert handlers.plain(question) is answer
    assert handlers.echo(question) is question
    seen, returned = drained(handlers.stream(question))
    assert same(seen, chunks)
    assert returned is answer
    with pytest.raises(kind) as caught:
        handlers.failing(question)
    assert caught.value is handlers.given[3]

    async def asynchronous() -> None:
        assert await handlers.later(question) is answer
        assert same([chunk async for chunk in handlers.later_stream(question)], chunks)

    asyncio.run(asynchronous())
    assert captured.client.counters.produced == before + 6
    assert captured.client.flush(10)
    assert captured.client.counters.dropped_total == 0
    captured.clear()


HUGE_BYTES = b"x" * 20_000_000
HUGE_MAPPING = dict.fromkeys(map(str, range(400_000)), "v")


@pytest.mark.parametrize(
    "hand_over",
    [
        lambda live, found: setattr(found, "documents", [HUGE_BYTES] * 20),
        lambda live, found: setattr(
            found, "documents", [{"content": "c", "metadata": HUGE_MAPPING}] * 50
        ),
        lambda live, found: live.set(extra=HUGE_MAPPING, expected=HUGE_MAPPING),
        lambda live, found: live.set(tags=range(1), extra=list(HUGE_MAPPING.values())),
    ],
    ids=["bytes", "metadata of documents", "metadata", "a list"],
)
def test_a_copy_for_the_trace_is_bounded_whatever_is_handed_over(
    captured: InMemoryExporter, hand_over: Any
) -> None:
    with rm.trace(question="q") as live, rm.retrieval() as found:
        tracemalloc.start()
        hand_over(live, found)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert most < 4_000_000
    assert captured.records[0]["status"] == "ok"


def test_the_parts_of_a_message_are_joined_only_as_far_as_they_are_kept(
    captured: InMemoryExporter,
) -> None:
    parts = [{"type": "text", "text": "x" * 5_000_000}] * 100
    tracemalloc.start()
    rm.trace(lambda messages: "a")([{"role": "user", "content": parts}])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 4_000_000
    assert set(captured.records[0]["question"]) == {"x"}

"""Traced handlers behave as untraced ones, and what they did is recorded."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import pickle
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.testing import InMemoryExporter


@rm.trace
def module_level(question: str, *, top: int = 3) -> str:
    """Its docstring."""
    return f"{question}:{top}"


def test_a_plain_handler_is_recorded_whole(captured: InMemoryExporter) -> None:
    @rm.trace
    def answer(question: str) -> str:
        live = rm.current()
        live.set(session_id="s-1", user_id="u-7", tags=["web"], model="m-1", release="r2")
        with rm.retrieval(knowledge_base="loans") as found:
            found.documents = [{"id": "d1", "content": "利率 3.4%", "score": 0.9}, "second"]
        with rm.plugin("calculator"):
            pass
        with rm.workflow("quote") as flow:
            flow.items = 2
        with rm.generation(model="gpt") as step:
            step.first_token()
            step.usage(10, 5)
        return "答案"

    assert answer("利率是多少?") == "答案"

    (record,) = captured.records
    assert record["question"] == "利率是多少?"
    assert record["answer"] == "答案"
    assert (record["session_id"], record["user_id"], record["tags"]) == ("s-1", "u-7", ["web"])
    assert (record["model"], record["release"], record["app"]) == ("m-1", "r2", "test-app")
    assert record["contexts"] == record["retrievals"][0]["documents"]
    assert record["contexts"][0] == {
        "id": "d1",
        "content": "利率 3.4%",
        "score": 0.9,
        "knowledge_base": "loans",
    }
    assert [(h["kind"], h["name"], h["ok"], h.get("items")) for h in record["hits"]] == [
        ("knowledge_base", "loans", True, 2),
        ("plugin", "calculator", True, None),
        ("workflow", "quote", True, 2),
    ]
    assert record["usage"] == {"input_tokens": 10, "output_tokens": 5}
    timings = record["timings"]
    assert set(timings) == {
        "first_byte_ms", "generation_ms", "end_to_end_ms", "retrieval_ms", "first_token_ms",
    }  # fmt: skip
    assert timings["first_byte_ms"] == timings["end_to_end_ms"] >= timings["generation_ms"] >= 0
    assert (record["status"], record["streamed"]) == ("ok", False)


def test_the_root_says_that_it_is_complete(captured: InMemoryExporter) -> None:
    module_level("q")

    (span,) = captured.spans
    values = {a.key: a.value for a in span.attributes}
    assert values["rag_monitor.complete"].bool_value
    assert values["rag_monitor.app_root"].bool_value
    assert values["openinference.span.kind"].string_value == "CHAIN"
    assert values["input.value"].string_value == "q"
    assert span.name == "invoke_workflow module_level"
    assert span.end_time_unix_nano >= span.start_time_unix_nano
    assert not span.parent_span_id
    assert span.trace_id.hex() == captured.records[0]["trace_id"]


def test_signature_name_docstring_and_pickle_stay() -> None:
    assert str(inspect.signature(module_level)) == "(question: 'str', *, top: 'int' = 3) -> 'str'"
    assert (module_level.__name__, module_level.__doc__) == ("module_level", "Its docstring.")
    assert pickle.loads(pickle.dumps(module_level)) is module_level  # noqa: S301


def test_inspect_flags_stay() -> None:
    @rm.trace
    async def coroutine() -> None: ...

    @rm.trace
    def generator() -> Iterator[int]:
        yield 1

    @rm.trace()
    async def async_generator() -> AsyncIterator[int]:
        yield 1

    assert inspect.iscoroutinefunction(coroutine)
    assert inspect.isgeneratorfunction(generator)
    assert inspect.isasyncgenfunction(async_generator)
    assert not inspect.iscoroutinefunction(module_level)
    assert not inspect.isgeneratorfunction(module_level)


class Custom(BaseException):
    pass


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        Custom(),
        KeyboardInterrupt(),
        SystemExit(3),
        GeneratorExit(),
        asyncio.CancelledError(),
        OSError(2, "No such file"),
        ValueError("\ud800" * 10),
        ValueError("x" * 10_000_000),
    ],
    ids=lambda e: type(e).__name__,
)
def test_the_same_exception_object_comes_out(
    captured: InMemoryExporter, error: BaseException
) -> None:
    @rm.trace
    def answer(question: str) -> str:
        raise error

    with pytest.raises(type(error)) as caught:
        answer("q")

    assert caught.value is error
    assert "answer" in [entry.name for entry in caught.traceback]
    (record,) = captured.records
    expected = {GeneratorExit: "abandoned", asyncio.CancelledError: "cancelled"}
    assert record["status"] == expected.get(type(error), "error")


def test_an_exception_is_described_without_asking_it(captured: InMemoryExporter) -> None:
    class EvilError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("asked")

        __repr__ = __str__

    @rm.trace
    def answer(question: str) -> str:
        raise EvilError("wrong key", 7) if question == "1" else EvilError(object())

    for question in ("1", "2"):
        with pytest.raises(EvilError):
            answer(question)

    assert [r["error"] for r in captured.records] == ["EvilError: wrong key 7", "EvilError"]


def test_a_failing_plugin_is_a_failed_hit(captured: InMemoryExporter) -> None:
    @rm.plugin("search")
    def search() -> None:
        raise LookupError

    @rm.trace
    def answer(question: str) -> str:
        with contextlib.suppress(LookupError):
            search()
        return "a"

    answer("q")

    assert captured.records[0]["hits"][0]["ok"] is False
    assert captured.records[0]["status"] == "ok"


async def test_methods_static_methods_and_partials_work(captured: InMemoryExporter) -> None:
    class Bot:
        @rm.trace
        def answer(self, question: str) -> str:
            return "m"

        @rm.trace
        @staticmethod
        def still(question: str) -> str:
            return "s"

        @classmethod
        @rm.trace
        def of(cls, question: str) -> str:
            return cls.__name__

    async def base(prefix: str, question: str) -> str:
        return prefix + question

    partial = rm.trace(functools.partial(base, "p"))

    assert (Bot().answer("1"), Bot.still("2"), Bot.of("3"), await partial("4")) == (
        "m", "s", "Bot", "p4",
    )  # fmt: skip
    assert [r["question"] for r in captured.records] == ["1", "2", "3", "4"]


def test_a_traced_call_inside_another_belongs_to_it(captured: InMemoryExporter) -> None:
    @rm.trace
    def outer(question: str) -> str:
        return module_level("inner")

    outer("outer")

    assert [r["question"] for r in captured.records] == ["outer"]


def test_a_returned_generator_is_watched(captured: InMemoryExporter) -> None:
    @rm.trace
    def answer(question: str) -> Iterator[str]:
        return (word for word in ("a", "b"))

    assert list(answer("q")) == ["a", "b"]
    assert captured.records[0]["answer"] == "ab"
    assert captured.records[0]["streamed"] is True


def test_extractors_by_name_and_by_function(captured: InMemoryExporter) -> None:
    @rm.trace(question="text", answer="reply")
    def by_name(user: str, text: str) -> dict[str, str]:
        return {"reply": "r1", "text": "no"}

    @rm.trace("by function", question=lambda body: body["a"]["b"], answer=lambda r: r[1])
    def by_function(body: dict[str, Any]) -> tuple[int, str]:
        return 1, "r2"

    by_name("u", "question 1")
    by_function({"a": {"b": "question 2"}})

    assert [(r["question"], r["answer"]) for r in captured.records] == [
        ("question 1", "r1"),
        ("question 2", "r2"),
    ]


def test_a_chat_list_gives_its_last_user_message(captured: InMemoryExporter) -> None:
    @rm.trace
    def answer(messages: list[dict[str, str]]) -> str:
        return "a"

    answer(
        [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": "x"},
            {"role": "user", "content": "second"},
        ]
    )

    assert captured.records[0]["question"] == "second"


def test_a_failing_extractor_leaves_the_handler_alone(
    captured: InMemoryExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_monitor.sdk.guard.GUARD.strict", False)

    @rm.trace(question=lambda q: q.missing, answer=lambda a: 1 / 0)
    def answer(question: str) -> str:
        return "fine"

    assert answer("q") == "fine"
    assert captured.records[0]["status"] == "ok"
    assert captured.client.stats()["internal_errors"] == {"question": 1, "returned": 1}


def test_a_block_can_be_traced(captured: InMemoryExporter) -> None:
    with rm.trace("chat", question="q?") as live:
        assert rm.current() is live
        live.set(answer="a!")

    (record,) = captured.records
    assert (record["question"], record["answer"]) == ("q?", "a!")


def test_contexts_unknown_empty_and_known_stay_apart(captured: InMemoryExporter) -> None:
    with rm.trace():
        pass
    with rm.trace(), rm.retrieval() as found:
        found.documents = []
    with rm.trace(), rm.retrieval():
        pass
    with rm.trace(), rm.retrieval() as found:
        found.documents = ["a", "b"]
        rm.record_contexts(["b"])
    with rm.trace(), rm.retrieval() as found:
        found.documents = (x for x in "ab")

    contexts = [r.get("contexts", "unknown") for r in captured.records]
    assert contexts == ["unknown", [], "unknown", [{"content": "b"}], "unknown"]


def test_of_rerankers_around_each_other_the_outer_one_gives_the_contexts(
    captured: InMemoryExporter,
) -> None:
    with rm.trace(), rm.retrieval("outer", reranked=True) as found:
        with rm.retrieval("inner", reranked=True) as inner:
            inner.documents = ["1", "2"]
        found.documents = ["2"]

    (record,) = captured.records
    assert [c["content"] for c in record["contexts"]] == ["2"]


def test_reranked_documents_are_the_contexts(captured: InMemoryExporter) -> None:
    with rm.trace():
        with rm.retrieval("a") as found:
            found.documents = ["1", "2"]
        with rm.retrieval("a", reranked=True) as found:
            found.documents = ["2"]

    (record,) = captured.records
    assert [c["content"] for c in record["contexts"]] == ["2"]
    assert len(record["retrievals"]) == 2


def test_a_misspelt_attribute_never_fails_the_handler(captured: InMemoryExporter) -> None:
    with rm.trace() as live, rm.retrieval("kb") as found, rm.generation("m") as written:
        found.document = ["a passage"]  # type: ignore[attr-defined]
        written.input_token = 3  # type: ignore[attr-defined]
        live.questions = "q"  # type: ignore[union-attr]

    assert len(captured.spans) == 1


def test_a_decorated_retriever_gives_documents_and_query(captured: InMemoryExporter) -> None:
    @rm.retrieval(knowledge_base="kb")
    def search(query: str) -> list[str]:
        return [query.upper()]

    with rm.trace(question="what?"):
        assert search("rewritten") == ["REWRITTEN"]
    assert search("outside") == ["OUTSIDE"]

    (record,) = captured.records
    assert record["retrievals"][0]["query"] == "rewritten"
    assert record["contexts"][0]["content"] == "REWRITTEN"


def test_outside_a_trace_everything_is_a_harmless_nothing(captured: InMemoryExporter) -> None:
    live = rm.current()
    assert not live
    assert live.set(answer="x").trace_id == ""
    with rm.retrieval("kb") as found:
        found.documents = ["a"]
    rm.record_contexts(["a"])
    assert captured.records == []


def test_feedback_follows_its_trace(captured: InMemoryExporter) -> None:
    with rm.trace() as live:
        pass
    rm.feedback(live.trace_id, 0.5, metric="faithfulness", statement=0, comment="好\ud800")

    assert captured.feedback == [
        {
            "trace_id": live.trace_id,
            "value": 0.5,
            "metric": "faithfulness",
            "statement": 0,
            "comment": "好\ufffd",
        }
    ]


def test_disabled_means_nothing_happens() -> None:
    rm.configure(enabled=False)
    assert module_level("q") == "q:3"
    assert rm.stats() == {}
    assert rm.flush(0.1)


def test_a_generation_that_is_still_open_began_when_it_was_entered(
    captured: InMemoryExporter,
) -> None:
    step = rm.generation("m")
    with rm.trace(question="q") as live:
        time.sleep(0.05)
        step.__enter__()
        live.set(answer="a")
    step.__exit__(None, None, None)

    timings = captured.records[0]["timings"]
    assert timings["end_to_end_ms"] >= 50
    assert timings["generation_ms"] <= timings["end_to_end_ms"] - 45


def test_retrievers_that_run_at_once_take_the_time_of_one(captured: InMemoryExporter) -> None:
    async def search(base: str) -> None:
        with rm.retrieval(knowledge_base=base) as found:
            await asyncio.sleep(0.05)
            found.documents = [base]

    @rm.trace
    async def answer(question: str) -> str:
        await search("first")
        await asyncio.gather(search("loans"), search("cards"), search("faq"))
        return "a"

    asyncio.run(answer("q"))

    timings = captured.records[0]["timings"]
    assert 100 <= timings["retrieval_ms"] <= timings["end_to_end_ms"]
    assert timings["retrieval_ms"] < sum(h["latency_ms"] for h in captured.records[0]["hits"]) - 50

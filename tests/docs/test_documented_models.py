"""Every documented snippet hands its model the passages that its search found."""

from __future__ import annotations

import ast
import asyncio
import html
import inspect
import re
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rag_monitor.testing import InMemoryExporter
from tests.docs.pages import ROOT

ASKED = "How long is the warranty?"
FOUND = [{"id": "doc-7", "content": "The standard warranty lasts 24 months."}]
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
_PAGE = "rag_monitor/server/ui/templates/overview.html"
_ON_PAGE = re.compile(r'<pre id="snippet"[^>]*><code>(.*?)</code>', re.DOTALL)


def _blocks() -> Iterator[tuple[str, str]]:
    for pattern in ("*.md", "docs/**/*.md", "integrations/*/README*.md"):
        for file in sorted(ROOT.glob(pattern)):
            name = str(file.relative_to(ROOT))
            yield from ((name, text) for text in _PYTHON.findall(file.read_text("utf-8")))
    (text,) = _ON_PAGE.findall((ROOT / _PAGE).read_text("utf-8"))
    yield _PAGE, html.unescape(text).replace("{{ endpoint }}", "http://127.0.0.1:8700")


def _hands_over() -> list[Any]:
    """The snippets that read the documents of a step, each as a parameter."""
    found = [(name, text) for name, text in _blocks() if re.search(r"\w+\.documents\b[^ ]", text)]
    return [pytest.param(text, id=f"{name}-{n}") for n, (name, text) in enumerate(found)]


class Model:
    """Stands in for the reader's model, and keeps what it was handed."""

    def __init__(self) -> None:
        self.handed: list[Any] = []
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))

    def answer(self, question: str, documents: Any) -> str:
        self.handed.append(documents)
        return "24 months."

    async def stream(self, question: str, documents: Any) -> AsyncIterator[str]:
        yield self.answer(question, documents)

    def create(self, *, model: str, messages: list[dict[str, str]]) -> Any:
        self.handed.append(FOUND if str(FOUND) in messages[-1]["content"] else messages)
        message = SimpleNamespace(content="24 months.")
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])


def _names(text: str, model: Model) -> dict[str, Any]:
    async def search(question: str) -> list[dict[str, str]]:
        return FOUND

    asynchronous = "await search" in text
    return {
        "__name__": "snippet",
        "search": search if asynchronous else lambda question: FOUND,
        "llm": model.stream if asynchronous else model.answer,
        "client": model,
    }


async def _drained(pieces: AsyncIterator[str]) -> str:
    return "".join([piece async for piece in pieces])


def _ask(names: dict[str, Any]) -> None:
    app = names.get("app")
    if hasattr(app, "test_client"):
        with app.test_client().post("/chat", json={"question": ASKED}) as reply:
            assert reply.get_json()["answer"] == "24 months."
    elif app is not None:
        from fastapi.testclient import TestClient

        assert TestClient(app).post("/chat", json={"question": ASKED}).status_code == 200
    elif inspect.isasyncgenfunction(names.get("answer")):
        assert asyncio.run(_drained(names["answer"](ASKED)))
    elif "answer" in names:
        assert names["answer"](ASKED)


@pytest.mark.parametrize("text", _hands_over())
def test_the_model_of_a_snippet_receives_the_passages(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for needed in ("fastapi", "flask", "openai"):
        if f"rag_monitor_{needed}" in text:
            pytest.importorskip(needed, reason=f"needs {needed}")
    model = Model()
    names = _names(text, model)
    with InMemoryExporter(app="docs") as captured:
        monkeypatch.setattr("rag_monitor.configure", lambda *_, **__: None)
        monkeypatch.setattr("rag_monitor.flush", lambda *_: True)
        exec(compile(text, "snippet", "exec"), names)  # noqa: S102 - our own text
        if not model.handed:
            _ask(names)

        assert model.handed
        assert all(documents is FOUND for documents in model.handed)
        (record,) = captured.records
        assert record["question"] == ASKED
        assert record["contexts"][0]["content"] == FOUND[0]["content"]
    openai = names.get("rag_monitor_openai")
    if openai is not None:
        openai.uninstrument()


def test_snippets_that_hand_over_are_found_where_they_are() -> None:
    pages = {str(one.id).rsplit("-", 1)[0] for one in _hands_over()}

    assert {
        "docs/instrumenting.md", "docs/zh/instrumenting.md", "integrations/fastapi/README.md",
        "integrations/fastapi/README.zh.md", "integrations/flask/README.md", _PAGE,
        "integrations/openai/README.md",
    } <= pages  # fmt: skip


def test_every_snippet_that_retrieves_is_python() -> None:
    for name, text in _blocks():
        if "rm.retrieval" in text:
            assert ast.parse(text), name

"""The RAG application itself, instrumented the way a user of the SDK would do it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import rag_monitor as rm
from rag_monitor.demo.answerer import chunks, extract, invent
from rag_monitor.demo.corpus import (
    DEFAULT_WORKFLOW,
    LANGUAGES,
    Language,
    Passage,
    language_of,
    load_passages,
)
from rag_monitor.demo.plugins import PLUGINS, PluginResult
from rag_monitor.demo.retriever import Found, Retriever

_TOP_K: Final = 3
_RETRIEVAL_DELAY_S: Final = 0.004
_FIRST_CHUNK_DELAY_S: Final = 0.006
_CHUNK_DELAY_S: Final = 0.001


@dataclass(slots=True)
class Faults:
    """What is broken at the moment. Set through the application's admin endpoint."""

    retriever: bool = False
    """The retriever returns passages of another topic."""
    invent: bool = False
    """The answerer ignores the passages and makes claims up."""
    release: str | None = None
    """The release that brought the faults; None: the one the application was started as."""


class Generator(Protocol):
    """Writes an answer from passages, in pieces."""

    @property
    def model(self) -> str:
        """The model's name, as it is recorded with the trace."""
        ...

    def stream(self, question: str, contexts: Sequence[str]) -> AsyncIterator[str]:
        """The answer, piece by piece."""
        ...


@dataclass(slots=True)
class Assistant:
    """Finds passages, calls plugins, writes the answer; one instance serves all requests."""

    generator: Generator | None = None
    """A language model; None: the extractive answerer."""
    faults: Faults = field(default_factory=Faults)
    _retrievers: Mapping[Language, Retriever] = field(
        default_factory=lambda: {lang: Retriever(load_passages(lang)) for lang in LANGUAGES}
    )

    @rm.trace
    async def answer(
        self,
        question: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        expected: Mapping[str, Sequence[str]] | None = None,
    ) -> AsyncIterator[str]:
        """Stream the answer to a question."""
        trace = rm.current().set(session_id=session_id, user_id=user_id)
        if expected is not None:
            trace.set(expected=dict(expected))
        if self.faults.release:
            trace.set(release=self.faults.release)
        plugin = self._route(question)
        with rm.workflow(PLUGINS[plugin][0] if plugin else DEFAULT_WORKFLOW):
            fact = self._call(plugin, question) if plugin else None
            found = await self._retrieve(question)
            contexts = [fact.text] if fact else []
            contexts += [passage.text for passage in found]
            if fact:
                rm.record_contexts(contexts)
            async for chunk in self._write(question, fact, found, contexts):
                yield chunk

    def _route(self, question: str) -> str | None:
        """The plugin whose input the question holds, if any."""
        return next((name for name, (_, call) in PLUGINS.items() if call(question)), None)

    def _call(self, name: str, question: str) -> PluginResult | None:
        with rm.plugin(name) as hit:
            result = PLUGINS[name][1](question)
            hit.items = result.items if result else 0
        return result

    async def _retrieve(self, question: str) -> list[Passage]:
        retriever = self._retrievers[language_of(question)]
        best = retriever.search(question, 1)
        home = best[0].passage.knowledge_base if best else None
        with rm.retrieval(knowledge_base=home) as found:
            await asyncio.sleep(_RETRIEVAL_DELAY_S)
            hits = (
                retriever.from_elsewhere(question, _TOP_K)
                if self.faults.retriever
                else retriever.search(question, _TOP_K, home)
            )
            found.documents = [_document(hit) for hit in hits]
        return [hit.passage for hit in hits]

    async def _write(
        self,
        question: str,
        fact: PluginResult | None,
        found: Sequence[Passage],
        contexts: Sequence[str],
    ) -> AsyncIterator[str]:
        if self.generator is not None and not self.faults.invent:
            rm.current().set(model=self.generator.model)
            async for chunk in self.generator.stream(question, contexts):
                yield chunk
            return
        await asyncio.sleep(_FIRST_CHUNK_DELAY_S)
        for chunk in chunks(self._compose(question, fact, found)):
            yield chunk
            await asyncio.sleep(_CHUNK_DELAY_S)

    def _compose(self, question: str, fact: PluginResult | None, found: Sequence[Passage]) -> str:
        if self.faults.invent:
            return invent(question)
        if fact:
            return fact.text
        return extract(question, found, self._retrievers[language_of(question)])


def _document(found: Found) -> dict[str, object]:
    return {
        "id": found.passage.id,
        "content": found.passage.text,
        "score": round(found.score, 4),
        "knowledge_base": found.passage.knowledge_base,
    }

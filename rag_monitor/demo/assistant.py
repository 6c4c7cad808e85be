"""The RAG application itself, instrumented the way a user of the SDK would do it.

Its two plugins are a loan calculator and an order lookup.
"""

from __future__ import annotations

import asyncio
import re
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
from rag_monitor.demo.retriever import Hit, Retriever

_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*万元")
_YEARS: Final = re.compile(r"(\d+)\s*年")
_RATE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_ORDER: Final = re.compile(r"\bES-\d{5}\b")

_ORDERS: Final = {
    "ES-10234": "left the warehouse in Leipzig on 3 June and is expected on 6 June",
    "ES-10377": "was handed to the carrier on 4 June and is expected on 7 June",
    "ES-10519": "was shipped with express delivery on 5 June and arrives by noon on 6 June",
    "ES-10688": "is ready for pickup in the Hamburg store until 8 June",
}


@dataclass(frozen=True, slots=True)
class PluginResult:
    """What a plugin found out, as one sentence for the model."""

    text: str
    items: int = 1


def rate_calculator(question: str) -> PluginResult | None:
    """The monthly payment of an annuity loan, when the question names amount, years and rate.

    Payment = P · r / (1 - (1 + r)^-n), with r the monthly rate and n the number of months.
    """
    amount, years, rate = (p.search(question) for p in (_AMOUNT, _YEARS, _RATE))
    if not (amount and years and rate):
        return None
    months = int(years.group(1)) * 12
    monthly = float(rate.group(1)) / 1200
    if months == 0 or monthly == 0:
        return None
    principal = float(amount.group(1)) * 10_000
    payment = principal * monthly / (1 - (1 + monthly) ** -months)
    return PluginResult(
        f"贷款{amount.group(1)}万元，期限{years.group(1)}年，年利率{rate.group(1)}%，"
        f"按等额本息计算每月还款{payment:.2f}元，共{months}期。"
    )


def order_lookup(question: str) -> PluginResult | None:
    """The state of the order the question names; no items when there is no such order."""
    number = _ORDER.search(question)
    if number is None:
        return None
    state = _ORDERS.get(number.group())
    if state is None:
        return PluginResult(f"There is no order {number.group()}.", items=0)
    return PluginResult(f"Order {number.group()} {state}.")


PLUGINS: Final = {
    "rate_calculator": ("loan_calculation", rate_calculator),
    "order_lookup": ("order_tracking", order_lookup),
}
"""Plugin name to the workflow it belongs to and the function itself."""


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
            passages = await self._retrieve(question)
            contexts = [fact.text] if fact else []
            contexts += [passage.text for passage in passages]
            if fact:
                rm.record_contexts(contexts)
            async for chunk in self._write(question, fact, passages, contexts):
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
        with rm.retrieval(knowledge_base=home) as retrieval:
            await asyncio.sleep(_RETRIEVAL_DELAY_S)
            hits = (
                retriever.from_elsewhere(question, _TOP_K)
                if self.faults.retriever
                else retriever.search(question, _TOP_K, home)
            )
            retrieval.documents = [_document(hit) for hit in hits]
        return [hit.passage for hit in hits]

    async def _write(
        self,
        question: str,
        fact: PluginResult | None,
        passages: Sequence[Passage],
        contexts: Sequence[str],
    ) -> AsyncIterator[str]:
        if self.generator is not None and not self.faults.invent:
            rm.current().set(model=self.generator.model)
            async for chunk in self.generator.stream(question, contexts):
                yield chunk
            return
        await asyncio.sleep(_FIRST_CHUNK_DELAY_S)
        for chunk in chunks(self._compose(question, fact, passages)):
            yield chunk
            await asyncio.sleep(_CHUNK_DELAY_S)

    def _compose(
        self, question: str, fact: PluginResult | None, passages: Sequence[Passage]
    ) -> str:
        if self.faults.invent:
            return invent(question)
        if fact:
            return fact.text
        return extract(question, passages, self._retrievers[language_of(question)])


def _document(hit: Hit) -> dict[str, object]:
    return {
        "id": hit.passage.id,
        "content": hit.passage.text,
        "score": round(hit.score, 4),
        "knowledge_base": hit.passage.knowledge_base,
    }

"""A scripted application: its traces with no fault, or with one of eight planted in them.

Written before its writer read the rules. Each knowledge base has its own retriever (how many
passages it returns, and how many of them the model sees), so that no fault has a form of its own:
reversed ranking puts the right passage last, where half of the models do not see it.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Final

from benchmarks.planted_faults.texts import Fact, KnowledgeBase, knowledge_bases, phrases
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.trace import (
    Expected,
    Retrieval,
    RetrievedDocument,
    Timings,
    Trace,
    derive_trace_id,
)

GOOD: Final = "none"
PLANTED: Final = (
    "missed_retrieval",
    "bad_ranking",
    "invented",
    "contradicted",
    "needless_refusal",
    "knowledge_gap",
    "two_price_lists",
    "wrong_route",
)

_BEGIN: Final = datetime(2026, 11, 2, 8, tzinfo=UTC)
_APART: Final = timedelta(seconds=20)
_RIGHT_PLACES: Final = (0.75, 0.17, 0.08)
"""How often the right passage is first, second and third of a working retriever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedTrace:
    """A trace, and what was planted in it."""

    trace: Trace
    fault: str
    """One of `PLANTED`, or `GOOD`."""
    fact: str
    """The id of what was asked for: traces about one fact are not independent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    """One request before it becomes a trace."""

    fact: Fact
    question: str
    documents: Sequence[tuple[Fact, bool]]
    """As ranked; True: its older edition."""
    answer: str
    served_by: KnowledgeBase


class Application:
    """The assistant of one half and language, with a plugin and retriever per knowledge base."""

    def __init__(self, half: str, language: str, seed: int) -> None:
        self._random = random.Random(f"{half} {language} {seed}")
        self._name = f"assistant-{half}-{language}"
        self._bases = knowledge_bases(half, language)
        self._phrases = phrases(half, language)
        self._home = {fact.id: base for base in self._bases for fact in base.facts}
        self._retrievers = {
            base.name: _Retriever(base, returned=4 + place % 3, seen=None if place % 2 else 3)
            for place, base in enumerate(self._bases)
        }
        self._plans: dict[str, Callable[[], _Answered]] = {
            GOOD: self._good,
            "missed_retrieval": self._missed_retrieval,
            "bad_ranking": self._bad_ranking,
            "invented": lambda: self._answered(Fact.invented),
            "contradicted": lambda: self._answered(Fact.wrong),
            "needless_refusal": lambda: self._answered(lambda _: self._refusal(), styled=False),
            "knowledge_gap": self._knowledge_gap,
            "two_price_lists": self._two_price_lists,
            "wrong_route": self._wrong_route,
        }

    def traces(self, good: int, each: int) -> Iterator[PlantedTrace]:
        """`good` traces without a fault and `each` of every fault, mixed."""
        faults = [GOOD] * good + [fault for fault in PLANTED for _ in range(each)]
        self._random.shuffle(faults)
        for number, fault in enumerate(faults):
            answered = self._plans[fault]()
            yield PlantedTrace(
                trace=self._trace(number, answered), fault=fault, fact=answered.fact.id
            )

    def _good(self) -> _Answered:
        if self._random.random() < 0.08:
            return self._two_questions()
        return self._answered(Fact.right)

    def _two_questions(self) -> _Answered:
        first = self._fact()
        base = self._home[first.id]
        second = self._random.choice([f for f in _stored(base) if f.id != first.id])
        a, b = (self._random.choice(fact.questions) for fact in (first, second))
        others = self._retrievers[base.name].neighbours(f"{a} {b}", (first, second))
        documents = [(first, False), (second, False), *((fact, False) for fact in others)]
        joint = "\n" if "\n" in first.answer + second.answer else " "
        return _Answered(
            fact=first,
            question=self._random.choice(self._phrases.joining).format(a=a, b=b),
            documents=documents,
            answer=self._styled(first.right() + joint + second.right()),
            served_by=base,
        )

    def _answered(self, answer: Callable[[Fact], str], *, styled: bool = True) -> _Answered:
        """The right passage is among the first three; the generator does what `answer` says."""
        fact = self._fact()
        text = answer(fact)
        question, documents = self._retrieved(fact)
        return _Answered(
            fact=fact,
            question=question,
            documents=documents,
            answer=self._styled(text) if styled else text,
            served_by=self._home[fact.id],
        )

    def _bad_ranking(self) -> _Answered:
        fact = self._fact()
        base = self._home[fact.id]
        question, documents = self._retrieved(fact)
        documents = documents[::-1]
        seen = documents[: self._retrievers[base.name].seen]
        answer = self._styled(fact.right())
        if (fact, False) not in seen:
            answer = self._without_passage(seen[0][0], refusing=0.6)
        return _Answered(
            fact=fact, question=question, documents=documents, answer=answer, served_by=base
        )

    def _missed_retrieval(self) -> _Answered:
        return self._from_neighbours(self._fact(), None, refusing=0.8)

    def _knowledge_gap(self) -> _Answered:
        missing = [fact for base in self._bases for fact in base.facts if fact.missing]
        return self._from_neighbours(self._random.choice(missing), None, refusing=0.85)

    def _wrong_route(self) -> _Answered:
        fact = self._fact()
        others = [base for base in self._bases if base is not self._home[fact.id]]
        return self._from_neighbours(fact, self._random.choice(others), refusing=0.7)

    def _from_neighbours(
        self, fact: Fact, other: KnowledgeBase | None, *, refusing: float
    ) -> _Answered:
        base = other or self._home[fact.id]
        question = self._random.choice(fact.questions)
        neighbours = self._retrievers[base.name].neighbours(question, (fact,), one_more=True)
        return _Answered(
            fact=fact,
            question=question,
            documents=[(neighbour, False) for neighbour in neighbours],
            answer=self._without_passage(neighbours[0], refusing=refusing),
            served_by=base,
        )

    def _two_price_lists(self) -> _Answered:
        """The generator takes the older list; where neither is dated, one of them."""
        fact = self._random.choice([f for b in self._bases for f in b.facts if f.editions])
        base = self._home[fact.id]
        question = self._random.choice(fact.questions)
        both = [(fact, False), (fact, True)]
        self._random.shuffle(both)
        others = self._retrievers[base.name].neighbours(question, (fact, fact))
        from_older = self._is_dated(base.name) or self._random.random() < 0.5
        return _Answered(
            fact=fact,
            question=question,
            documents=[*both, *((other, False) for other in others)],
            answer=self._styled(fact.wrong() if from_older else fact.right()),
            served_by=base,
        )

    def _is_dated(self, base: str) -> bool:
        """Whether a knowledge base says how old its lists are; every second one does."""
        return [b.name for b in self._bases].index(base) % 2 == 0

    def _fact(self) -> Fact:
        return self._random.choice([fact for base in self._bases for fact in _stored(base)])

    def _retrieved(self, fact: Fact) -> tuple[str, list[tuple[Fact, bool]]]:
        question = self._random.choice(fact.questions)
        documents = self._retrievers[self._home[fact.id].name].neighbours(question, (fact,))
        (place,) = self._random.choices(range(3), _RIGHT_PLACES)
        documents.insert(place, fact)
        return question, [(document, False) for document in documents]

    def _without_passage(self, nearest: Fact, *, refusing: float) -> str:
        if self._random.random() < refusing:
            return self._refusal()
        return self._random.choice(self._phrases.neighbour).format(answer=nearest.right())

    def _refusal(self) -> str:
        return self._random.choice(self._phrases.refusal)

    def _styled(self, answer: str) -> str:
        space = "\n" if "\n" in answer else " "
        if self._random.random() < 0.35:
            answer = self._random.choice(self._phrases.opening) + space + answer
        if self._random.random() < 0.2:
            answer += space + self._random.choice(self._phrases.closing)
        return answer

    def _trace(self, number: int, answered: _Answered) -> Trace:
        base = answered.served_by
        documents = tuple(
            self._document(fact, older, rank, base.name)
            for rank, (fact, older) in enumerate(answered.documents, start=1)
        )
        home = self._home[answered.fact.id].name
        return Trace(
            trace_id=derive_trace_id("default", self._name, str(number)),
            app=self._name,
            question=answered.question,
            answer=answered.answer,
            started_at=_BEGIN + number * _APART,
            retrievals=(Retrieval(documents=documents, knowledge_base=base.name, latency_ms=20.0),),
            contexts=documents[: self._retrievers[base.name].seen],
            hits=(
                Hit(kind=HitKind.PLUGIN, name=base.name),
                Hit(kind=HitKind.KNOWLEDGE_BASE, name=base.name, items=len(documents)),
            ),
            expected=Expected(plugin=(home,)),
            timings=Timings(first_byte_ms=150.0, generation_ms=600.0, end_to_end_ms=700.0),
        )

    def _document(self, fact: Fact, older: bool, rank: int, base: str) -> RetrievedDocument:
        metadata: dict[str, object] = {"title": fact.title}
        text = fact.text(older=older)
        if fact.editions and self._random.random() < 0.5 and self._is_dated(base):
            metadata["effective_date"] = f"{fact.editions[older]}-01-01"
        elif fact.editions and not self._is_dated(base):
            text = fact.undated(older=older)
        return RetrievedDocument(
            id=f"{fact.id}-older" if older else fact.id,
            content=text,
            score=round(0.9 / rank, 3),
            rank=rank,
            knowledge_base=base,
            metadata=metadata,
        )


class _Retriever:
    """Ranks passages of one knowledge base by the words (zh: pairs of characters) they share.

    Args:
        base: What is searched.
        returned: How many passages it returns.
        seen: How many of them the model is shown; None: all.
    """

    def __init__(self, base: KnowledgeBase, *, returned: int, seen: int | None) -> None:
        self._facts = _stored(base)
        self._returned = returned
        self.seen = seen

    @cached_property
    def _weights(self) -> dict[str, float]:
        counts = Counter(term for fact in self._facts for term in _terms(fact.text()))
        return {term: math.log(1 + len(self._facts) / count) for term, count in counts.items()}

    def neighbours(
        self, question: str, besides: Sequence[Fact], *, one_more: bool = False
    ) -> list[Fact]:
        """The passages nearest to the question without those that answer it.

        Args:
            question: What is asked.
            besides: What is to be returned beside them, or instead.
            one_more: They take the places of `besides` too.
        """
        left_out = {fact.id for fact in besides}
        asked = _terms(question)
        others = [fact for fact in self._facts if fact.id not in left_out]
        others.sort(key=lambda fact: -self._likeness(asked, fact))
        return others[: self._returned if one_more else self._returned - len(besides)]

    def _likeness(self, asked: set[str], fact: Fact) -> float:
        terms = _terms(fact.text())
        shared = sum(self._weights[term] for term in asked & terms)
        return shared / math.sqrt(len(terms))


def _stored(base: KnowledgeBase) -> list[Fact]:
    return [fact for fact in base.facts if not fact.missing]


def _terms(text: str) -> set[str]:
    words = set(text.lower().replace("?", " ").replace(".", " ").replace(",", " ").split())
    pairs = {a + b for a, b in pairwise(text) if a > "\u4dff" and b > "\u4dff"}
    return words | pairs

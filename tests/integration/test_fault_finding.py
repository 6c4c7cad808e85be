"""From judged traces to stored faults, with the embedded judge and the real store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from rag_monitor.config.options import WorkerOptions
from rag_monitor.domain.fault import Diagnosis, EvidenceKind, Fault
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Trace, passage_digest
from rag_monitor.errors import StoreUnavailable
from rag_monitor.evaluation.pipeline import Pipeline
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.judges.embedded import create_lexical
from rag_monitor.sampling.sampler import Sampler
from rag_monitor.store.earlier_passages import EarlierPassages
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from rag_monitor.worker.evaluating import Evaluation
from rag_monitor.worker.fault_finding import FaultFinder
from tests.contract.evidence import claim, ingest

OPTIONS = WorkerOptions()
WARRANTY = "The standard warranty lasts 24 months from the day of purchase."
FEES = "Express delivery costs 9 euros per parcel within the country."
REFUSAL = "I'm sorry, the documents do not contain this information."
ASKED = "How long does the standard warranty last?"


class Away(EarlierPassages):
    """A database that is away."""

    def newest(self, *args: Any) -> list[str]:
        raise StoreUnavailable


class House:
    """Store and evaluation on one clock."""

    def __init__(self, url: str) -> None:
        self.clock = ManualClock()
        self.store = Store.open(
            StoreOptions(url=url, auto_migrate=True, ballast_bytes=0, partitions_ahead=1),
            self.clock,
        )
        self.store.writer.start()
        self.passages = self.store.earlier_passages

    def holds(self, words: str) -> bool:
        """Whether the words stand in any evidence that is stored."""
        with self.store._database.read() as connection:
            stored = connection.execute(text("SELECT evidence FROM faults")).scalars()
            return any(words in evidence for evidence in stored)

    async def judge(self, *traces: Trace) -> list[Diagnosis | None]:
        """What was at fault in each."""
        plan = EvaluationPlan(baseline=create_lexical({}))
        pipeline = Pipeline(plan, Sampler(), self.clock)
        faults = FaultFinder(self.passages, self.clock)
        evaluation = Evaluation(
            self.store.tasks, pipeline, self.clock, OPTIONS, faults, self.store.earlier_turns
        )
        for trace in traces:
            await asyncio.to_thread(ingest, self.store, trace)
        await evaluation.run(claim(self.store))
        stored = [self.store.traces.get("default", trace.trace_id) for trace in traces]
        return [one.faults[0] if one.faults else None for one in stored]


@pytest.fixture
def house(database_url: str) -> Iterator[House]:
    house = House(database_url)
    yield house
    house.store.close()


def asked(
    question: str, answer: str, passages: Sequence[str], *, id: str = "1", **fields: Any
) -> Trace:
    trace = make_trace(question, answer, passages, id=id, app="shop", **fields)
    return replace(trace, started_at=EPOCH + timedelta(seconds=int(id)))


async def test_a_passage_that_others_got_shows_that_retrieval_missed_it(house: House) -> None:
    other = asked(ASKED, WARRANTY, [WARRANTY], id="1")
    missed = asked(ASKED, REFUSAL, [FEES], id="2")

    first, second = await house.judge(other, missed)

    assert first is not None
    assert first.fault is Fault.NONE
    assert second is not None
    assert second.fault is Fault.MISSED_RETRIEVAL
    assert WARRANTY in [e.text for e in second.evidence if e.kind is EvidenceKind.EARLIER_PASSAGE]


@pytest.mark.parametrize("passage", [WARRANTY, WARRANTY + " Terms apply." * 40])
async def test_erasing_whoever_retrieved_the_missed_passage_leaves_nothing_of_it(
    house: House, passage: str
) -> None:
    other = asked(ASKED, WARRANTY, [passage], id="1", user_id="u-1")
    missed = asked(ASKED, REFUSAL, [FEES], id="2")
    _, before = await house.judge(other, missed)
    assert before is not None
    assert EvidenceKind.EARLIER_PASSAGE in [e.kind for e in before.evidence]

    await asyncio.to_thread(house.store.traces.erase_user, "default", "u-1")

    [after] = house.store.traces.get("default", missed.trace_id).faults
    assert after.probabilities == before.probabilities
    [gone] = [e for e in after.evidence if e.kind is EvidenceKind.ERASED_PASSAGE]
    assert (gone.text, gone.digest) == ("", passage_digest(passage))
    assert WARRANTY not in str(after)
    assert not house.holds(WARRANTY)


async def test_what_no_passage_ever_held_is_a_gap(house: House) -> None:
    other = asked(ASKED, WARRANTY, [WARRANTY], id="1")
    gap = asked("Who painted the mural in the lobby?", REFUSAL, [FEES], id="2")

    _, found = await house.judge(other, gap)

    assert found is not None
    assert found.fault is Fault.KNOWLEDGE_GAP
    [told] = [e for e in found.evidence if e.kind is EvidenceKind.NOT_FOUND]
    assert told.value == 2


async def test_a_passage_of_the_same_trace_was_cut_off(house: House) -> None:
    below = asked(ASKED, REFUSAL, [FEES], id="2")
    documents = tuple(RetrievedDocument(content=text) for text in (FEES, WARRANTY))
    below = replace(below, retrievals=(Retrieval(documents=documents),))

    [found] = await house.judge(below)

    assert found is not None
    assert found.fault is Fault.BAD_RANKING
    assert WARRANTY in [e.text for e in found.evidence if e.kind is EvidenceKind.CUT_OFF]


async def test_a_refusal_to_what_the_passages_answer_is_needless(house: House) -> None:
    [found] = await house.judge(asked(ASKED, REFUSAL, [FEES, WARRANTY]))

    assert found is not None
    assert found.fault is Fault.NEEDLESS_REFUSAL


async def test_a_swapped_number_contradicts_its_passage(house: House) -> None:
    swapped = WARRANTY.replace("24", "36")

    [found] = await house.judge(asked(ASKED, swapped, [WARRANTY]))

    assert found is not None
    assert found.fault is Fault.CONTRADICTED


async def test_while_the_database_is_away_a_gap_and_a_miss_stay_even(house: House) -> None:
    house.passages = Away(None)  # type: ignore[arg-type]

    [found] = await house.judge(asked(ASKED, REFUSAL, [FEES]))

    assert found is not None
    gap, missed = (found.probabilities[f] for f in (Fault.KNOWLEDGE_GAP, Fault.MISSED_RETRIEVAL))
    assert gap == missed
    assert EvidenceKind.NOT_SEARCHED in [e.kind for e in found.evidence]


@pytest.mark.parametrize(
    ("question", "answer", "passages", "fault"),
    [
        ("标准保修期多久？", "标准保修期为24个月。", ["标准保修期为24个月。"], Fault.NONE),
        ("标准保修期多久？", "标准保修期为36个月。", ["标准保修期为24个月。"], Fault.CONTRADICTED),
        ("标准保修期多久？", "抱歉，资料中没有相关信息。", ["标准保修期为24个月。"],
         Fault.NEEDLESS_REFUSAL),
        ("大厅的壁画是谁画的？", "抱歉，资料中没有相关信息。", ["标准保修期为24个月。"],
         Fault.KNOWLEDGE_GAP),
        ("基础版每月多少钱？", "基础版每月收费49元。",
         ["2023年价目表：基础版每月收费49元。", "2026年价目表：基础版每月收费59元。"],
         Fault.STALE_SOURCE),
        ("标准保修期多久？", "标准保修期为24个月【5】。", ["标准保修期为24个月。"],
         Fault.WRONG_CITATION),
    ],
)  # fmt: skip
async def test_chinese_traces(
    house: House, question: str, answer: str, passages: list[str], fault: Fault
) -> None:
    [found] = await house.judge(asked(question, answer, passages))

    assert found is not None
    assert found.fault is fault


class Kept(EarlierPassages):
    """Passages as they were before, and how often somebody asked for them."""

    def __init__(self, *passages: str) -> None:
        self.passages = passages
        self.asked: list[Any] = []

    def newest(self, *args: Any) -> list[str]:
        self.asked.append(args)
        return list(self.passages)


def _below(**fields: Any) -> Trace:
    documents = tuple(RetrievedDocument(content=text) for text in (FEES, WARRANTY))
    trace = asked(ASKED, REFUSAL, [FEES])
    return replace(trace, retrievals=(Retrieval(documents=documents, **fields),))


async def test_what_the_trace_itself_retrieved_is_searched_though_the_kept_passages_lack_it(
    house: House,
) -> None:
    house.passages = Kept(FEES, "Parcels leave the warehouse at noon.")

    [found] = await house.judge(_below())

    assert found is not None
    assert found.fault is Fault.BAD_RANKING


async def test_where_there_is_no_other_passage_a_gap_and_a_miss_stay_even(house: House) -> None:
    [found] = await house.judge(asked("Who painted the mural in the lobby?", REFUSAL, [FEES]))

    assert found is not None
    gap, missed = (found.probabilities[f] for f in (Fault.KNOWLEDGE_GAP, Fault.MISSED_RETRIEVAL))
    assert gap == missed


async def test_only_knowledge_bases_that_a_retrieval_names_narrow_the_search(
    house: House,
) -> None:
    unnamed = Hit(kind=HitKind.KNOWLEDGE_BASE, name="unknown", ok=True)
    passages = house.passages = Kept(FEES)

    await house.judge(replace(_below(), hits=(unnamed,)))
    assert passages.asked == [("default", "shop", frozenset())]


async def test_while_the_database_is_away_it_is_asked_once_a_batch(house: House) -> None:
    class Counted(Kept):
        def newest(self, *args: Any) -> list[str]:
            super().newest(*args)
            raise StoreUnavailable

    passages = house.passages = Counted()

    found = await house.judge(*(asked(ASKED, REFUSAL, [FEES], id=str(n)) for n in (1, 2, 3)))

    assert [one is not None and one.fault for one in found] == [Fault.KNOWLEDGE_GAP] * 3
    assert len(passages.asked) == 1

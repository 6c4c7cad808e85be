"""What is at fault: three written examples for each row of the table, and its edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rag_monitor.domain.fault import STAGES, Diagnosis, EvidenceKind, Fault, Stage
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Judgement, Verdict
from rag_monitor.domain.score import Score
from rag_monitor.domain.trace import Expected, Retrieval, RetrievedDocument, Trace, TraceStatus
from rag_monitor.evaluation.fault import decide, diagnose, needs_search, searched
from rag_monitor.evaluation.fault_signals import Signals, read_signals
from rag_monitor.evaluation.missed_passage import MissedPassage, Search
from rag_monitor.evaluation.request import build_request
from rag_monitor.metrics.rag import LIVE_METRICS, score_trace
from rag_monitor.testing import make_trace

IDENTITY = JudgeIdentity(name="j", model="m")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One answered question, and what a judge says of it."""

    question: str
    answer: str = ""
    passages: Sequence[str | RetrievedDocument] = ()
    relevant: Sequence[float] = ()
    """Per passage."""
    useful: Sequence[float] | None = None
    """Per passage; None: as `relevant`."""
    supported: float = 0.97
    reason: str | None = None
    grade: float = 0.95
    refusal: bool = False
    cited: Sequence[float] = ()
    """Per cited statement."""
    more: dict[str, Any] = field(default_factory=dict)
    """Other fields of the trace."""

    def diagnosis(self) -> Diagnosis | None:
        return diagnose(*self.judged(), str(IDENTITY))

    def signals(self) -> Signals:
        signals = read_signals(*self.judged())
        assert signals is not None
        return signals

    def judged(self) -> tuple[Trace, Sequence[Score]]:
        contexts = tuple(
            p if isinstance(p, RetrievedDocument) else RetrievedDocument(content=p)
            for p in self.passages
        )
        trace = replace(make_trace(self.question, self.answer), contexts=contexts, retrievals=())
        trace = replace(trace, **self.more)
        useful = self.relevant if self.useful is None else self.useful
        support = Verdict(
            aspect=Aspect.SUPPORT,
            probability=self.supported,
            text=self.answer,
            evidence=0,
            reason=self.reason,
        )
        verdicts = [
            replace(support, aspect=Aspect.ANSWER_SUPPORTED),
            support,
            Verdict(aspect=Aspect.GRADE, probability=self.grade),
            *(Verdict(aspect=Aspect.RELEVANCE, probability=p, index=n)
              for n, p in enumerate(self.relevant)),
            *(Verdict(aspect=Aspect.USEFULNESS, probability=p, index=n)
              for n, p in enumerate(useful)),
            *(Verdict(aspect=Aspect.CITED_SUPPORT, probability=p, index=n, text=f"{n}", evidence=0)
              for n, p in enumerate(self.cited)),
        ]  # fmt: skip
        missing = dict.fromkeys(
            build_request(trace, frozenset(Aspect)).aspects - {v.aspect for v in verdicts},
            "unsupported_aspect",
        )
        judgement = Judgement(
            identity=IDENTITY, verdicts=tuple(verdicts), missing=missing, refusal=self.refusal
        )
        return trace, score_trace(trace, judgement, LIVE_METRICS)


def document(content: str, **metadata: object) -> RetrievedDocument:
    return RetrievedDocument(content=content, metadata=metadata)


WARRANTY = "The standard warranty lasts 24 months."
保修 = "标准保修期为24个月。"
FEE = "Express delivery costs 9 euros per parcel within the country."
ASKED = Expected(plugin=("weather",))

CASES: dict[Fault, list[Case]] = {
    Fault.NONE: [
        Case(question="How long is the warranty?", answer=WARRANTY, passages=[WARRANTY, FEE],
             relevant=[0.96, 0.1]),
        Case(question="保修期多久？", answer=保修, passages=[保修], relevant=[0.95]),
        Case(question="What does the basic plan cost?",
             answer="The basic plan costs 59 euros per month.",
             passages=[document("The basic plan costs 49 euros per month.", date="2023-01-01"),
                       document("The basic plan costs 59 euros per month.", date="2026-01-01")],
             relevant=[0.9, 0.9]),
    ],
    Fault.BACKEND_ERROR: [
        Case(question="How long is the warranty?", more={"status": TraceStatus.ERROR,
             "error": "ConnectionError: vector store", "answer": None, "contexts": None}),
        Case(question="保修期多久？", answer=" ", passages=[保修], relevant=[0.95]),
        Case(question="Where is my parcel?", answer="I cannot look that up.", refusal=True,
             passages=[FEE], relevant=[0.05],
             more={"hits": (Hit(kind=HitKind.PLUGIN, name="tracking", ok=False),)}),
    ],
    Fault.WRONG_ROUTE: [
        Case(question="Will it rain?", answer=WARRANTY, passages=[WARRANTY], relevant=[0.1],
             more={"expected": ASKED, "hits": (Hit(kind=HitKind.PLUGIN, name="stocks"),)}),
        Case(question="明天下雨吗？", answer=保修, passages=[保修], relevant=[0.1],
             more={"expected": ASKED}),
        Case(question="年假怎么申请？", answer=保修, passages=[保修], relevant=[0.9],
             more={"expected": Expected(knowledge_base=("人事制度",)),
                   "hits": (Hit(kind=HitKind.KNOWLEDGE_BASE, name="产品手册"),)}),
    ],
    Fault.NEEDLESS_REFUSAL: [
        Case(question="How long is the warranty?", answer="I don't know.", refusal=True,
             passages=[WARRANTY], relevant=[0.95]),
        Case(question="保修期多久？", answer="抱歉，我无法回答。", refusal=True,
             passages=[保修], relevant=[0.93]),
        Case(question="What does express delivery cost?", answer="Please ask the service desk.",
             refusal=True, passages=[WARRANTY, FEE], relevant=[0.1, 0.9]),
    ],
    Fault.KNOWLEDGE_GAP: [
        Case(question="Do you ship to Mars?", answer="I don't know.", refusal=True,
             passages=[FEE], relevant=[0.1]),
        Case(question="有没有火星分店？", answer="抱歉，资料中没有提到。", refusal=True,
             passages=[保修], relevant=[0.05]),
        Case(question="Who designed the logo?", answer="It was Ann Lee.", supported=0.03,
             reason="not_covered", grade=0.9, passages=[WARRANTY], relevant=[0.05]),
    ],
    Fault.MISSED_RETRIEVAL: [
        Case(question="How long is the warranty?", answer="I don't know.", refusal=True,
             passages=[FEE], relevant=[0.05],
             more={"expected": Expected(relevant_ids={"w": 1.0})}),
        Case(question="保修期多久？", answer="抱歉，资料中没有提到。", refusal=True,
             passages=[FEE], relevant=[0.05],
             more={"expected": Expected(relevant_ids={"保修": 1.0})}),
        Case(question="What does express delivery cost?", answer="It is free.", supported=0.05,
             reason="not_covered", passages=[WARRANTY], relevant=[0.04],
             more={"expected": Expected(relevant_ids={"fees": 1.0})}),
    ],
    Fault.BAD_RANKING: [
        Case(question="How long is the warranty?", answer="I don't know.", refusal=True,
             passages=[FEE], relevant=[0.05],
             more={"expected": Expected(relevant_ids={"w": 1.0}),
                   "retrievals": (Retrieval(documents=(RetrievedDocument(id="w", rank=9),)),)}),
        Case(question="How long is the warranty?", answer=WARRANTY,
             passages=[FEE, FEE, FEE, FEE, WARRANTY], relevant=[0.1, 0.1, 0.1, 0.1, 0.95]),
        Case(question="保修期多久？", answer=保修, passages=[FEE, FEE, FEE, FEE, FEE, 保修],
             relevant=[0.1, 0.1, 0.1, 0.1, 0.1, 0.95]),
    ],
    Fault.INVENTED: [
        Case(question="How long is the warranty?", supported=0.04, reason="number_mismatch",
             answer="Every customer also receives a gift card of 20 euros.",
             passages=[WARRANTY], relevant=[0.95]),
        Case(question="保修期多久？", supported=0.05, reason="not_covered",
             answer="另外赠送全年上门清洁服务。", passages=[保修], relevant=[0.96]),
        Case(question="How long is the warranty?", supported=0.1, reason="name_not_found",
             answer="Our founder Maria Gomez signs each certificate personally.",
             passages=[WARRANTY], relevant=[0.95]),
    ],
    Fault.CONTRADICTED: [
        Case(question="How long is the warranty?", supported=0.03, reason="number_mismatch",
             answer="The standard warranty lasts 36 months.", passages=[WARRANTY],
             relevant=[0.95]),
        Case(question="保修期多久？", supported=0.03, reason="number_mismatch",
             answer="标准保修期为36个月。", passages=[保修], relevant=[0.95]),
        Case(question="May I return it?", supported=0.08, reason="negation",
             answer="Opened goods may be returned.",
             passages=["Opened goods may not be returned."], relevant=[0.9]),
    ],
    Fault.STALE_SOURCE: [
        Case(question="What does the basic plan cost?",
             answer="The basic plan costs 49 euros per month.", relevant=[0.9, 0.9],
             passages=["Price list 2023: The basic plan costs 49 euros per month.",
                       "Price list 2026: The basic plan costs 59 euros per month."]),
        Case(question="基础版多少钱？", answer="基础版每月收费49元。", relevant=[0.9, 0.9],
             passages=["2023年价目表：基础版每月收费49元。", "2026年价目表：基础版每月收费59元。"]),
        Case(question="What does the basic plan cost?",
             answer="The basic plan costs 49 euros per month.", relevant=[0.9, 0.9],
             passages=[document("The basic plan costs 59 euros per month.", version="v2.1"),
                       document("The basic plan costs 49 euros per month.", version="v1.9")]),
    ],
    Fault.CONFLICTING_SOURCES: [
        Case(question="What does the basic plan cost?",
             answer="The basic plan costs 49 euros per month.", relevant=[0.9, 0.9],
             passages=["The basic plan costs 49 euros per month.",
                       "The basic plan costs 59 euros per month."]),
        Case(question="基础版多少钱？", answer="基础版每月收费49元。", relevant=[0.9, 0.9],
             passages=["基础版每月收费49元。", "基础版每月收费59元。"]),
        Case(question="How long is the warranty?", answer=WARRANTY, relevant=[0.9, 0.9],
             passages=["The standard warranty lasts 12 months.", WARRANTY]),
    ],
    Fault.OFF_TOPIC: [
        Case(question="How long is the warranty?", answer=FEE, grade=0.05,
             passages=[WARRANTY, FEE], relevant=[0.95, 0.1], useful=[0.1, 0.9]),
        Case(question="保修期多久？", answer="快递费为每件9元。", grade=0.1,
             passages=[保修, "快递费为每件9元。"], relevant=[0.95, 0.1]),
        Case(question="Who may apply?", answer="Applications are read in May.", grade=0.15,
             passages=["Residents may apply. Applications are read in May."], relevant=[0.95]),
    ],
    Fault.INCOMPLETE: [
        Case(question="What does delivery cost and how long does it take?", answer=FEE, grade=0.4,
             passages=[FEE + " It takes two days."], relevant=[0.95]),
        Case(question="运费多少、几天到？", answer="运费为9元。", grade=0.45,
             passages=["运费为9元，两天送达。"], relevant=[0.95]),
        Case(question="What does the warranty exclude?", answer="It excludes batteries.",
             grade=0.9, passages=["It excludes batteries and water damage."], relevant=[0.95],
             more={"expected": Expected(key_points=("batteries", "damage by water"))}),
    ],
    Fault.WRONG_CITATION: [
        Case(question="How long is the warranty?", answer=WARRANTY + " [7]",
             passages=[WARRANTY], relevant=[0.95]),
        Case(question="保修期多久？", answer="标准保修期为24个月。【3】", passages=[保修],
             relevant=[0.95]),
        Case(question="How long is the warranty?", answer=WARRANTY + " [2]", cited=[0.04],
             passages=[WARRANTY, FEE], relevant=[0.95, 0.1]),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "case"), [(fault, case) for fault, cases in CASES.items() for case in cases]
)
def test_each_fault_is_told_from_three_written_examples(fault: Fault, case: Case) -> None:
    found = case.diagnosis()

    assert found is not None
    assert found.fault is fault
    assert found.stage is STAGES.get(fault)
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert found.evidence or fault is Fault.NONE


def test_every_fault_has_three_examples_and_all_but_none_a_stage() -> None:
    assert {fault: len(cases) for fault, cases in CASES.items()} == dict.fromkeys(Fault, 3)
    assert STAGES.keys() == set(Fault) - {Fault.NONE}


GAP = CASES[Fault.KNOWLEDGE_GAP][0]


def _find(probability: float = 0.9) -> Search:
    return Search(0.0, MissedPassage("We ship to Mars from 2031 on.", probability, 2.0))


def test_a_gap_and_a_miss_are_equally_probable_until_somebody_searches() -> None:
    found = GAP.diagnosis()

    assert found is not None
    gap, miss = (found.probabilities[f] for f in (Fault.KNOWLEDGE_GAP, Fault.MISSED_RETRIEVAL))
    assert gap == miss > 0.4
    assert EvidenceKind.NOT_SEARCHED in [e.kind for e in found.evidence]
    assert needs_search(GAP.signals())


def test_an_answer_that_the_contexts_plainly_hold_needs_no_search() -> None:
    assert not needs_search(CASES[Fault.NONE][0].signals())


def test_a_passage_that_holds_it_makes_a_miss() -> None:
    before, signals = GAP.diagnosis(), searched(GAP.signals(), 40, _find())
    after = decide(signals, "j")

    assert before is not None
    assert after.fault is Fault.MISSED_RETRIEVAL
    assert after.stage is Stage.RETRIEVAL
    assert after.probability > before.probabilities[Fault.MISSED_RETRIEVAL] + 0.3
    assert [e.text for e in after.evidence if e.kind is EvidenceKind.EARLIER_PASSAGE] == [
        "We ship to Mars from 2031 on."
    ]
    assert EvidenceKind.NOT_SEARCHED not in [e.kind for e in after.evidence]
    assert not needs_search(signals)


def test_a_search_without_a_find_makes_a_gap_that_is_not_certain() -> None:
    signals = searched(GAP.signals(), 40, Search(0.0, None))
    after = decide(signals, "j")

    assert after.fault is Fault.KNOWLEDGE_GAP
    assert 0.05 < after.probabilities[Fault.MISSED_RETRIEVAL] < 0.25
    assert sum(after.probabilities.values()) == pytest.approx(1)
    assert searched(signals, 40, _find()) == signals


def test_the_surer_an_earlier_passage_holds_it_the_surer_it_was_missed() -> None:
    misses = [
        decide(searched(GAP.signals(), 40, _find(p)), "j").probabilities[Fault.MISSED_RETRIEVAL]
        for p in (0.05, 0.3, 0.7, 0.99)
    ]

    assert misses == sorted(misses)
    assert misses[0] < misses[-1] - 0.02


@pytest.mark.parametrize("fault", [Fault.NEEDLESS_REFUSAL, Fault.NONE])
def test_a_passage_that_fits_better_than_the_contexts_makes_them_doubtful(fault: Fault) -> None:
    signals = replace(CASES[fault][0].signals(), sufficient=0.7)

    def sufficient(lead: float) -> float:
        after = searched(signals, 40, Search(lead, None))
        assert after.sufficient is not None
        return after.sufficient

    assert sufficient(-2.0) > sufficient(0.0) == pytest.approx(0.7)
    assert sufficient(4.0) < sufficient(0.0) - 0.2


def test_what_labels_say_of_the_contexts_is_not_moved_by_a_search() -> None:
    signals = replace(GAP.signals(), sufficient=0.9, labelled=True)

    assert searched(signals, 40, Search(5.0, None)).sufficient == 0.9


@pytest.mark.parametrize("support", [0.2, 0.5])
def test_a_value_that_the_passage_lacks_tells_more_than_a_doubt(support: float) -> None:
    case = Case(
        question="How long is the warranty?",
        answer="The warranty lasts 36 months.",
        passages=["The warranty lasts as long as the device."],
        relevant=[0.97],
        supported=support,
    )
    doubted, differing = case.diagnosis(), replace(case, reason="number_mismatch").diagnosis()

    assert doubted is not None
    assert differing is not None
    assert differing.fault is Fault.CONTRADICTED
    assert (
        differing.probabilities[Fault.CONTRADICTED]
        > doubted.probabilities.get(Fault.CONTRADICTED, 0.0) + 0.2
    )


def test_a_value_that_another_passage_gives_for_something_else_is_no_support() -> None:
    case = Case(
        question="How long is the warranty?",
        answer="The standard warranty lasts 36 months.",
        passages=[WARRANTY, "The battery of the large model lasts 36 months."],
        relevant=[0.97, 0.4],
        supported=0.6,
        reason="supported",
    )
    kept = replace(case, answer=WARRANTY)
    swapped, right = case.diagnosis(), kept.diagnosis()

    assert swapped is not None
    assert swapped.fault is Fault.CONTRADICTED
    assert right is not None
    assert right.fault is Fault.NONE


def test_a_refusal_with_unknown_contexts_is_divided() -> None:
    found = decide(Signals(declines=True), "j")

    assert found.probabilities[Fault.NEEDLESS_REFUSAL] == pytest.approx(0.5)
    assert found.probabilities[Fault.KNOWLEDGE_GAP] == pytest.approx(0.25)


def test_a_judge_that_says_nothing_gives_no_diagnosis() -> None:
    assert diagnose(make_trace(), [], "j") is None


def test_a_caller_who_went_away_leaves_no_incomplete_answer() -> None:
    case = CASES[Fault.INCOMPLETE][0]

    found = replace(case, more={"status": TraceStatus.CANCELLED}).diagnosis()

    assert found is not None
    assert found.fault is Fault.NONE


def test_a_failed_call_is_forgiven_where_the_contexts_suffice() -> None:
    hits = (Hit(kind=HitKind.PLUGIN, name="tracking", ok=False),)

    found = replace(CASES[Fault.NONE][0], more={"hits": hits}).diagnosis()

    assert found is not None
    assert found.fault is Fault.NONE


def test_an_answer_about_the_year_that_was_asked_for_is_not_stale() -> None:
    case = replace(CASES[Fault.STALE_SOURCE][0], question="What did the basic plan cost in 2023?")

    found = case.diagnosis()

    assert found is not None
    assert found.fault is Fault.NONE

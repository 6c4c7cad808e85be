"""Citations are read in the forms in which products and people write them, and nothing else is."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.language.attribution import attribute
from rag_monitor.language.claims import take_apart
from rag_monitor.language.references import without_citations
from rag_monitor.language.sources import Source

_LINES: Final = (Path(__file__).parent / "citation_cases.jsonl").read_text(encoding="utf-8")
CASES: Final[list[dict[str, Any]]] = [json.loads(line) for line in _LINES.splitlines()]
LEAST_RIGHT: Final = 0.95


def _sources(case: dict[str, Any]) -> list[Source]:
    names = case.get("names") or [[]] * case["passages"]
    labels = case.get("labels") or [None] * case["passages"]
    return [Source(label, tuple(own)) for label, own in zip(labels, names, strict=True)]


def cited(case: dict[str, Any]) -> list[list[Any]]:
    """Each statement with citations and what it cites; 0: a passage that there is not."""
    attribution = attribute(case["answer"], lambda: _sources(case))
    if attribution is None:
        return []
    return [
        [
            statement.span.text,
            sorted(
                passage + 1
                for number in statement.citations
                for passage in attribution.citations[number].passages or (-1,)
            ),
        ]
        for statement in attribution.statements
        if statement.citations
    ]


def is_right(case: dict[str, Any]) -> bool:
    """Whether exactly the written statements cite exactly the written passages."""
    actual, expected = cited(case), case["cites"]
    return len(actual) == len(expected) and all(
        text.startswith(begins) and numbers == sorted(wanted)
        for (text, numbers), (begins, wanted) in zip(actual, expected, strict=True)
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("cites", [True, False])
def test_written_cases_are_read_right(language: str, cites: bool) -> None:
    cases = [c for c in CASES if c["lang"] == language and bool(c["cites"]) is cites]
    wrong = [(c["answer"], c["cites"], cited(c)) for c in cases if not is_right(c)]
    assert len(wrong) <= (1 - LEAST_RIGHT) * len(cases), wrong


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 200


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("利率下限为3.4%【1】【2】。", "利率下限为3.4%。"),
        ("Rates rose by 5%[1], to 7 %[2].", "Rates rose by 5%, to 7 %."),
        ("Rates rose by 5% %[1]%.", "Rates rose by 5%."),
        ("吞吐量增长了5%^[1]^。", "吞吐量增长了5%。"),
        ("The fee is $5[1] (net) [2].", "The fee is $5 (net)."),
        ("Water is H₂O [1]; x² is 4\u00a0[2].", "Water is H₂O;"),
        ('He said "no"[1]!', 'He said "no"!'),
        ("The fee (€5) [1] is due in May (see passage 2).", "The fee (€5) is due in May."),
    ],
)
def test_nothing_but_the_citation_is_taken_out(answer: str, text: str) -> None:
    assert take_apart(answer).claims[0].text == text


_PIECES: Final = (
    *"[]()）1,、-`。:^，é“”",
    "[1]", "【2†source】", "(Source 3)", "根据片段2", "①", "\n", "\n\n", ". ", "来源：", "- ", " ",
    "\nReferences\n", "[1]: https://a.example/x\n", "https://a.example/x", "terms.pdf", "<cite>",
    "</cite>", "##0$$", "The fee is 90 euros", "年费为90欧元", "資料１",
    "\ue200cite\ue202turn0search0\ue201",
)  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
def test_any_answer_is_read_and_places_stay_inside_it(answer: str) -> None:
    attribution = attribute(answer, lambda: [Source(None, ("terms.pdf",))] * 3)

    assert len(without_citations(answer)) == len(answer)
    if attribution is not None:
        assert all(0 <= one.start < one.end <= len(answer) for one in attribution.citations)
        assert all(place < 3 for one in attribution.citations for place in one.passages)
        numbers = {number for one in attribution.statements for number in one.citations}
        assert numbers <= set(range(len(attribution.citations)))


@pytest.mark.parametrize(
    "unit", ["[1][2] ", "[1] x\n", "A. [1] ", "¹", "(source ", "[", "\n[1]: x"]
)
def test_hostile_answers_take_little_time(unit: str) -> None:
    before = time.process_time()
    attribute(unit * 5000, lambda: [Source()] * 3)

    assert time.process_time() - before < 3


def test_a_link_that_a_passage_gives_cites_nothing() -> None:
    source = Source(None, ("https://bank.example/a",), "Log in at https://bank.example/login now.")

    assert attribute("Log in at https://bank.example/login.", lambda: [source]) is None
    invented = attribute("Log in at https://bank.example/other.", lambda: [source])
    assert invented is not None
    assert invented.citations[0].passages == ()

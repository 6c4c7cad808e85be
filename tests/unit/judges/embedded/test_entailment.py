import random

from benchmarks.embedded_judge.entailment import (
    CONTRADICTED,
    SUPPORTED,
    UNSUPPORTED,
    written_pairs,
)
from benchmarks.embedded_judge.written import Statement

PREMISE = "Rooms are free until noon; a late stay until five costs 20 euros."


def said(text: str, *, supported: bool = False, contrary: bool = False) -> Statement:
    return Statement("hotel_en", PREMISE, text, supported, contrary)


def test_a_contrary_statement_is_learnt_beside_the_supported_one_most_like_it() -> None:
    statements = [
        said("Staying until five costs 20 euros.", supported=True),
        said("The room may be used until noon.", supported=True),
        said("Breakfast is included."),
        said("The room may be used until ten.", contrary=True),
        said("Staying until five costs 30 euros.", contrary=True),
    ]

    pairs = written_pairs(statements, "details", random.Random(1))

    units = {
        unit: [p for p in pairs if p.unit == unit] for unit in dict.fromkeys(p.unit for p in pairs)
    }
    first, second = units.values()
    assert [p.label for p in first] == [SUPPORTED, CONTRADICTED, UNSUPPORTED]
    assert [p.claim for p in second] == [
        "The room may be used until noon.",
        "The room may be used until ten.",
    ]
    assert all(PREMISE in pair.evidence for pair in pairs)

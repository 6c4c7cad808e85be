"""Budgets that would hold nothing back are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rag_monitor.domain.stored import BudgetLimits
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.factory import check_budgets, payers

PRICE = {"input_per_million": 0.5}
PRICED = {"openai_compatible": {"price": PRICE}, "second": {"kind": "openai_compatible"}}


@pytest.mark.parametrize(
    ("name", "limits", "tables", "said"),
    [
        ("openai-compatible", {"tokens": 1}, {}, "did you mean 'openai_compatible'"),
        ("embedded", {"tokens": 1}, {}, "no judge of that name keeps to a budget"),
        ("second", {"tokens": 1}, PRICED, r"write \[store.budgets.openai_compatible\] for this"),
        ("openai_compatible", {"money": 5.0}, PRICED, r"needs \[judges.second.price\]"),
        ("openai_compatible", {"gpu_seconds": 5.0}, {}, "limit `tokens` or `money`"),
        ("packed", {"money": 5.0}, {}, "costs no money"),
    ],
)
def test_a_budget_that_would_not_be_kept_is_refused(
    name: str, limits: Mapping[str, Any], tables: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_budgets({name: BudgetLimits(**limits)}, tables)


def test_budgets_that_will_be_kept_are_taken() -> None:
    tables = {"openai_compatible": {"price": PRICE}, "many": {"kind": "ray", "judge": "packed"}}
    check_budgets(
        {
            "openai_compatible": BudgetLimits(tokens=1, money=5.0),
            "packed": BudgetLimits(gpu_seconds=3600.0),
        },
        tables,
    )


def test_an_ensemble_spends_from_its_members_budgets() -> None:
    tables = PRICED | {
        "panel": {"kind": "ensemble", "members": ["openai_compatible", "second", "embedded"]},
        "both": {"kind": "ensemble", "members": ["second", "packed"]},
        "many": {"kind": "ray", "judge": "packed"},
    }

    assert payers("panel", tables) == ("openai_compatible",)
    assert payers("both", tables) == ("openai_compatible", "packed")
    assert payers("many", tables) == ("packed",)
    assert payers("embedded", tables) == ()

"""Which judges keep to a budget, and whether what the settings say of budgets can ever hold.

The ledger counts by kind: two tables of one kind share a budget. A limit on something that a judge
never counts would be no limit, and nobody would notice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rag_monitor.domain.stored import BudgetLimits
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges import ensemble, registry
from rag_monitor.judges.configured import Tables, kind_of
from rag_monitor.spelling import did_you_mean

PAYERS: Final = tuple(name for name, made in registry.BUILT_IN.items() if "ledger" in made.services)
_PRICED: Final = "openai_compatible"


def payers(name: str, tables: Tables) -> tuple[str, ...]:
    """Whose budgets the judge called `name` spends from: its own, or its members'."""
    members = tables.get(name, {}).get("members")
    if kind_of(name, tables) == ensemble.NAME and isinstance(members, list):
        kinds = dict.fromkeys(kind_of(str(member), tables) for member in members)
    else:
        kinds = dict.fromkeys([kind_of(name, tables)])
    return tuple(kind for kind in kinds if kind in PAYERS)


def check_budgets(budgets: Mapping[str, BudgetLimits], tables: Tables) -> None:
    """Refuse a budget that would not be kept.

    Raises:
        ConfigurationError: It is no judge's, or limits what that judge does not count.
    """
    for name, limits in budgets.items():
        if name not in PAYERS:
            raise ConfigurationError(f"[store.budgets.{name}]: {_whose(name, tables)}")
        counts_money = name == _PRICED
        if limits.gpu_seconds is not None and counts_money:
            raise ConfigurationError(
                f"[store.budgets.{name}]: GPU seconds are not known of a server; limit `tokens` "
                "or `money`"
            )
        if limits.money is None:
            continue
        if not counts_money:
            raise ConfigurationError(
                f"[store.budgets.{name}]: it costs no money; limit `tokens` or `gpu_seconds`"
            )
        for table in (t for t in tables if kind_of(t, tables) == name):
            if not _has_price(tables[table]):
                raise ConfigurationError(
                    f"[store.budgets.{name}]: `money` needs [judges.{table}.price]; without a "
                    "price nothing is ever spent"
                )


def _whose(name: str, tables: Tables) -> str:
    kind = kind_of(name, tables)
    if name in tables and kind in PAYERS:
        return (
            "a budget is for all judges of a kind together; write "
            f"[store.budgets.{kind}] for this one"
        )
    return f"no judge of that name keeps to a budget{did_you_mean(name, PAYERS)}; known: " + (
        ", ".join(PAYERS)
    )


def _has_price(table: Mapping[str, object]) -> bool:
    price = table.get("price")
    return isinstance(price, Mapping) and any(
        isinstance(amount, int | float) and amount > 0 for amount in price.values()
    )

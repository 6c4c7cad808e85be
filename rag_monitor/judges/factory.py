"""Makes judges as the settings describe them: one table per judge, `[judges.<name>]`.

Three settings belong to no judge in particular. `kind` says which judge a table is for when its
name does not; `calibration` is a file `rag-monitor calibrate` wrote for exactly this judge; a table
of kind `ensemble` lists the names of its `members`, and one of kind `ray` names the `judge` that
the actors of a Ray cluster run.

The ledger of budgets counts by kind: two tables of one kind share a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from rag_monitor.domain.judgement import Aspect
from rag_monitor.domain.ports import BudgetLedger, ReplyCache
from rag_monitor.domain.stored import BudgetLimits
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import msgid
from rag_monitor.judges import ensemble, ray, registry
from rag_monitor.judges.calibrated import CalibratedJudge, Calibration
from rag_monitor.judges.calibration import read_calibration
from rag_monitor.judges.judge import Judge
from rag_monitor.judges.tables import check_names, read_table
from rag_monitor.spelling import did_you_mean

Tables = Mapping[str, Mapping[str, Any]]

_CALIBRATE_THEMSELVES: Final = frozenset({"embedded", "embedded-lexical"})
"""They come with a calibration, which a file replaces instead of following it."""

_OF_EVERY_TABLE: Final = frozenset({"kind", "calibration"})

PAYERS: Final = tuple(name for name, made in registry.BUILT_IN.items() if "ledger" in made.services)
"""Kinds that keep to a budget."""
_PRICED: Final = "openai_compatible"


@dataclass(frozen=True)
class _EnsembleTable:
    """What a table of kind `ensemble` may say."""

    members: list[str]


def make_judge(
    name: str,
    tables: Tables,
    *,
    ledger: BudgetLedger | None = None,
    cache: ReplyCache | None = None,
) -> Judge:
    """Make the judge that the settings call `name`.

        >>> tables = {"strict": {"kind": "embedded-lexical", "threshold": 0.8}}
        >>> str(make_judge("strict", tables).identity).partition("/")[0]
        'embedded-lexical'

    Args:
        name: A judge's name, or the name of a table with a `kind`.
        tables: All of `[judges.*]`.
        ledger: Keeps the judging budget, for judges that cost something.
        cache: Remembers replies, for judges that ask a server.

    Raises:
        UnknownJudge: No judge of that name is installed.
        ConfigurationError: A setting is wrong, a library is missing, or the calibration belongs to
            another judge.
    """
    table = dict(tables.get(name, {}))
    kind = table.pop("kind", name)
    path = "" if kind in _CALIBRATE_THEMSELVES else table.pop("calibration", "")
    if kind == ensemble.NAME:
        judge = _ensemble(name, table, tables, ledger, cache)
    elif kind == ray.NAME:
        judge = _on_ray(name, table, tables, ledger)
    else:
        judge = registry.create(kind, table, ledger=ledger, cache=cache)
    return calibrated(judge, Path(path)) if path else judge


def check_judges(tables: Tables, budgets: Mapping[str, BudgetLimits]) -> None:
    """Refuse what the settings say of judges and their budgets where it can never hold.

    Raises:
        ConfigurationError: As `check_tables` and `check_budgets` say.
    """
    check_tables(tables)
    check_budgets(budgets, tables)


def check_tables(tables: Tables) -> None:
    """Refuse a table that is no judge's, or holds a name that its judge does not know.

    Of a judge that is not in use nobody would notice before it is asked.

    Raises:
        ConfigurationError: No judge has the table's name or kind, or it has no such setting; the
            message names the nearest.
    """
    kinds = (*registry.names(), ensemble.NAME, ray.NAME)
    for name, table in tables.items():
        kind = str(table.get("kind", name))
        if kind in kinds:
            options = _settings_of(kind)
            if options is not None:  # else of another package, which knows its settings itself
                check_names(f"judges.{name}", table, options, _OF_EVERY_TABLE)
            continue
        if "kind" in table:
            text = msgid(
                "[judges.{name}]: there is no judge of the kind {kind!r}{meant}; known: {names}"
            )
        else:
            text = msgid(
                "[judges.{name}]: no judge is called {kind!r}{meant}; correct the name, or say "
                'with kind = "…" which judge the table is for; known: {names}'
            )
        meant = did_you_mean(kind, kinds)
        raise ConfigurationError(text, name=name, kind=kind, meant=meant, names=", ".join(kinds))


def _settings_of(kind: str) -> type[Any] | None:
    if kind == ensemble.NAME:
        return _EnsembleTable
    return ray.RayOptions if kind == ray.NAME else registry.options_of(kind)


def unused_tables(tables: Tables, used: Iterable[str]) -> list[str]:
    """The tables that none of the judges `used` reads, nor a judge they are made of."""
    reached: set[str] = set()
    wanted = list(used)
    while wanted:
        name = wanted.pop()
        if name in reached:
            continue
        reached.add(name)
        table = tables.get(name, {})
        members = table.get("members", ())
        wanted += [str(member) for member in members] if isinstance(members, list) else []
        wanted += [str(table["judge"])] if "judge" in table else []
    return [name for name in tables if name not in reached]


def kind_of(name: str, tables: Tables) -> str:
    """The name in the identity of the judge that the settings call `name`, without making it.

    Where a judge runs is no part of that: one of kind `ray` is the judge its actors run.
    """
    table = tables.get(name, {})
    kind = str(table.get("kind", name))
    wrapped = table.get("judge")
    if kind != ray.NAME or not isinstance(wrapped, str) or wrapped == name:
        return kind
    return str(tables.get(wrapped, {}).get("kind", wrapped))


def calibrated(judge: Judge, path: Path) -> Judge:
    """`judge` with the calibration of a file.

    Raises:
        ConfigurationError: The file cannot be used, or was written for another judge.
    """
    stored = read_calibration(path, str(judge.identity))
    return CalibratedJudge(
        judge,
        Calibration(
            version=stored.version,
            maps={Aspect.ANSWER_SUPPORTED: stored.map},
            threshold=stored.threshold,
        ),
    )


def _ensemble(
    name: str,
    table: Mapping[str, Any],
    tables: Tables,
    ledger: BudgetLedger | None,
    cache: ReplyCache | None,
) -> Judge:
    members = table.get("members")
    if set(table) - {"members"} or not isinstance(members, list):
        raise ConfigurationError(
            '[judges.{name}] takes members = ["…", "…"], the names of two or more judges, and '
            "calibration; the members' own settings stand in their own tables",
            name=name,
        )
    for member in members:
        if tables.get(member, {}).get("kind", member) == ensemble.NAME:
            raise ConfigurationError(
                "[judges.{name}]: {member!r} is an ensemble itself", name=name, member=member
            )
    return ensemble.EnsembleJudge(
        [make_judge(member, tables, ledger=ledger, cache=cache) for member in members]
    )


def _on_ray(
    name: str, table: Mapping[str, Any], tables: Tables, ledger: BudgetLedger | None
) -> Judge:
    options = read_table(f"judges.{name}", {"judge": "", **table}, ray.RayOptions)
    wrapped = dict(tables.get(options.judge, {}))
    kind = wrapped.get("kind", options.judge)
    if kind in (ray.NAME, ensemble.NAME):
        raise ConfigurationError(
            "[judges.{name}]: {judge!r} is itself made of other judges; name one of them",
            name=name,
            judge=options.judge,
        )
    services = registry.services_of(kind)
    if "cache" in services:
        raise ConfigurationError(
            "[judges.{name}]: {judge!r} asks a server; actors would only wait for it. Give the "
            "server more machines (vLLM, Ray Serve) and raise `limits.concurrency`",
            name=name,
            judge=options.judge,
        )
    # Its file is read here: the actors need only what the judge itself is made of.
    path = "" if kind in _CALIBRATE_THEMSELVES else wrapped.pop("calibration", "")
    judge = ray.create(
        partial(make_judge, options.judge, {options.judge: wrapped}),
        options,
        ledger if "ledger" in services else None,
    )
    return calibrated(judge, Path(path)) if path else judge


def payers(name: str, tables: Tables) -> tuple[str, ...]:
    """Whose budgets the judge called `name` spends from: its own, or its members'."""
    members = tables.get(name, {}).get("members")
    if kind_of(name, tables) == ensemble.NAME and isinstance(members, list):
        kinds = dict.fromkeys(kind_of(str(member), tables) for member in members)
    else:
        kinds = dict.fromkeys([kind_of(name, tables)])
    return tuple(kind for kind in kinds if kind in PAYERS)


def check_budgets(budgets: Mapping[str, BudgetLimits], tables: Tables) -> None:
    """Refuse a budget that would not be kept: a limit on what is never counted is no limit.

    Raises:
        ConfigurationError: It is no judge's, or limits what that judge does not count.
    """
    for name, limits in budgets.items():
        if name not in PAYERS:
            raise _not_kept(name, tables)
        counts_money = name == _PRICED
        if limits.gpu_seconds is not None and counts_money:
            raise ConfigurationError(
                "[store.budgets.{name}]: GPU seconds are not known of a server; limit `tokens` "
                "or `money`",
                name=name,
            )
        if limits.money is None:
            continue
        if not counts_money:
            raise ConfigurationError(
                "[store.budgets.{name}]: it costs no money; limit `tokens` or `gpu_seconds`",
                name=name,
            )
        for table in (t for t in tables if kind_of(t, tables) == name):
            if not _has_price(tables[table]):
                raise ConfigurationError(
                    "[store.budgets.{name}]: `money` needs [judges.{table}.price]; without a "
                    "price nothing is ever spent",
                    name=name,
                    table=table,
                )


def _not_kept(name: str, tables: Tables) -> ConfigurationError:
    kind = kind_of(name, tables)
    if name in tables and kind in PAYERS:
        return ConfigurationError(
            "[store.budgets.{name}]: a budget is for all judges of a kind together; write "
            "[store.budgets.{kind}] for this one",
            name=name,
            kind=kind,
        )
    return ConfigurationError(
        "[store.budgets.{name}]: no judge of that name keeps to a budget{meant}; known: {names}",
        name=name,
        meant=did_you_mean(name, PAYERS),
        names=", ".join(PAYERS),
    )


def _has_price(table: Mapping[str, object]) -> bool:
    price = table.get("price")
    return isinstance(price, Mapping) and any(
        isinstance(amount, int | float) and amount > 0 for amount in price.values()
    )

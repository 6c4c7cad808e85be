"""What was fitted to a file, and how good it is, as tables in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from rag_monitor.offline.report.terminal import plain, terminal
from rag_monitor.offline.report.words import Words, number

_MEASURES: Final = ("auroc", "ece", "brier")


def print_calibration(
    found: Mapping[str, Any], language: str = "en", console: Console | None = None
) -> None:
    """What `rag-monitor calibrate` fitted, on stdout.

    Args:
        found: As printed for `--json`.
        language: `en` or `zh`.
        console: Where to; default: stdout.
    """
    out, t = console or terminal(), Words(language)
    out.print(plain(f"{found['calibration']}  {found['version']}"), soft_wrap=True)
    out.print(plain(f"{t('judge')} {found['judge']}"), soft_wrap=True)
    counts = {
        "labelled_rows": found["rows"] + found["not_judged"],
        "judged_rows": found["rows"],
        "unfaithful_rows": found["rows"] - found["faithful"],
        "sources": found["sources"],
    }
    out.print(t.joined(f"{t(name)} {count:,}" for name, count in counts.items()), soft_wrap=True)
    out.print(f"{t('threshold')} {number(found['threshold'])}")
    out.print()
    out.print(_measured(found, t, {"brier": found["brier_of_base_rate"]}))
    _say_held_out(out, t, found)


def print_distilled(
    found: Mapping[str, Any], language: str = "en", console: Console | None = None
) -> None:
    """What `rag-monitor distil` learnt, on stdout.

    Args:
        found: As printed for `--json`.
        language: `en` or `zh`.
        console: Where to; default: stdout.
    """
    out, t = console or terminal(), Words(language)
    out.print(plain(f"{found['weights']}  {found['version']}"), soft_wrap=True)
    out.print(plain(f"{t('teacher')} {found['teacher']}"), soft_wrap=True)
    counts = (("rows_read", found["rows"]), ("answers", found["answers"]))
    out.print(t.joined(f"{t(name)} {count:,}" for name, count in counts), soft_wrap=True)
    for part in ("en", "zh"):
        own = found[part]
        out.print()
        title = t.joined(
            f"{t(name)} {own[name]:,}" for name in ("answers", "claims", "rejected") if name in own
        )
        out.print(plain(f"{t(f'language_{part}')}  {title}"), soft_wrap=True)
        if own["learnt"]:
            out.print(_measured(own, t))
            _say_held_out(out, t, own)
        else:
            out.print(t("not_learnt"), soft_wrap=True)


def _measured(found: Mapping[str, Any], t: Words, base: Mapping[str, float] | None = None) -> Table:
    """How good it was before and is on sources the fit never saw; `base`: of who knows no row."""
    before, after = found["before"], found["held_out"] or {}
    table = Table(box=None, pad_edge=False)
    columns = ("figure", "before_fit", "held_out", *(["base_rate"] if base else []))
    for place, name in enumerate(columns):
        table.add_column(t(name), justify="right" if place else "left")
    for name in (name for name in _MEASURES if name in before):
        cells = [number(before[name]), number(after.get(name))]
        if base:
            cells.append(number(base[name]) if name in base else "")
        table.add_row(t(name), *cells)
    return table


def _say_held_out(out: Console, t: Words, found: Mapping[str, Any]) -> None:
    if found["held_out"] is None:
        out.print(t("not_held_out"), soft_wrap=True)

"""How well a judge agrees with people, and what was fitted to a file, as tables in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from rag_monitor.offline.agreement import FACETS, FIGURES
from rag_monitor.offline.report.terminal import plain, terminal
from rag_monitor.offline.report.words import Words, ends, number

_COUNTS: Final = ("rows", "unfaithful")
_BY: Final = ("auroc", "balanced_accuracy", "kappa")
"""Figures of a language or task: those that fit beside each other."""
_BIAS: Final = ("position_", "length_")
_MEASURES: Final = ("auroc", "ece", "brier")


def print_agreement(report: Mapping[str, Any], language: str) -> None:
    """What `rag-monitor agreement` measured, as printed for `--json`, in tables on stdout."""
    out, t = terminal(), Words(language)
    out.print(plain(f"{report['file']}  {t('judge')} {report['judge']}"), soft_wrap=True)
    counts = {
        "labelled_rows": report["judged"] + report["not_judged"],
        "judged_rows": report["judged"],
        "unfaithful_rows": report["unfaithful"],
        "sources": report["groups"],
    }
    line = t.joined(f"{t(name)} {count:,}" for name, count in counts.items())
    out.print(line, soft_wrap=True)
    tables = {"": _figures(report, t), "confusion_faithfulness": _counts(report, t)}
    if report["reliability"]:
        tables["reliability"] = _reliability(report["reliability"], t)
    for by in (f"by_{facet}" for facet in FACETS):
        if report.get(by):
            tables[by] = _parts(report[by], t)
    bias = {name: value for name, value in report.items() if name.startswith(_BIAS)}
    if bias:
        tables["bias"] = _bias(bias, t)
    for title, table in tables.items():
        out.print()
        if title:
            out.print(t(title), style="italic")
        out.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left")
    return table


def _figures(report: Mapping[str, Any], t: Words) -> Table:
    table = _table(t("figure"), t("value"), t("interval"))
    for name in FIGURES:
        figure = report[name]
        table.add_row(t(name), number(figure["value"]), ends(figure["lower"], figure["upper"]))
    return table


def _counts(report: Mapping[str, Any], t: Words) -> Table:
    table = _table(t("label"), "TP", "FP", "FN", "TN")
    table.add_row(t("unfaithful"), *(f"{report[name]:,}" for name in ("tp", "fp", "fn", "tn")))
    return table


def _reliability(bins: Sequence[Mapping[str, float]], t: Words) -> Table:
    table = _table(t("stated"), t("observed"), t("interval"), t("labelled_rows"))
    for cell in bins:
        table.add_row(
            number(cell["stated"]),
            number(cell["observed"]),
            ends(cell["lower"], cell["upper"]),
            f"{cell['n']:,}",
        )
    return table


def _parts(parts: Mapping[str, Mapping[str, Any]], t: Words) -> Table:
    table = _table(t("name"), t("labelled_rows"), t("unfaithful"), *map(t, _BY))
    for name, part in parts.items():
        # Few rows, or of one class only: no figure of their own, and no dash that looks like one.
        figures = (number(part[key]["value"]) if key in part else "" for key in _BY)
        table.add_row(plain(name), *(f"{part[key]:,}" for key in _COUNTS), *figures)
    return table


def _bias(bias: Mapping[str, Any], t: Words) -> Table:
    table = _table(t("figure"), t("value"))
    for name, value in bias.items():
        table.add_row(t(name), f"{value:,}" if isinstance(value, int) else number(value))
    return table


def print_calibration(report: Mapping[str, Any], language: str) -> None:
    """What `rag-monitor calibrate` fitted, as printed for `--json`, in tables on stdout."""
    out, t = _begun(report, language, "calibration", "judge")
    counts = {
        "labelled_rows": report["rows"] + report["not_judged"],
        "judged_rows": report["rows"],
        "unfaithful_rows": report["rows"] - report["faithful"],
        "sources": report["sources"],
    }
    out.print(t.joined(f"{t(name)} {count:,}" for name, count in counts.items()), soft_wrap=True)
    out.print(f"{t('threshold')} {number(report['threshold'])}")
    out.print()
    out.print(_measured(report, t, {"brier": report["brier_of_base_rate"]}))
    _say_held_out(out, t, report)


def print_distilled(report: Mapping[str, Any], language: str) -> None:
    """What `rag-monitor distil` learnt, as printed for `--json`, in tables on stdout."""
    out, t = _begun(report, language, "weights", "teacher")
    counts = (("rows_read", report["rows"]), ("answers", report["answers"]))
    out.print(t.joined(f"{t(name)} {count:,}" for name, count in counts), soft_wrap=True)
    for part in ("en", "zh"):
        own = report[part]
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


def _begun(
    report: Mapping[str, Any], language: str, output: str, judge: str
) -> tuple[Console, Words]:
    """Where a fit is printed, after a head that says what was written and who judged."""
    out, t = terminal(), Words(language)
    out.print(plain(f"{report[output]}  {report['version']}"), soft_wrap=True)
    out.print(plain(f"{t(judge)} {report[judge]}"), soft_wrap=True)
    return out, t


def _measured(
    report: Mapping[str, Any], t: Words, base: Mapping[str, float] | None = None
) -> Table:
    """How good it was before and is on sources the fit never saw; `base`: of who knows no row."""
    before, after = report["before"], report["held_out"] or {}
    columns = ("figure", "before_fit", "held_out", *(["base_rate"] if base else []))
    table = _table(*map(t, columns))
    for name in (name for name in _MEASURES if name in before):
        cells = [number(before[name]), number(after.get(name))]
        if base:
            cells.append(number(base[name]) if name in base else "")
        table.add_row(t(name), *cells)
    return table


def _say_held_out(out: Console, t: Words, report: Mapping[str, Any]) -> None:
    if report["held_out"] is None:
        out.print(t("not_held_out"), soft_wrap=True)

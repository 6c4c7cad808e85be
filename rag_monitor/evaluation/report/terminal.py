"""A report as tables in a terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_monitor.evaluation.paired import Comparison
from rag_monitor.evaluation.report.model import Confusions, Report
from rag_monitor.evaluation.report.words import Words, number

_VERDICTS = {True: ("met", "green"), False: ("missed", "red"), None: ("unmeasured", "dim")}


def print_report(report: Report, language: str = "en", console: Console | None = None) -> None:
    """Metrics with intervals, targets and confusions on stdout; texts of rows stay out."""
    out = console or terminal()
    t = Words(language)
    table = Table(title=None, box=None, pad_edge=False)
    table.add_column(t("metric"))
    for name in ("mean", "interval", "scored"):
        table.add_column(t(name), justify="right", no_wrap=True)
    table.add_column(t("without"), overflow="fold")
    for metric in report.metrics:
        reasons = ", ".join(f"{t.reason(w)} {n}" for w, n in metric.reasons.items())
        table.add_row(
            plain(t.metric(metric.name)),
            number(metric.mean),
            ends(metric.lower, metric.upper),
            f"{metric.scored:,}",
            plain(reasons),
        )
    for name, figure in report.corpus.items():
        table.add_row(
            t.metric(name), number(figure.value), ends(figure.lower, figure.upper), f"{figure.n:,}"
        )
    out.print(table)
    for confusion in report.confusions:
        out.print(_confusion(confusion, t))
    if report.targets:
        out.print(_targets(report, t))
    counts = {"rows": report.rows, "flagged": report.flagged, "failed_rows": report.failed_rows}
    known = {name: count for name, count in counts.items() if count is not None}
    out.print(t.joined(f"{count:,} {t(name)}" for name, count in known.items()), soft_wrap=True)


def print_comparison(found: Comparison, language: str = "en") -> None:
    """Differences with intervals, then the rows that lost most."""
    out = terminal()
    t = Words(language)
    table = Table(box=None, pad_edge=False)
    table.add_column(t("metric"))
    for name in ("A", "B", t("difference"), t("interval"), "▲ / ▼"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    styles = {"better": "green", "worse": "red", "same": "dim"}
    for row in found.metrics:
        table.add_row(
            plain(t.metric(row.metric)),
            number(row.a),
            number(row.b),
            f"{row.difference:+.3f}",
            ends(row.lower, row.upper),
            f"{row.better} / {row.worse}",
            Text(t(row.verdict), style=styles[row.verdict]),
        )
    out.print(table)
    counts = [f"{found.rows:,} {t('rows')}", f"{found.only_a + found.only_b:,} {t('not_paired')}"]
    if found.repeated:
        counts.append(f"{found.repeated:,} {t('repeated_ids')}")
    out.print(t.joined(counts), soft_wrap=True)
    if found.regressions:
        losses = Table(title=t("regressions"), box=None, title_justify="left", pad_edge=False)
        for name in (t("row"), t("metric")):
            losses.add_column(name, overflow="fold")
        for name in ("A", "B", t("loss")):
            losses.add_column(name, justify="right")
        for lost in found.regressions:
            losses.add_row(
                plain(lost.id),
                plain(t.metric(lost.metric)),
                number(lost.a),
                number(lost.b),
                number(lost.loss),
            )
        out.print(losses)


def _confusion(confusion: Confusions, t: Words) -> Table:
    title = f"{t(f'confusion_{confusion.title}')} (n = {confusion.rows:,})"
    table = Table(title=plain(title), box=None, title_justify="left", pad_edge=False)
    table.add_column(t("label"))
    for name in ("TP", "FP", "FN", "TN", t("precision"), t("recall"), t("f1")):
        table.add_column(name, justify="right")
    for rate in confusion.rates:
        counts = (str(count) for count in (rate.tp, rate.fp, rate.fn, rate.tn))
        table.add_row(
            plain(t.label(confusion.title, rate.name)),
            *counts,
            *map(number, (rate.precision, rate.recall, rate.f1)),
        )
    return table


def _targets(report: Report, t: Words) -> Table:
    title = f"{t('targets')}: {report.profile_titles.get(t.language, report.profile or '')}"
    table = Table(title=plain(title), box=None, title_justify="left", pad_edge=False)
    for name in ("metric", "value", "target"):
        table.add_column(t(name), justify="left" if name == "metric" else "right")
    table.add_column("")
    for target in report.targets:
        word, style = _VERDICTS[target.met]
        table.add_row(
            t.metric(target.metric), number(target.value), target.bound, Text(t(word), style=style)
        )
    return table


def ends(lower: float | None, upper: float | None) -> str:
    """An interval for people."""
    return "–" if lower is None or upper is None else f"{number(lower)} – {number(upper)}"


def plain(text: str) -> Text:
    """Text from rows: control characters and rich's markup mean nothing in it."""
    return Text("".join(c if c.isprintable() else "�" for c in text))


def terminal() -> Console:
    """Standard output, in what it can show."""
    encoding = (sys.stdout.encoding or "utf-8").lower()
    return Console(highlight=False, soft_wrap=False, legacy_windows="utf" not in encoding)

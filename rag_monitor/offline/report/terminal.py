"""A report as tables in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_monitor.metrics.latency import PERCENTILES
from rag_monitor.offline.paired import Comparison
from rag_monitor.offline.report.model import Confusions, Figure, Report
from rag_monitor.offline.report.words import Words, ends, number, percent

_RATES: Final = ("precision", "recall", "false_positive_rate", "false_negative_rate", "f1")
_QUESTION_CHARS: Final = 80
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
    if table.row_count:
        out.print(table)
    if report.latencies:
        out.print(_latencies(report, t))
    for confusion in report.confusions:
        out.print(_confusion(confusion, t))
        averages = (f"{t(name)} {number(f.value)}" for name, f in confusion.averages.items())
        out.print(t.joined(averages), soft_wrap=True)
    if report.hit_rates:
        out.print(_figures(t("hit_rates"), report.hit_rates, t))
    if report.reported:
        out.print(_figures(t("reported"), report.reported, t))
    if report.targets:
        out.print(_targets(report, t))
    counts = {"rows": report.rows, "flagged": report.flagged, "failed_rows": report.failed_rows}
    counted = {name: count for name, count in counts.items() if count is not None}
    out.print(t.joined(f"{count:,} {t(name)}" for name, count in counted.items()), soft_wrap=True)


def print_comparison(comparison: Comparison, language: str) -> None:
    """Differences with intervals, then the rows that lost most."""
    out = terminal()
    t = Words(language)
    table = Table(box=None, pad_edge=False)
    table.add_column(t("metric"))
    for name in (t("pairs"), "A", "B", t("difference"), t("interval"), "▲ / ▼"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    styles = {"better": "green", "worse": "red", "same": "dim", "incomplete": "yellow"}
    for row in comparison.metrics:
        table.add_row(
            plain(t.metric(row.metric)),
            f"{row.rows:,}",
            number(row.a),
            number(row.b),
            "–" if row.difference is None else f"{row.difference:+.3f}",
            ends(row.lower, row.upper),
            f"{row.better} / {row.worse}",
            Text(t(row.verdict), style=styles[row.verdict]),
        )
    out.print(table)
    counts = [
        f"{comparison.rows:,} {t('rows')}",
        f"{comparison.only_a + comparison.only_b:,} {t('not_paired')}",
    ]
    if comparison.repeated:
        counts.append(f"{comparison.repeated:,} {t('repeated_ids')}")
    out.print(t.joined(counts), soft_wrap=True)
    if comparison.regressions:
        losses = Table(title=t("regressions"), box=None, title_justify="left", pad_edge=False)
        for name in (t("row"), t("metric")):
            losses.add_column(name, overflow="fold")
        for name in ("A", "B", t("loss")):
            losses.add_column(name, justify="right", no_wrap=True)
        losses.add_column(t("question"), overflow="fold")
        for lost in comparison.regressions:
            losses.add_row(
                plain(lost.id),
                plain(t.metric(lost.metric)),
                number(lost.a),
                number(lost.b),
                number(lost.loss),
                plain((lost.question or "")[:_QUESTION_CHARS]),
            )
        out.print(losses)


def _confusion(confusion: Confusions, t: Words) -> Table:
    title = f"{t(f'confusion_{confusion.title}')} (n = {confusion.rows:,})"
    table = Table(title=plain(title), box=None, title_justify="left", pad_edge=False)
    table.add_column(t("label"))
    for name in ("TP", "FP", "FN", "TN", *map(t, _RATES)):
        table.add_column(name, justify="right")
    for rate in confusion.rates:
        counts = (str(count) for count in (rate.tp, rate.fp, rate.fn, rate.tn))
        table.add_row(
            plain(t.label(confusion.title, rate.name)),
            *counts,
            *(number(getattr(rate, name)) for name in _RATES),
        )
    return table


def _latencies(report: Report, t: Words) -> Table:
    table = Table(title=t("percentiles"), box=None, title_justify="left", pad_edge=False)
    table.add_column(t("metric"))
    for name in (*PERCENTILES, "n"):
        table.add_column(name, justify="right")
    for timing, latency in report.latencies.items():
        times = (number(getattr(latency, name)) for name in PERCENTILES)
        table.add_row(t.metric(timing), *times, f"{latency.n:,}")
    return table


def _figures(title: str, figures: Mapping[str, Figure], t: Words) -> Table:
    table = Table(title=plain(title), box=None, title_justify="left", pad_edge=False)
    table.add_column(t("name"))
    for name in (t("value"), t("interval"), "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, figure in figures.items():
        interval = ends(figure.lower, figure.upper)
        table.add_row(plain(name), number(figure.value), interval, f"{figure.n:,}")
    return table


def _targets(report: Report, t: Words) -> Table:
    title = f"{t('targets')}: {report.profile_titles.get(t.language, report.profile or '')}"
    table = Table(title=plain(title), box=None, title_justify="left", pad_edge=False)
    for name in ("metric", "value", "target"):
        table.add_column(t(name), justify="left" if name == "metric" else "right")
    table.add_column("")
    lacking = any(target.missing_share for target in report.targets)
    if lacking:
        table.add_column(t("missing"), justify="right")
    for target in report.targets:
        word, style = _VERDICTS[target.met]
        table.add_row(
            plain(t.metric(target.metric)),
            number(target.value),
            target.bound,
            Text(t(word), style=style),
            *([percent(target.missing_share)] if lacking else []),
        )
    return table


def plain(text: str) -> Text:
    """Text from rows: control characters and rich's markup mean nothing in it."""
    return Text("".join(c if c.isprintable() else "�" for c in text))


def terminal() -> Console:
    """Standard output, in what it can show."""
    encoding = (sys.stdout.encoding or "utf-8").lower()
    return Console(highlight=False, soft_wrap=False, legacy_windows="utf" not in encoding)

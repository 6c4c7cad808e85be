"""The charts of an application: its traffic, errors and latencies, and each metric over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.aggregation.latencies import LatencySummary
from rag_monitor.aggregation.steps import steps
from rag_monitor.aggregation.trends import hits_by_step, latency_by_step, traces_by_step
from rag_monitor.charts import scale
from rag_monitor.charts.durations import milliseconds
from rag_monitor.charts.numbers import count_text, score_text, share_text
from rag_monitor.charts.scale import Scale
from rag_monitor.charts.spark import spark
from rag_monitor.charts.time_axis import TimeAxis
from rag_monitor.charts.time_chart import (
    LARGE,
    SMALL,
    WIDE,
    Line,
    Mark,
    TimeChart,
    drawn,
    numbers_table,
)
from rag_monitor.domain.alert import Alert, AlertRule, RuleKind
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import TRACES_METRIC
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.stored import ReleaseStart
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.i18n import msgid
from rag_monitor.metrics.names import is_share
from rag_monitor.server.quality import SHOWN_METRICS, on_grid, step_for
from rag_monitor.server.ui import catalog
from rag_monitor.server.ui.filter_form import METRICS as SORTABLE
from rag_monitor.server.ui.view import Visitor

POINTS: Final = 40
_SPARK_POINTS: Final = 24
_MOST_ALERTS: Final = 8
"""So many alerts are marked, the newest: of more, no chart could be read."""
_LATENCIES: Final = {
    "end_to_end_ms": msgid("Latency, end to end"),
    "first_byte_ms": msgid("Time to first byte"),
}
DRAWN: Final = (TRACES_METRIC, *_LATENCIES, *SHOWN_METRICS)
"""What the charts of every application need, as rollups name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A chart under its title."""

    title: str
    chart: Markup
    table: Markup
    """The same numbers; empty where they are not shown."""
    legend: Sequence[tuple[str, str]] = ()
    """Style class and name of each line, where there are several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppCharts:
    """Draws the numbers of one app over one window."""

    me: Visitor
    source: Estimates
    selection: Selection
    marks: Sequence[Mark] = ()
    alone: bool = False
    """Whether the app has the page to itself: larger charts, and their numbers as tables."""
    wide: bool = False
    """Whether each chart has a line to itself."""

    @property
    def step(self) -> timedelta:
        """The length of time that a point stands for."""
        return step_for(self.selection.window, POINTS)

    @property
    def grid(self) -> Window:
        """The window, begun at a round time."""
        return on_grid(self.selection.window, self.step)

    def overall(self) -> list[Picture]:
        """Traffic, errors and latencies, whatever was judged."""
        of = self.selection.over(self.grid)
        counts = traces_by_step(self.source, of, self.step)
        pictures = [self._traffic(counts), self._errors(counts)]
        for metric, title in _LATENCIES.items():
            pictures.append(
                self._latency(title, latency_by_step(self.source, of, metric, self.step))
            )
        return [picture for picture in pictures if picture.chart]

    def watched(self, rule: AlertRule) -> Picture | None:
        """What a rule looks at; None: it has no course, or too little of one."""
        of = self.selection.over(self.grid)
        if rule.kind in {RuleKind.TRAFFIC, RuleKind.NO_DATA}:
            return self._traffic(traces_by_step(self.source, of, self.step))
        if rule.kind is RuleKind.ERROR_RATE:
            return self._errors(traces_by_step(self.source, of, self.step))
        if rule.metric in _LATENCIES:
            summaries = latency_by_step(self.source, of, rule.metric, self.step)
            return self._latency(_LATENCIES[rule.metric], summaries)
        return self.metric(self.selection.series(rule.metric, COMBINED)) if rule.metric else None

    def metric(self, series: Series) -> Picture | None:
        """One metric with its intervals; None before there is a course to show."""
        points = self.source.series(series, self.grid, self.step)
        if sum(point.value is not None for point in points) < 2:
            return None  # one dot says no more than the number above it
        name = self.me.translate(catalog.metric_label(series.metric))
        of_all = is_share(series.metric)
        line = Line(
            name=name,
            values=[point.value for point in points],
            texts=[self._estimate(point, share=of_all) for point in points],
            bounds=[(point.lower, point.upper) for point in points],
        )
        return self._picture(
            self.me.translate("{metric} over time", metric=name),
            [line],
            scale.shares if of_all else scale.ratios,
            _behind(series.metric),
            judge_marks(points, self.me.translate("another judge")),
        )

    def hit_rate(self, kind: HitKind, name: str, basis: str) -> Picture | None:
        """How often one thing was hit; None before there is a course to show."""
        of = self.selection.over(self.grid)
        counts = hits_by_step(self.source, of, kind, name, basis, self.step)
        if sum(base > 0 for _, base in counts) < 2:
            return None
        line = Line(
            name=self.me.translate("where expected" if basis == "expected" else "of all"),
            values=[hits / base if base else None for hits, base in counts],
            texts=[self._share_of(hits, base) for hits, base in counts],
        )
        title = self.me.translate("Hit rate: {name}", name=name)
        return self._picture(title, [line], scale.shares, {kind.value: name})

    def _share_of(self, part: int, whole: int) -> str:
        """A share with both of its counts; a dash where there is nothing to count."""
        if not whole:
            return "–"
        return self.me.translate(
            "{share} ({n} of {all})",
            share=share_text(part / whole),
            n=count_text(part),
            all=count_text(whole),
        )

    def _estimate(self, point: Estimate, *, share: bool) -> str:
        text_of = share_text if share else score_text
        if point.value is None:
            return "–"
        ends = "" if point.lower is None else f" ({text_of(point.lower)}–{text_of(point.upper)})"
        return f"{text_of(point.value)}{ends} n={count_text(point.judged)}"

    def _traffic(self, counts: Sequence[Mapping[str, int]]) -> Picture:
        totals = [sum(by_status.values()) for by_status in counts]
        line = Line(
            name=self.me.translate("Traces"),
            values=totals if any(totals) else [None] * len(totals),
            texts=[count_text(total) for total in totals],
            bars=True,
        )
        return self._picture(self.me.translate("Traffic"), [line], scale.counts)

    def _errors(self, counts: Sequence[Mapping[str, int]]) -> Picture:
        failed = [by_status.get("error", 0) for by_status in counts]
        totals = [sum(by_status.values()) for by_status in counts]
        pairs = list(zip(failed, totals, strict=True))
        line = Line(
            name=self.me.translate("Errors"),
            values=[error / total if total else None for error, total in pairs],
            texts=[self._share_of(error, total) for error, total in pairs],
            kind="bad",
        )
        title = self.me.translate("Share of errors")
        return self._picture(title, [line], scale.shares, {"status": "error"})

    def _latency(self, title: str, summaries: Sequence[LatencySummary]) -> Picture:
        lines = [
            Line(
                name=name,
                values=values,
                texts=[milliseconds(value) for value in values],
                kind=kind,
            )
            for name, kind, values in (
                ("p90", "second", [one.p90 for one in summaries]),
                ("p50", "first", [one.p50 for one in summaries]),
            )
        ]
        return self._picture(
            self.me.translate(title), lines, scale.durations, {"sort": "latency", "order": "desc"}
        )

    def _picture(
        self,
        label: str,
        lines: Sequence[Line],
        of: Callable[[Sequence[float]], Scale],
        filters: Mapping[str, str] | None = None,
        marks: Sequence[Mark] = (),
    ) -> Picture:
        chart = TimeChart(
            label=label,
            windows=steps(self.grid, self.step),
            lines=lines,
            scale=of,
            axis=TimeAxis.over(self.selection.window, self.me.zone),
            marks=(*self.marks, *marks),
            traces=self.me.link("/traces", app=self.selection.app, **(filters or {})),
        )
        legend = [(line.kind, line.name) for line in lines] if len(lines) > 1 else []
        return Picture(
            title=label,
            chart=drawn(chart, LARGE if self.alone else WIDE if self.wide else SMALL),
            table=numbers_table(chart, self.me.translate("Time")) if self.alone else Markup(""),
            legend=legend,
        )


def _behind(metric: str) -> Mapping[str, str]:
    """Filters of the list of traces behind a metric, those first that say most."""
    if metric in SORTABLE:
        return {"metric": metric, "sort": "score", "order": "asc"}
    fault = FAULT_METRICS.get(metric)
    # What users say is no score that a list could be sorted by.
    return {} if fault is None else {"fault": fault.value}


def traffic_spark(me: Visitor, source: Estimates, selection: Selection) -> Markup:
    """The traffic of an app, and its errors, for a line of a table."""
    step = step_for(selection.window, _SPARK_POINTS)
    grid = on_grid(selection.window, step)
    counts = traces_by_step(source, selection.over(grid), step)
    totals = [sum(by_status.values()) for by_status in counts]
    failed = [by_status.get("error", 0) for by_status in counts]
    most = count_text(max(totals, default=0))
    return spark(totals, failed, me.translate("Traffic, at most {n} at a time", n=most))


def release_marks(starts: Sequence[ReleaseStart], window: Window) -> list[Mark]:
    """The releases that appeared inside the window, oldest first."""
    marks = [
        Mark(at=start.first_seen, name=start.release)
        for start in starts
        if window.start < start.first_seen < window.end
    ]
    return sorted(marks, key=lambda mark: mark.at)


def alert_marks(me: Visitor, alerts: Sequence[Alert], window: Window) -> list[Mark]:
    """The newest alerts that fired inside the window, oldest first."""
    marks = [
        Mark(at=alert.fired_at, name=me.rule(alert.rule), kind="alert")
        for alert in alerts
        if alert.fired_at is not None and window.start < alert.fired_at < window.end
    ]
    return sorted(marks, key=lambda mark: mark.at)[-_MOST_ALERTS:]


def break_marks(me: Visitor, broke_at: datetime | None, window: Window) -> list[Mark]:
    """Where a course broke, if that is told and inside the window."""
    if broke_at is None or not window.start < broke_at < window.end:
        return []
    return [Mark(at=broke_at, name=me.translate("it broke"), kind="break")]


def judge_marks(points: Sequence[Estimate], name: str) -> list[Mark]:
    """Where a point rests on another judge than the one before: a step there is the judges'."""
    scored = [point for point in points if point.rests_on]
    return [
        Mark(at=point.window.start, name=name)
        for before, point in pairwise(scored)
        if point.rests_on != before.rests_on
    ]

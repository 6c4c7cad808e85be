"""Who judges, how well it agrees with people, what it costs and how often it fails."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.charts.scores import reliability
from rag_monitor.domain.label import CANNOT_TELL
from rag_monitor.domain.rollup import TRACES_METRIC
from rag_monitor.domain.stored import AppSummary, JudgeSpending, LabelledScore
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.metrics.rag.scoring import BAD_BELOW
from rag_monitor.server.quality import SHOWN_METRICS
from rag_monitor.server.rating_agreement import ENOUGH, OF_EACH, rating_agreement
from rag_monitor.server.services import JudgeInfo
from rag_monitor.server.ui.view import Viewer, Visitor, page
from rag_monitor.statistics.agreement import (
    BinaryAgreement,
    Kappa,
    auroc,
    auroc_interval,
    binary_agreement,
    cohen_kappa,
    kappa_interval,
    mean_of_two_interval,
)
from rag_monitor.statistics.reliability import Reliability, ReliabilityTally
from rag_monitor.statistics.reviewers import (
    Alpha,
    PairAgreement,
    krippendorff_alpha,
    pair_agreements,
)
from rag_monitor.statistics.wilson import Interval

PROBABILITY: Final = "answer_supported"
"""The score that claims to be a probability, so that it has a calibration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricAgreement:
    """One metric of one judge against people. The positive class is a good answer."""

    metric: str
    cells: BinaryAgreement
    kappa: Kappa
    auroc: float | None
    """None without both classes."""
    reliability: Reliability | None = None
    """Of the metric that claims a probability only, and of enough marks."""

    @property
    def count(self) -> int:
        """Labelled traces."""
        return self.cells.tp + self.cells.fp + self.cells.tn + self.cells.fn

    @property
    def good(self) -> int:
        """Labelled traces that people called good."""
        return self.cells.tp + self.cells.fn

    @property
    def bad(self) -> int:
        """Labelled traces that people called bad."""
        return self.cells.tn + self.cells.fp

    @property
    def telling(self) -> bool:
        """Whether so many labels say anything about the judge.

        A single mark would make κ 1; who calls every answer good is right on twenty good ones, too.
        """
        return self.count >= ENOUGH and min(self.good, self.bad) >= OF_EACH

    @property
    def balanced_accuracy_interval(self) -> Interval | None:
        """None without both classes."""
        if not (self.good and self.bad):
            return None
        recalls = (self.cells.tp / self.good, self.good), (self.cells.tn / self.bad, self.bad)
        return mean_of_two_interval(*recalls)

    @property
    def kappa_interval(self) -> Interval:
        """Of a kappa without spread, such as that of a judge never wrong, what its marks allow."""
        if self.kappa.se > 0 or self.kappa.value < 1.0 or not (self.good and self.bad):
            return self.kappa.interval
        share = self.good / self.count  # both call the same ones good
        return kappa_interval(1.0, share**2 + (1.0 - share) ** 2, self.count)

    @property
    def auroc_interval(self) -> Interval | None:
        """None without both classes."""
        return None if self.auroc is None else auroc_interval(self.auroc, self.good, self.bad)


def agreement_by_judge(rows: Iterable[LabelledScore]) -> dict[str, list[MetricAgreement]]:
    """Per judge, its metrics that people marked, most labelled first."""
    grouped: dict[tuple[str, str], list[LabelledScore]] = defaultdict(list)
    for row in rows:
        if row.label != 0.5:  # people who are unsure confirm and refute nothing
            grouped[row.judge, row.metric].append(row)
    by_judge: dict[str, list[MetricAgreement]] = defaultdict(list)
    for (judge, metric), members in grouped.items():
        by_judge[judge].append(_agreement(metric, members))
    return {
        judge: sorted(each, key=lambda one: (-one.count, one.metric))
        for judge, each in by_judge.items()
    }


def _agreement(metric: str, rows: Sequence[LabelledScore]) -> MetricAgreement:
    labels = [row.label > 0.5 for row in rows]
    judged = [_good(row) for row in rows]
    values = [row.value for row in rows]
    claims = metric == PROBABILITY and len(rows) >= ENOUGH
    return MetricAgreement(
        metric=metric,
        cells=binary_agreement(judged, labels),
        kappa=cohen_kappa(judged, labels),
        auroc=auroc(values, labels),
        reliability=_reliability(values, labels) if claims else None,
    )


def _good(row: LabelledScore) -> bool:
    """`answer_supported` knows by the judge's own threshold, as in the estimates."""
    if row.flagged is not None:
        return not row.flagged
    return row.value >= BAD_BELOW.get(row.metric, 0.5)


def _reliability(values: Sequence[float], labels: Sequence[bool]) -> Reliability | None:
    tally = ReliabilityTally()
    for value, good in zip(values, labels, strict=True):
        tally.add(value, good)
    return tally.report()


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleAgreement:
    """Reviewers against one another, on the question of the labelling page."""

    traces: int
    """Traces on which two or more could tell."""
    reviewers: int
    """People who could tell on such a trace."""
    alpha: Alpha | None
    """None where all said the same."""
    pairs: Sequence[PairAgreement]
    """Those with enough traces in common."""
    few: bool
    """So few traces that the figures tell nothing yet."""


def people_agreement(
    marks: Mapping[str, Mapping[str, float]], per_trace: int = 1
) -> PeopleAgreement | None:
    """Agreement of people; whoever cannot tell said nothing.

    Args:
        marks: Values by trace and reviewer, who answered first before who answered later.
        per_trace: How many are asked about each trace. Further ones were asked because those
            contradict each other, so that they would count contradictions twice.
    """
    verdicts = {
        trace_id: {
            who: value > CANNOT_TELL
            for who, value in islice(by_reviewer.items(), max(2, per_trace))
            if value != CANNOT_TELL
        }
        for trace_id, by_reviewer in marks.items()
    }
    shared = {
        trace_id: by_reviewer for trace_id, by_reviewer in verdicts.items() if len(by_reviewer) > 1
    }
    if not shared:
        return None
    return PeopleAgreement(
        traces=len(shared),
        reviewers=len({who for by_reviewer in shared.values() for who in by_reviewer}),
        alpha=krippendorff_alpha(shared),
        pairs=pair_agreements(shared),
        few=len(shared) < ENOUGH,
    )


router = APIRouter(include_in_schema=False)

METRIC: Final = "faithfulness"
"""What judges are shown by, app by app."""
MAX_APPS: Final = 20
MAX_PARKED: Final = 20
"""Traces that judging gave up on; the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One judge."""

    info: JudgeInfo
    apps: list[tuple[str, Estimate]]
    agreement: Sequence[MetricAgreement]
    """With people's marks of the window."""
    diagram: str
    spending: Sequence[JudgeSpending]

    @property
    def tokens(self) -> int:
        """Tokens of the window."""
        return sum(day.tokens for day in self.spending)

    @property
    def gpu_seconds(self) -> float:
        """GPU seconds of the window."""
        return sum(day.gpu_seconds for day in self.spending)

    @property
    def money(self) -> float:
        """Money of the window, in the currency of the price."""
        return sum(day.money for day in self.spending)


@router.get("/judges")
def judges(me: Viewer) -> HTMLResponse:
    """Every judge in use."""
    with me.services.reading():
        return _judges(me)


def _judges(me: Visitor) -> HTMLResponse:
    period = me.period("7d")
    window = period.window
    project = me.principal.project
    marked = me.services.feedback.against_scores(project, window.start, window.end)
    agreement = agreement_by_judge(marked)
    all_apps = me.services.traces.apps(project)
    apps = _newest(all_apps)
    source = me.services.estimates.once([one.app for one in apps], (*SHOWN_METRICS, TRACES_METRIC))
    spending = [
        day
        for day in me.services.spending(project, window.start.date())
        if day.day <= window.end.date()
    ]
    return page(
        me,
        "judges.html",
        {
            "rows": [
                _row(me, source, info, apps, window, agreement.get(info.name, []), spending)
                for info in _infos(me, source, apps, window)
            ],
            "period": period,
            "refused": me.not_applied("window", "from", "to") | period.refused,
            "days": [moment.date().isoformat() for moment in (window.start, window.end)],
            "left_out": len(all_apps) - len(apps),
            "backlog": me.services.tasks.backlog(me.services.clock.now()),
            "people": _people(me, window),
            "ratings": rating_agreement(
                me.services.feedback.rated_scores(project, window.start, window.end)
            ),
            "parked": me.services.tasks.parked(MAX_PARKED, project),
            "assembling": me.services.assembling(project),
        },
    )


def _people(me: Visitor, window: Window) -> PeopleAgreement | None:
    """How well reviewers agree with one another; None where no two have marked the same trace."""
    marks = me.services.feedback.newest_marks(me.principal.project, window.start, window.end)
    return people_agreement(marks, me.services.settings.labels.marks_per_trace)


def _infos(
    me: Visitor, source: Estimates, apps: Sequence[AppSummary], window: Window
) -> Sequence[JudgeInfo]:
    """The judges of this process; where others judge, those whose scores are there."""
    configured = me.services.judges()
    if configured:
        return configured
    project = me.principal.project
    names = {
        judge
        for app in apps
        for metric in SHOWN_METRICS
        for judge in source.judges(
            Series(project=project, app=app.app, metric=metric, judge=COMBINED), window
        )
    }
    return [JudgeInfo(name=judge) for judge in sorted(names - {"", COMBINED})]


def _newest(apps: Sequence[AppSummary]) -> list[AppSummary]:
    """Those whose traces are newest, by name."""
    newest = sorted(apps, key=lambda one: one.last_seen)[-MAX_APPS:]
    return sorted(newest, key=lambda one: one.app)


def _row(
    me: Visitor,
    source: Estimates,
    info: JudgeInfo,
    apps: Sequence[AppSummary],
    window: Window,
    agreement: Sequence[MetricAgreement],
    spending: Sequence[JudgeSpending],
) -> Row:
    claimed = next((one.reliability for one in agreement if one.reliability), None)
    name = info.name.split("/")[0]
    return Row(
        info=info,
        apps=_apps(me, source, info, apps, window),
        agreement=agreement,
        diagram=reliability(
            claimed.bins,
            me.translate("Reliability diagram"),
            me.translate("probability the judge gave"),
            me.translate("share people called good"),
        )
        if claimed
        else "",
        spending=[day for day in spending if day.judge == name],
    )


def _apps(
    me: Visitor, source: Estimates, info: JudgeInfo, apps: Sequence[AppSummary], window: Window
) -> list[tuple[str, Estimate]]:
    project = me.principal.project
    rows = []
    for app in apps:
        series = Series(project=project, app=app.app, metric=METRIC, judge=info.name)
        estimate = source.estimate(series, window)
        if estimate.judged or estimate.failed:
            rows.append((app.app, estimate))
    return rows

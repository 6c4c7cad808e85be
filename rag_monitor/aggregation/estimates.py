"""Live estimates over windows, from rollups alone; each says what it rests on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain

from rag_monitor.aggregation import keys
from rag_monitor.aggregation.clusters import count_sizes, latency_design, per_bucket
from rag_monitor.aggregation.combine import (
    BadCount,
    Choice,
    Outcomes,
    bad_count,
    called_judges,
    choose,
    combine,
    tuned_lam,
)
from rag_monitor.aggregation.comparison import (
    BaselineKind,
    PreviousRelease,
    baseline_window,
    first_seen,
    previous_release,
)
from rag_monitor.aggregation.dependence import design_of, same_judges, score_share
from rag_monitor.aggregation.fault_sums import of_metric
from rag_monitor.aggregation.label_eligibility import ENOUGH_LABELS
from rag_monitor.aggregation.latencies import LatencySummary, latency_summary
from rag_monitor.aggregation.request_cache import CachedSource, FoldedReleases
from rag_monitor.aggregation.routing import confusions_of
from rag_monitor.aggregation.series_query import query_of
from rag_monitor.aggregation.shares import Share, share_estimate
from rag_monitor.aggregation.steps import by_step, step_count, steps
from rag_monitor.aggregation.totals import RollupSource, Totals, sum_of, sums_by
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.rollup import (
    HIT_RATE_METRIC,
    ROUTING_METRIC,
    SATISFACTION_METRIC,
    TRACES_METRIC,
    Rollup,
    RollupQuery,
)
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.session_outcome import SESSION_METRICS, SESSIONS_METRIC
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.metrics.routing import Confusion


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """How estimates are made."""

    min_judged: int = 50
    """Fewer scored traces than this: a value without interval."""
    min_labelled: int | None = ENOUGH_LABELS
    """With so many labels on traces that were drawn for people the judge is corrected by them;
    None: never. Rules leave it out: a correction that sets in would look like a change."""
    confidence: float = 0.95
    release_lookback: timedelta = timedelta(days=7)
    """How far back the release before the present one is looked for."""
    dependence: timedelta = timedelta(hours=24)
    """Stretch, up to the end of a window, that tells how much alike traces of a session are; of a
    longer window the window itself does."""


class Estimates:
    """Answers every question about a window.

    A hundred answers were judged in one minute, ten of them bad:

        >>> from datetime import UTC
        >>> from rag_monitor.aggregation.totals import Totals
        >>> from rag_monitor.domain.rollup import RollupKey
        >>> at = datetime(2026, 1, 5, 12, tzinfo=UTC)
        >>> key = RollupKey(
        ...     project="default", app="faq", metric="faithfulness", minute=at, judge="gpt"
        ... )
        >>> class OneRow:
        ...     def load(self, query):
        ...         return [Totals(count=100, total=90.0, squares=90.0, weight=100.0).rollup(key)]
        ...     def load_sums(self, query, step=None):
        ...         return self.load(query) if query.metric == "faithfulness" else []
        >>> series = Series(project="default", app="faq", metric="faithfulness", judge="combined")
        >>> hour = Window(at, at + timedelta(hours=1))
        >>> estimate = Estimates(OneRow()).estimate(series, hour)
        >>> estimate.value, round(estimate.lower, 3), round(estimate.upper, 3), estimate.rests_on
        (0.9, 0.825, 0.945, 'gpt')

    Args:
        source: Loads rollups.
        options: Levels and limits.
    """

    def __init__(self, source: RollupSource, options: EstimateOptions | None = None) -> None:
        self._source = source
        self._options = options or EstimateOptions()

    def estimate(
        self, series: Series, window: Window, *, min_judged: int | None = None
    ) -> Estimate:
        """The metric over the window.

        Args:
            series: What; the judge `combined` gives the best estimate there is.
            window: When.
            min_judged: Fewer scored traces than this withhold the interval; None: the option.
        """
        rows = self._summed(series, window)
        choice = choose(series.judge, sums_by(rows, _judge))
        lam = 1.0
        if choice.proxy is not None:
            lam = self._tuning(self._summed(series, window.before()), choice)
        traces = self._count(series, window)
        over = self._over(series, window, choice)
        return self._estimate(series, window, choice, traces, lam, min_judged, over)

    def series(
        self, series: Series, window: Window, step: timedelta, *, min_judged: int | None = None
    ) -> list[Estimate]:
        """One estimate per step of the window, oldest first; the last step may be shorter."""
        rows = by_step(self._summed(series, window, step), window, step)
        traces = by_step(self._traces_of(series, window, step), window, step)
        stretch = sums_by(chain(*rows.values()), _judge)
        if not self._tells_dependence(series, window) and any(map(score_share, stretch.values())):
            stretch = self._stretch_sums(series, window)
        estimates: list[Estimate] = []
        previous: Sequence[Rollup] = ()
        for index, part in enumerate(steps(window, step)):
            present = rows.get(index, [])
            choice = choose(series.judge, sums_by(present, _judge))
            lam = self._tuning(previous, choice) if choice.proxy is not None else 1.0
            count = sum(row.count for row in traces.get(index, ()))
            over = same_judges(choice, stretch)
            estimates.append(self._estimate(series, part, choice, count, lam, min_judged, over))
            previous = present
        return estimates

    def outcomes(self, series: Series, window: Window) -> Outcomes:
        """Scored, failed, suspect and shed judgements of the window.

        For `combined`, those of every judge that was asked, the embedded one where it is alone.
        """
        totals = called_judges(series.judge, sums_by(self._summed(series, window), _judge))
        return Outcomes(
            scored=totals.count,
            failed=totals.failed,
            not_applicable=totals.not_applicable,
            suspect=totals.suspect,
            bad=totals.bad,
            shed=int(totals.moment(keys.SHED)),
        )

    def bad_count(self, series: Series, window: Window) -> BadCount:
        """Judged and bad traces (score below `BAD_BELOW`) of the window."""
        choice = choose(series.judge, sums_by(self._summed(series, window), _judge))
        # By the judge alone, as it is counted.
        alone = Choice(judge=choice.judge, totals=choice.totals)
        over = self._over(series, window, alone)
        return bad_count(choice.totals, choice.judge, design_of(alone, over))

    def bad_counts(
        self, series: Series, window: Window, step: timedelta
    ) -> list[tuple[datetime, BadCount]]:
        """Judged and bad traces per step, oldest first; one judge for the whole window."""
        rows = of_metric(self._source.load(query_of(series, window)), series.metric)
        judge = series.judge
        if judge == keys.COMBINED:
            judge = choose(judge, sums_by(rows, _judge)).judge
        grouped = by_step([row for row in rows if row.key.judge == judge], window, step)
        nothing = BadCount(judge=judge)
        return [
            (
                part.start,
                bad_count(sum_of(grouped[index]), judge) if index in grouped else nothing,
            )
            for index, part in enumerate(steps(window, step))
        ]

    def baseline(
        self,
        series: Series,
        window: Window,
        kind: BaselineKind,
        *,
        min_judged: int | None = None,
    ) -> Estimate | None:
        """What the window is compared with; None when there is no earlier release.

        For `previous_release` the baseline is the last stretch of the release before.
        """
        if kind is not BaselineKind.PREVIOUS_RELEASE:
            return self.estimate(series, baseline_window(window, kind), min_judged=min_judged)
        previous = self.replaced_release(series, window)
        if previous is None:
            return None
        earlier = replace(series, release=previous.release)
        return self.estimate(earlier, previous.last_stretch(window.length), min_judged=min_judged)

    def replaced_release(self, series: Series, window: Window) -> PreviousRelease | None:
        """The release before the one of the series; looked up as `first_seen` is."""
        rows = self._load_traces(series.project, series.app, window)
        return previous_release(rows, series.release)

    def score_counts(self, series: Series, window: Window) -> list[dict[str, Sequence[int]]]:
        """Scores in each of `SCORE_BUCKETS`, by release: of every judge (`combined`) or of one."""
        rows = [row for row in self._summed(series, window) if row.histogram]
        counts: dict[str, dict[str, Sequence[int]]] = defaultdict(dict)
        for key, sums in sums_by(rows, lambda row: (row.key.judge, row.key.release)).items():
            if series.judge in (keys.COMBINED, key[0]):
                counts[key[0]][key[1]] = sums.histogram
        return list(counts.values())

    def latency(self, selection: Selection, metric: str) -> LatencySummary:
        """Count, percentiles, mean (milliseconds) and histogram of one latency."""
        totals = sum_of(self._sums(selection, metric))
        over = totals
        if count_sizes(totals).share and (wider := self._wider(selection)) != selection:
            over = sum_of(self._sums(wider, metric))
        return latency_summary(totals, latency_design(totals, over))

    def hit_rate(self, selection: Selection, kind: HitKind, name: str, basis: str) -> Estimate:
        """Traces with a hit of that name over all traces, or over those that expected it.

        Args:
            selection: Of which traces.
            kind: Plugin, knowledge base or workflow.
            name: Its name.
            basis: `all` or `expected`.
        """
        if basis not in {"all", "expected"}:
            raise ValueError(f"basis must be 'all' or 'expected', not {basis!r}")
        dimension = keys.hit_dimension(HitKind(kind), name, basis)

        def counted(of: Selection) -> Share:
            rows = self._sums(of, HIT_RATE_METRIC)
            hits = sum_of(row for row in rows if row.key.dimension == dimension)
            # A minute without the name has no row, so the rows do not know all traces.
            base = sum_of(self._sums(of, TRACES_METRIC)) if basis == "all" else hits
            return Share(hits=hits.total, by_bucket=per_bucket(hits, "y"), base=base)

        hit_share = self._share(f"{HIT_RATE_METRIC}:{dimension}", selection, counted)
        return replace(hit_share, traces=sum(self.traces(selection).values()))

    def status_share(self, selection: Selection, status: TraceStatus) -> Estimate:
        """Traces that ended in this status over all traces; the metric is `traces:<status>`."""

        def counted(of: Selection) -> Share:
            rows = self._sums(of, TRACES_METRIC)
            ended = sum_of(row for row in rows if row.key.dimension == status.value)
            return Share(
                hits=float(ended.count), by_bucket=per_bucket(ended, "r"), base=sum_of(rows)
            )

        return self._share(f"{TRACES_METRIC}:{status.value}", selection, counted)

    def _share(
        self, metric: str, selection: Selection, counted: Callable[[Selection], Share]
    ) -> Estimate:
        share = counted(selection)
        stretch = self._wider(selection) if share.clustered else selection
        over = share if stretch == selection else counted(stretch)
        return share_estimate(metric, selection, share, over, self._options.confidence)

    def hit_names(self, selection: Selection) -> list[tuple[HitKind, str]]:
        """Every kind and name that was called or expected in the window, in order."""
        rows = self._sums(selection, HIT_RATE_METRIC)
        names = {
            (parts[0], parts[1])
            for row in rows
            if (parts := keys.split_dimension(row.key.dimension)) is not None
        }
        return sorted(names)

    def knowledge_bases(self, selection: Selection) -> list[str]:
        """Knowledge bases that gave passages in the window, in order: `Series.knowledge_base`."""
        rows = self._sums(selection, HIT_RATE_METRIC)
        names = {
            parts[1]
            for row in rows
            if row.total > 0 and (parts := keys.split_dimension(row.key.dimension)) is not None
            if parts[0] is HitKind.KNOWLEDGE_BASE
        }
        return sorted(names)

    def routing(self, selection: Selection) -> list[Confusion]:
        """The routing confusion per kind and name over the labelled traces of the window."""
        return confusions_of(self._sums(selection, ROUTING_METRIC))

    def traces(self, selection: Selection) -> dict[str, int]:
        """Traces by status."""
        rows = self._sums(selection, TRACES_METRIC)
        counts: dict[str, int] = defaultdict(int)
        for row in rows:
            counts[row.key.dimension] += row.count
        return dict(counts)

    def live_by_step(self, selection: Selection, step: timedelta) -> Sequence[int]:
        """Traces that arrived soon after they began, per step of the window, oldest first.

        Imported history is left out.
        """
        totals = map(sum_of, self.step_rows(selection, TRACES_METRIC, step))
        return [one.count - int(one.moment(keys.LATE)) for one in totals]

    def step_rows(self, selection: Selection, metric: str, step: timedelta) -> list[list[Rollup]]:
        """The rows of each step of the window, oldest first: `aggregation.trends` reads them."""
        rows = by_step(self._sums(selection, metric, step), selection.window, step)
        return [rows.get(index, []) for index in range(step_count(selection.window, step))]

    def judges(self, series: Series, window: Window) -> list[str]:
        """Identities with scores of this metric in the window, fullest first."""
        everyone = replace(series, judge=keys.COMBINED)
        by_judge = sums_by(self._summed(everyone, window), _judge)
        return sorted(by_judge, key=lambda judge: (-by_judge[judge].count, judge))

    def coverage(self, selection: Selection) -> list[tuple[str, int]]:
        """The judges of these traces and how many of them each has judged, the busiest first.

        A trace counts as judged by the metric that a judge answered most often, also where the
        answer was that it does not apply.
        """
        answered: dict[tuple[str, str], int] = defaultdict(int)
        for row in self._sums(selection, None):
            if row.key.judge:
                answers = row.count + row.not_applicable + row.suspect
                answered[row.key.judge, row.key.metric] += answers
        most: dict[str, int] = defaultdict(int)
        for (judge, _), count in answered.items():
            most[judge] = max(most[judge], count)
        return sorted(most.items(), key=lambda item: (-item[1], item[0]))

    def releases(self, project: str, app: str, window: Window) -> list[str]:
        """Releases with traces in the window, the one that appeared last first.

        First appearances are looked up as far back as `EstimateOptions.release_lookback`.
        """
        present = self.present_releases(project, app, window)
        if len(present) < 2:
            return sorted(present)
        first = self.first_seen(project, app, window)
        # Erased between the two looks: as good as new.
        return sorted(present, key=lambda name: (first.get(name, window.end), name), reverse=True)

    def present_releases(self, project: str, app: str, window: Window) -> set[str]:
        """Releases with traces in the window."""
        selection = Selection(project=project, app=app, window=window)
        return {row.key.release for row in self._sums(selection, TRACES_METRIC)}

    def first_seen(self, project: str, app: str, window: Window) -> dict[str, datetime]:
        """When each release appeared, looked up as far back as `release_lookback`, by name.

        Reads the minutes of all that time: to be asked seldom.
        """
        return first_seen(self._load_traces(project, app, window))

    def judged_series(self, selection: Selection) -> list[Series]:
        """Every metric of scores, judge and release; what users rated is of judge `combined`."""
        keys_of_scores = {
            (metric, row.key.judge or keys.COMBINED, row.key.release)
            for row in self._sums(selection, None)
            if not keys.is_of_faults(metric := keys.without_knowledge_base(row.key.metric))
            if row.key.judge or metric == SATISFACTION_METRIC
        }
        return [replace(selection.series(m, j), release=r) for m, j, r in sorted(keys_of_scores)]

    def once(
        self, apps: Sequence[str] = (), metrics: Sequence[str] = (), drawn: Sequence[str] = ()
    ) -> Estimates:
        """The same estimates for one page: each window of an app is read once.

        Args:
            apps: Windows of these are read together.
            metrics: Of these apps' windows only these, as rollups name them; empty: all.
            drawn: Steps of these metrics are read together.
        """
        return Estimates(CachedSource(self._source, apps, metrics, drawn), self._options)

    def folding(self, keep: Collection[str], other: str = "other") -> Estimates:
        """The same estimates, read once, with all releases but `keep` counted as `other`."""
        return Estimates(FoldedReleases(self._source, keep, other), self._options)

    def _estimate(
        self,
        series: Series,
        window: Window,
        choice: Choice,
        traces: int,
        lam: float,
        min_judged: int | None,
        over: Choice,
    ) -> Estimate:
        labelled = self._options.min_labelled
        needed = self._options.min_judged if min_judged is None else min_judged
        combined = combine(
            choice,
            series.metric,
            min_judged=max(2, needed),
            min_labelled=labelled,
            confidence=self._options.confidence,
            lam=lam,
            design=design_of(choice, over, lam=lam, min_labelled=labelled),
        )
        return Estimate(
            series=series,
            window=window,
            value=combined.value,
            lower=combined.lower,
            upper=combined.upper,
            confidence=self._options.confidence,
            traces=traces,
            judged=combined.judged,
            rests_on=choice.judge if combined.judged else "",
            labelled=combined.labelled,
            correcting=combined.correcting,
            judge_bias=None if combined.bias is None else combined.bias.value,
            judge_bias_se=None if combined.bias is None else combined.bias.se,
            failed=combined.failed,
            shed=combined.shed,
            suspect=combined.suspect,
            effective=combined.effective,
            design_effect=combined.design.value,
            degrees=combined.design.degrees,
            notes=combined.notes,
        )

    def _over(self, series: Series, window: Window, choice: Choice) -> Choice:
        """The sums that tell the dependence of traces; the window's own where there is none."""
        if self._tells_dependence(series, window) or not score_share(choice.totals):
            return choice
        return same_judges(choice, self._stretch_sums(series, window))

    def _tells_dependence(self, series: Series, window: Window) -> bool:
        return series.release is None and window.length >= self._options.dependence

    def _stretch_sums(self, series: Series, window: Window) -> dict[str, Totals]:
        """By judge, over the stretch that ends with the window; of all releases together."""
        return sums_by(self._summed(replace(series, release=None), self._stretch(window)), _judge)

    def _stretch(self, window: Window) -> Window:
        return Window(min(window.start, window.end - self._options.dependence), window.end)

    def _wider(self, selection: Selection) -> Selection:
        return replace(selection, window=self._stretch(selection.window), release=None)

    def _tuning(self, earlier: Sequence[Rollup], choice: Choice) -> float:
        return tuned_lam(choice, sums_by(earlier, _judge), self._options.min_judged)

    def _summed(
        self, series: Series, window: Window, step: timedelta | None = None
    ) -> Sequence[Rollup]:
        """Rows of the metric, for adding up."""
        return of_metric(self._source.load_sums(query_of(series, window), step), series.metric)

    def _count(self, series: Series, window: Window) -> int:
        return sum(row.count for row in self._traces_of(series, window))

    def _traces_of(
        self, series: Series, window: Window, step: timedelta | None = None
    ) -> Sequence[Rollup]:
        counted = SESSIONS_METRIC if series.metric in SESSION_METRICS else TRACES_METRIC
        of_traces = replace(series, metric=counted, judge=keys.COMBINED)
        return self._source.load_sums(query_of(of_traces, window), step)

    def _load_traces(self, project: str, app: str, window: Window) -> Sequence[Rollup]:
        lookback = Window(window.start - self._options.release_lookback, window.end)
        query = RollupQuery(project=project, window=lookback, app=app, metric=TRACES_METRIC)
        return self._source.load(query)

    def _sums(
        self, selection: Selection, metric: str | None, step: timedelta | None = None
    ) -> Sequence[Rollup]:
        """Rows of exactly these traces; of every metric of theirs where none is named."""
        name = selection.knowledge_base
        if name is not None and metric not in {None, TRACES_METRIC}:
            raise ValueError(f"{metric} is not kept by knowledge base")
        rows = self._source.load_sums(
            RollupQuery(
                project=selection.project,
                window=selection.window,
                app=selection.app,
                metric=None if metric is None else keys.of_knowledge_base(metric, name),
                release=selection.release,
            ),
            step,
        )
        if metric is not None:
            return rows
        return [row for row in rows if keys.belongs_to(row.key.metric, name)]


def _judge(row: Rollup) -> str:
    return row.key.judge

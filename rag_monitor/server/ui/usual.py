"""Whether a score of one trace is unusual for its app: what the app scored before says so.

One relevant passage of three is .33: normal for one app, and a disaster for another. So no number
is low by itself. It is where hardly any earlier answer of the app scored as low.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Final

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.domain.rollup import SCORE_BUCKETS
from rag_monitor.domain.window import Series, Window
from rag_monitor.metrics.latency import bucket_of, histogram_percentile
from rag_monitor.server.quality import MIN_COMPARED
from rag_monitor.server.ui.changes import SMALLER_IS_BETTER
from rag_monitor.server.ui.view import Visitor

LOOKBACK: Final = timedelta(days=7)
_RARE: Final = 0.05
"""At most this share of the baseline scored as low."""
_MATTERS: Final = 0.1
"""So far below the median of the baseline at least: where all is 1.00, 0.95 is rare and fine."""

_Counts = Sequence[int]
"""Scores per bucket of `SCORE_BUCKETS`."""


@dataclass(frozen=True, slots=True)
class Usual:
    """What the scores on a page are held against.

    The baseline of a trace is the release before its own; without one its own release, and where
    that has too few scores the whole app: of the last seven days.
    """

    me: Visitor
    source: Estimates
    window: Window
    _counts: dict[tuple[str, str, str], Sequence[Mapping[str, _Counts]]] = field(
        default_factory=dict
    )
    _starts: dict[str, Mapping[str, datetime]] = field(default_factory=dict)

    @classmethod
    def on_page(cls, me: Visitor, apps: Sequence[str], metrics: Sequence[str]) -> Usual:
        """Of these apps and metrics, read together."""
        source = me.services.estimates.once(sorted(set(apps)), tuple(metrics))
        return cls(me, source, Window.ending(me.services.clock.now(), LOOKBACK))

    def level(
        self,
        app: str,
        release: str | None,
        metric: str,
        value: float | None,
        judge: str = COMBINED,
    ) -> str:
        """`low`, `fine`, or `none` where there is no score: how the score is to be shown.

        Args:
            app: Of the trace.
            release: Of the trace.
            metric: Whose score it is.
            value: The score.
            judge: Who gave it; `combined`: nobody knows, so it must be unusual for every judge
                with scores enough.
        """
        if value is None:
            return "none"
        if metric in SMALLER_IS_BETTER:
            return "fine"
        baselines = [
            self._baseline(app, release or "", by_release)
            for by_release in self._by_judge(app, metric, judge)
        ]
        unusual = [is_unusual(value, one) for one in baselines if sum(one) >= MIN_COMPARED]
        return "low" if unusual and all(unusual) else "fine"

    def _baseline(self, app: str, release: str, by_release: Mapping[str, _Counts]) -> _Counts:
        enough = {name for name, counts in by_release.items() if sum(counts) >= MIN_COMPARED}
        before = self._before(app, release, enough) if len(by_release) > 1 else None
        if before is not None:
            return by_release[before]
        if release in enough:
            return by_release[release]
        return [sum(bucket) for bucket in zip(*by_release.values(), strict=True)]

    def _before(self, app: str, release: str, enough: set[str]) -> str | None:
        """The last of some releases that appeared before this one; None: none did."""
        if app not in self._starts:
            starts = self.me.services.traces.release_starts(self.me.principal.project, app)
            self._starts[app] = {start.release: start.first_seen for start in starts}
        first_seen = self._starts[app]
        own = first_seen.get(release)
        if own is None:
            return None
        earlier = [name for name in enough if name in first_seen and first_seen[name] < own]
        return max(earlier, key=lambda name: first_seen[name], default=None)

    def _by_judge(self, app: str, metric: str, judge: str) -> Sequence[Mapping[str, _Counts]]:
        key = (app, metric, judge)
        if key not in self._counts:
            series = Series(project=self.me.principal.project, app=app, metric=metric, judge=judge)
            self._counts[key] = self.source.score_counts(series, self.window)
        return self._counts[key]


def is_unusual(value: float, baseline: _Counts) -> bool:
    """Whether hardly any score of the baseline was as low; never of a baseline of few scores."""
    total = sum(baseline)
    if total < MIN_COMPARED:
        return False
    as_low = list(accumulate(baseline))[min(bucket_of(value, SCORE_BUCKETS), len(baseline) - 1)]
    median = histogram_percentile(baseline, SCORE_BUCKETS, 0.5)
    return as_low <= _RARE * total and median is not None and value <= median - _MATTERS

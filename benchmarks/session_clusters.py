"""Coverage where the answers of a session stand or fall together.

A part of `benchmarks/statistics.py`. Sessions of one to nine traces, or one to forty, share one
chance of a bad answer (beta, with the intraclass correlation given). Windows are cut out of a
stream, so that sessions cross their ends; a day, of which the window is the last hour, tells how
alike traces of a session are, as in the product (`aggregation.dependence`). Held against the
intervals: the long-run mean, the difference 0 of two releases, and the width without sessions.

Rivals: independent traces; and cluster-robust variance of the window alone, from its exact sessions
with Student's t (linearised ratio, effective number of sessions less one), which for a mean is the
cluster jackknife but for terms of order one over the sessions.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.bars import Row, Size
from rag_monitor.aggregation import keys
from rag_monitor.aggregation.combine import Choice, combine
from rag_monitor.aggregation.dependence import design_of
from rag_monitor.aggregation.totals import Totals
from rag_monitor.domain.rollup import CLUSTER_BUCKETS
from rag_monitor.statistics.clusters import INDEPENDENT, DesignEffect
from rag_monitor.statistics.comparison import mover_difference
from rag_monitor.statistics.detectors import Detector
from rag_monitor.statistics.difference import RatioSums
from rag_monitor.statistics.wilson import Interval

BAD: Final = 0.15
WINDOWS: Final = 24
"""Windows in the stretch that tells the dependence: hours in a day."""
LONGEST: Final = (9, 40)
ICC: Final = (0.0, 0.1, 0.5, 0.9)
ALL_JUDGED: Final = (50, 200, 1000, 5000)
"""Traces of a window where each is judged."""
FEW_JUDGED: Final = (1000, 2000, 5000)
"""Where a twentieth is: below 50 judged the interval is withheld."""
SHARE: Final = 0.05
BAND: Final = (0.935, 0.965)
WIDER: Final = 1.03
"""As wide may an interval be without sessions, against one that is told that there are none."""
_JUDGE, _PROXY = "judge", "embedded"
_Floats = NDArray[np.float64]


class _Stream(NamedTuple):
    """Traces in the order of their sessions."""

    session: NDArray[np.int64]
    bucket: NDArray[np.int64]
    good: _Floats
    proxy: _Floats
    ratio: _Floats
    """1 over the probability of judging; 0: not drawn."""

    def last(self, traces: int, before: int = 0) -> _Stream:
        end = len(self.good) - before
        return _Stream(*(column[end - traces : end] for column in self))


@dataclass(slots=True)
class Found:
    """Intervals of one cell."""

    held: int = 0
    runs: int = 0
    differences_held: int = 0
    differences: int = 0
    width: float = 0.0
    _before: tuple[float, Interval] | None = field(default=None)

    def add(self, value: float, lower: float, upper: float) -> None:
        """One interval; every two make a comparison of releases that do not differ."""
        self.runs += 1
        self.held += lower <= 1.0 - BAD <= upper
        self.width += upper - lower
        if self._before is None:
            self._before = value, Interval(lower, upper)
            return
        difference = mover_difference(value, Interval(lower, upper), *self._before)
        self.differences += 1
        self.differences_held += 0.0 in difference
        self._before = None

    @property
    def coverage(self) -> float:
        """Share of intervals that hold the long-run mean."""
        return self.held / self.runs

    @property
    def coverage_of_differences(self) -> float:
        """Share of intervals of a difference that hold 0."""
        return self.differences_held / self.differences


def session_clusters(size: Size, seed: int) -> Iterator[Row]:
    """Coverage of the long-run mean and of differences, and the width at correlation 0."""
    cells = [(1.0, n) for n in ALL_JUDGED] + [(SHARE, n) for n in FEW_JUDGED]
    if size.quick:
        cells = [(1.0, 200)]
    for share, traces in cells:
        for longest in LONGEST:
            for icc in ICC if not size.quick else (0.0, 0.5):
                runs = size.of(2000 if traces <= 1000 else 1000, 200)
                found = simulate(seed, traces, share, longest, icc, runs)
                yield _row(found, traces, share, longest, icc, quick=size.quick)


def clustered_false_alarms(size: Size, seed: int) -> Iterator[Row]:
    """Mean run of the detector at the null boundary, by minutes of ten traces, as rules see it."""
    limit = 1000.0
    for longest in LONGEST:
        for icc in ICC if not size.quick else (0.0, 0.5):
            told: dict[str, float] = {}
            for share in (1.0, SHARE):
                runs = [
                    _run_to_alarm(random.Random(f"{seed}-{longest}-{icc}-{share}-{n}"), given)
                    for n in range(size.of(100, 8))
                    for given in [_Given(limit, longest, icc, share)]
                ]
                told[f"{share:.0%} judged"] = round(fmean(runs), 1)
            independent = [
                _run_to_alarm(
                    random.Random(f"{seed}-{longest}-{icc}-{n}"),
                    _Given(limit, longest, icc, 1.0, as_independent=True),
                )
                for n in range(size.of(100, 8))
            ]
            noise = 0.5 if size.quick else 1.0
            yield {
                "bar": f"mean run, sessions of 1 to {longest}, ICC {icc}, bad rate q = .1",
                "at_least": limit,
                **told,
                "rivals": {"100% judged, as independent": round(fmean(independent), 1)},
                "holds": min(told.values()) >= noise * limit,
            }


class _Given(NamedTuple):
    """One setting of `clustered_false_alarms`."""

    limit: float
    longest: int
    icc: float
    share: float
    as_independent: bool = False


_BAD: Final = 0.1
_RUNNING: Final = 10
"""Sessions that go on at a time, and traces a minute."""
_TOLD_MINUTES: Final = 360
"""What tells how alike traces are: the window of the rule."""
_LOOK_MINUTES: Final = 5


class _Conversations:
    """Ten sessions that take turns in random order."""

    def __init__(self, rng: random.Random, given: _Given) -> None:
        self._rng, self._given = rng, given
        self._open = [self._begun() for _ in range(_RUNNING)]

    def minute(self) -> tuple[list[int], list[int]]:
        """Judged and bad traces per bucket."""
        judged, bad = [0] * CLUSTER_BUCKETS, [0] * CLUSTER_BUCKETS
        for _ in range(_RUNNING):
            place = self._rng.randrange(_RUNNING)
            chance, bucket, left = self._open[place]
            if self._rng.random() < self._given.share:
                judged[bucket] += 1
                bad[bucket] += self._rng.random() < chance
            over = left == 1
            self._open[place] = self._begun() if over else (chance, bucket, left - 1)
        return judged, bad

    def _begun(self) -> tuple[float, int, int]:
        chance, icc = _BAD, self._given.icc
        if icc > 0.0:
            rest = (1.0 - icc) / icc
            chance = self._rng.betavariate(_BAD * rest, (1.0 - _BAD) * rest)
        return (
            chance,
            self._rng.randrange(CLUSTER_BUCKETS),
            self._rng.randint(1, self._given.longest),
        )


def _run_to_alarm(rng: random.Random, given: _Given) -> int:
    """Judged traces to the first alarm, from a detector that begins in running traffic."""
    traffic = _Conversations(rng, given)
    kept = deque((traffic.minute() for _ in range(_TOLD_MINUTES)), maxlen=_TOLD_MINUTES)
    sums = np.array(kept).sum(axis=0)
    detector = Detector(q=_BAD)
    state, design, minute = detector.start(), INDEPENDENT, 0
    while True:
        if minute % _LOOK_MINUTES == 0 and not given.as_independent:
            design = _design(sums)
        judged, bad = traffic.minute()
        sums += np.array((judged, bad)) - np.array(kept.popleft())
        kept.append((judged, bad))
        minute += 1
        if not sum(judged):
            continue
        e_values = detector.e_values({1.0: (sum(judged), sum(bad))}, design=design)
        state = detector.advance(state, e_values, sum(judged))
        if detector.value(state) >= given.limit:
            return state.ticks


def _design(sums: NDArray[np.int64]) -> DesignEffect:
    judged, bad = sums
    count, total = int(judged.sum()), int(bad.sum())
    totals = Totals(
        count=count,
        total=float(total),
        squares=float(total),
        bad=total,
        weight=float(count),
        weighted_total=float(total),
        weight_squares=float(count),
        weighted_squares=float(total),
    )
    for quantity, counts in (("r", judged), ("y", bad)):
        for bucket, value in enumerate(counts.tolist()):
            totals.add_to_bucket(keys.cluster(quantity), bucket, float(value))
    choice = Choice(judge=_JUDGE, totals=totals)
    return design_of(choice, choice)


def _row(
    found: dict[str, Found], traces: int, share: float, longest: int, icc: float, *, quick: bool
) -> Row:
    ours, told = found["ours"], found["independent"]
    noise = 3.0 * math.sqrt(0.05 * 0.95 / ours.runs)
    differences = 3.0 * math.sqrt(0.05 * 0.95 / ours.differences)
    ratio = ours.width / told.width
    allowed = noise if quick else 0.005
    return {
        "bar": f"{traces} traces, sessions of 1 to {longest}, ICC {icc}, {share:.0%} judged",
        "coverage": round(ours.coverage, 4),
        "coverage_of_a_difference_of_releases": round(ours.coverage_of_differences, 4),
        "width": round(ours.width / ours.runs, 4),
        "width_against_independent": round(ratio, 3),
        "first_window_of_an_app": round(found["first window"].coverage, 4),
        "first_window_s_width_against_ours": round(found["first window"].width / ours.width, 3),
        "rivals": {
            "independent": round(told.coverage, 4),
            "sessions of the window, t": round(found["sessions, t"].coverage, 4),
        },
        "limits": list(BAND),
        "monte_carlo_allowance": round(allowed, 4),
        "holds": BAND[0] - allowed <= ours.coverage <= BAND[1] + allowed
        and ours.coverage_of_differences >= BAND[0] - differences
        and (icc > 0.0 or ratio <= WIDER),
    }


def simulate(
    seed: int, traces: int, share: float, longest: int, icc: float, runs: int
) -> dict[str, Found]:
    """Intervals of so many windows, by estimator."""
    key = [seed, traces, int(100 * share), longest, int(100 * icc)]
    rng = np.random.default_rng(key)
    found = {name: Found() for name in ("ours", "first window", "independent", "sessions, t")}
    for _ in range(runs):
        stretch = _stream(rng, traces * WINDOWS, share, longest, icc)
        window = stretch.last(traces)
        lam = _tuned(stretch.last(traces, before=traces))
        own, over = _choice(window), _choice(stretch)
        for name, design in (
            ("ours", design_of(own, over, lam=lam)),
            ("first window", design_of(own, own, lam=lam)),
            ("independent", INDEPENDENT),
            ("sessions, t", _exact(window)),
        ):
            told = combine(own, "x", min_judged=2, lam=lam, design=design)
            if told.value is not None and told.lower is not None and told.upper is not None:
                found[name].add(told.value, told.lower, told.upper)
    return found


def _stream(
    rng: np.random.Generator, traces: int, share: float, longest: int, icc: float
) -> _Stream:
    sessions = int(1.3 * traces / ((longest + 1) / 2)) + 60
    lengths = rng.integers(1, longest + 1, sessions)
    begin = int(rng.integers(0, longest))
    session = np.repeat(np.arange(sessions), lengths)[begin : begin + traces]
    bad = np.full(sessions, BAD)
    if icc > 0.0:
        rest = (1.0 - icc) / icc
        bad = rng.beta(BAD * rest, (1.0 - BAD) * rest, sessions)
    good = (rng.random(traces) >= bad[session]).astype(float)
    # A cheap score with an AUC of about .85, as good as it is.
    x = rng.normal(1.4656 * (1.0 - good), 1.0)
    odds = math.log(BAD / (1.0 - BAD)) + 1.4656 * x - 1.4656**2 / 2.0
    doubt = 1.0 / (1.0 + np.exp(-odds))
    if share == 1.0:
        ratio = np.ones(traces)
    else:
        unsure = np.sqrt(doubt * (1.0 - doubt))
        chance = np.minimum(1.0, 0.4 * share + 0.6 * share / unsure.mean() * unsure)
        ratio = np.where(rng.random(traces) < chance, 1.0 / chance, 0.0)
    bucket = rng.integers(0, CLUSTER_BUCKETS, sessions)[session]
    return _Stream(session, bucket, good, 1.0 - doubt, ratio)


def _choice(stream: _Stream) -> Choice:
    """The sums that rollups keep."""
    drawn = stream.ratio > 0.0
    r, y, f, bucket = (
        column[drawn] for column in (stream.ratio, stream.good, stream.proxy, stream.bucket)
    )
    totals = Totals(
        count=int(drawn.sum()),
        total=float(y.sum()),
        squares=float((y * y).sum()),
        bad=int((y < 0.5).sum()),
        weight=float(r.sum()),
        weighted_total=float((r * y).sum()),
        weight_squares=float((r * r).sum()),
        weighted_squares=float((r * y * y).sum()),
    )
    totals.moments = {
        keys.W2_TOTAL: float((r * r * y).sum()),
        keys.W2_SQUARES: float((r * r * y * y).sum()),
    }
    _add_buckets(totals, "r", bucket, r)
    _add_buckets(totals, "y", bucket, r * y)
    if drawn.all():
        return Choice(judge=_JUDGE, totals=totals)
    pairs = {
        "n": np.ones_like(r), "r": r, "rf": r * f, "rj": r * y, "rj2": (r * y) ** 2,
        "ff": f * f * ((r - 1.0) ** 2 - 1.0), "jf": r * y * f * (r - 1.0), "rrf": r * r * f,
        "rff": r * f * f, "rrjf": r * r * y * f,
    }  # fmt: skip
    for name, values in pairs.items():
        totals.moments[keys.pair(name, _PROXY)] = float(values.sum())
    _add_buckets(totals, "f", bucket, r * f, _PROXY)
    proxy = Totals(
        count=len(stream.proxy),
        total=float(stream.proxy.sum()),
        squares=float((stream.proxy**2).sum()),
    )
    _add_buckets(proxy, "r", stream.bucket, np.ones_like(stream.proxy))
    _add_buckets(proxy, "y", stream.bucket, stream.proxy)
    return Choice(judge=_JUDGE, totals=totals, proxy=_PROXY, proxy_totals=proxy)


def _add_buckets(
    totals: Totals, quantity: str, bucket: NDArray[Any], values: _Floats, proxy: str = ""
) -> None:
    sums = np.bincount(bucket, values, CLUSTER_BUCKETS).tolist()
    for number, value in enumerate(sums):
        totals.add_to_bucket(keys.cluster(quantity, proxy), number, value)


def _tuned(before: _Stream) -> float:
    choice = _choice(before)
    if choice.proxy is None or choice.proxy_totals is None:
        return 1.0
    sums = choice.totals.difference_sums(choice.proxy, choice.proxy_totals)
    return sums.tuned_lam() if isinstance(sums, RatioSums) else 1.0


def _exact(window: _Stream) -> DesignEffect:
    """Of the (Hajek) mean, from the window's sessions themselves."""
    r, y = window.ratio, window.good
    if not r.any():
        return INDEPENDENT
    rest = r * (y - (r * y).sum() / r.sum())
    _, place = np.unique(window.session, return_inverse=True)
    sums, weights = np.bincount(place, rest), np.bincount(place, r)
    squares = float((weights**2).sum())
    effective = float(weights.sum()) ** 2 / squares
    single = float((rest**2).sum())
    value = squares / float((r * r).sum())
    if single > 0.0:
        value = float((sums**2).sum()) / single * effective / max(1.0, effective - 1.0)
    return DesignEffect(max(0.25, value), max(1, int(effective) - 1))

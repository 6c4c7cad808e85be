"""Two evaluations of the same rows, compared row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rag_monitor.domain.score import Score
from rag_monitor.errors import RagMonitorError
from rag_monitor.offline import missing
from rag_monitor.offline.lines import read_lines, scores_of
from rag_monitor.offline.missing import Missing, MissingTally, is_due
from rag_monitor.offline.run_settings import differing
from rag_monitor.offline.selection import SMALLER_IS_BETTER, UNBOUNDED
from rag_monitor.statistics.agreement import clustered_bootstrap
from rag_monitor.statistics.comparison import benjamini_hochberg
from rag_monitor.statistics.moments import mean_from_sums, t_interval, t_p_value
from rag_monitor.statistics.wilson import Interval

_BOOTSTRAP_UP_TO: Final = 200
_RUNS: Final = 1_000
_FEW: Final = 5
_NOISE: Final = 1e-12
INCOMPLETE: Final = "incomplete"

Row = Mapping[str, float | str]
"""Metrics with their value, or the reason why there is none."""
Rows = Mapping[str, Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDifference:
    """One metric, B minus A, over the rows that both scored."""

    metric: str
    rows: int
    """Pairs."""
    a: float | None
    """None: there is no pair."""
    b: float | None
    difference: float | None
    lower: float | None
    """95 % interval of the mean difference; None where the rows are too few."""
    upper: float | None
    better: int
    """Rows where B is better."""
    worse: int
    verdict: str
    """`better` or `worse` where the change stands out among those of all metrics, else `same`;
    `incomplete` where too many rows could not be paired."""
    missing_share: float = 0.0
    """Of the rows that should have a score on both sides, how many have not; 0 to 1."""
    missing: Mapping[str, int] = field(default_factory=dict)
    """Rows by why they could not be paired, most frequent first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """One row that lost."""

    id: str
    metric: str
    a: float
    b: float
    loss: float
    """How much worse B is; above 0."""
    question: str | None = None
    """Its beginning; None: the file is of an older release, or the row has no question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """B against A."""

    rows: int
    """Ids in both files."""
    only_a: int
    only_b: int
    repeated: int
    """Lines left out because their id had occurred before."""
    metrics: tuple[MetricDifference, ...]
    regressions: tuple[Regression, ...]
    """Worst first."""
    judges_a: tuple[str, ...] = ()
    """Who judged A, as its lines say; empty where nobody did, or an older release wrote it."""
    judges_b: tuple[str, ...] = ()
    settings_a: str = ""
    """The settings that are known to be others than B's (`k=5`); what differs may be they."""
    settings_b: str = ""

    @property
    def other_judges(self) -> bool:
        """Whether the two are known to be judged by others: what differs may be the judges."""
        return bool(self.judges_a and self.judges_b) and self.judges_a != self.judges_b

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def compare_files(
    a: Path, b: Path, *, worst: int = 10, max_missing: float = missing.MOST
) -> Comparison:
    """Paired differences of two outputs of `evaluate`.

    Args:
        a: Before.
        b: After.
        worst: Regressions to list.
        max_missing: Share of rows without a pair above which nothing is said of a metric's change.

    Raises:
        ConfigurationError: A file is not an output of `evaluate`.
        RagMonitorError: No row, or no metric, is in both files.
    """
    one, other = _read(a), _read(b)
    before, after = one.rows, other.rows
    shared = [id_ for id_ in before if id_ in after]
    if not shared:
        raise RagMonitorError(
            "{first} and {other} have no row id in common", first=a.name, other=b.name
        )
    in_after = {name for row in after.values() for name in row}
    names = [name for name in dict.fromkeys(n for row in before.values() for n in row)
             if name in in_after]  # fmt: skip
    pairs = {name: _pairs(name, shared, before, after) for name in names}
    lacking = {name: _lacking(name, before, after) for name in names}
    metrics = [
        _complete(row, lacking[row.metric], max_missing)
        for row in _differences({name: rows for name, rows in pairs.items() if rows})
    ]
    metrics += [
        _unpaired(name, lacking[name])
        for name in names
        if not pairs[name] and missing.exceeds(lacking[name].share, max_missing)
    ]
    if not metrics:
        raise RagMonitorError(
            "{first} and {other} have no scored metric in common", first=a.name, other=b.name
        )
    losses = [
        Regression(
            id=id_,
            metric=name,
            a=x,
            b=y,
            loss=-_gain(name, x, y),
            question=other.questions.get(id_) or one.questions.get(id_),
        )
        for name, rows in pairs.items()
        for id_, x, y in rows
        if _gain(name, x, y) < -_NOISE and name not in UNBOUNDED
    ]
    losses.sort(key=lambda row: (-row.loss, row.id))
    with_a, with_b = differing(one.settings, other.settings)
    return Comparison(
        rows=len(shared),
        only_a=len(before) - len(shared),
        only_b=len(after) - len(shared),
        repeated=one.repeated + other.repeated,
        metrics=tuple(metrics),
        regressions=tuple(losses[:worst]),
        judges_a=one.judges,
        judges_b=other.judges,
        settings_a=with_a,
        settings_b=with_b,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """An output of `evaluate`."""

    rows: Rows
    questions: Mapping[str, str]
    repeated: int
    """Lines left out because their id had occurred before."""
    judges: tuple[str, ...]
    settings: tuple[str, ...]


def _read(path: Path) -> _File:
    rows: dict[str, Row] = {}
    questions: dict[str, str] = {}
    repeated = 0
    judges: set[str] = set()
    settings: set[str] = set()
    for line in read_lines(path):
        id_ = str(line.get("id"))
        for name, values in (("judge", judges), ("settings", settings)):
            if line[name]:
                values.add(str(line[name]))
        if id_ in rows:
            repeated += 1
            continue
        rows[id_] = {s.metric: _value_or_reason(s) for s in scores_of(line)}
        if line["question"]:
            questions[id_] = str(line["question"])
    return _File(
        rows=rows,
        questions=questions,
        repeated=repeated,
        judges=tuple(sorted(judges)),
        settings=tuple(sorted(settings)),
    )


def _pairs(
    name: str,
    shared: Sequence[str],
    before: Rows,
    after: Rows,
) -> list[tuple[str, float, float]]:
    values = ((id_, before[id_].get(name), after[id_].get(name)) for id_ in shared)
    return [(i, x, y) for i, x, y in values if isinstance(x, float) and isinstance(y, float)]


def _value_or_reason(score: Score) -> float | str:
    return (score.reason or score.status.value) if score.value is None else score.value


def _lacking(name: str, before: Rows, after: Rows) -> Missing:
    """Rows without a score on one side, or on both where one is due."""
    counted = MissingTally()
    for id_ in {**before, **after}:
        sides = (_side(name, before.get(id_)), _side(name, after.get(id_)))
        reasons = [reason for reason in sides if isinstance(reason, str)]
        if not reasons:
            counted.have()
        elif len(reasons) == 1 or any(map(is_due, reasons)):
            counted.lack(next(filter(is_due, reasons), reasons[0]))
    return counted.report()


def _side(name: str, row: Row | None) -> float | str:
    return "only_in_one_file" if row is None else row.get(name, "no_value")


def _complete(row: MetricDifference, lacking: Missing, most: float) -> MetricDifference:
    """The difference with what it lacks; where that is too much, it says nothing of a change."""
    verdict = INCOMPLETE if missing.exceeds(lacking.share, most) else row.verdict
    return replace(row, verdict=verdict, missing_share=lacking.share, missing=dict(lacking.reasons))


def _unpaired(name: str, lacking: Missing) -> MetricDifference:
    return MetricDifference(
        metric=name,
        rows=0,
        a=None,
        b=None,
        difference=None,
        lower=None,
        upper=None,
        better=0,
        worse=0,
        verdict=INCOMPLETE,
        missing_share=lacking.share,
        missing=dict(lacking.reasons),
    )


def _gain(name: str, a: float, b: float) -> float:
    return a - b if name in SMALLER_IS_BETTER else b - a


def _change(a: float, b: float) -> float:
    """B minus A, without the last bit: it differs from run to run and would make a verdict."""
    return b - a if abs(b - a) > _NOISE else 0.0


def _differences(
    pairs: Mapping[str, Sequence[tuple[str, float, float]]],
) -> list[MetricDifference]:
    """Each metric, with its verdict among all (Benjamini and Hochberg)."""
    changes = {name: [_change(a, b) for _, a, b in rows] for name, rows in pairs.items()}
    intervals = {name: _interval(values) for name, values in changes.items()}
    p_values = [_p_value(changes[name], intervals[name]) for name in pairs]
    clear = benjamini_hochberg([p for p in p_values if p is not None]).rejected
    bearing = [name for name, p in zip(pairs, p_values, strict=True) if p is not None]
    verdicts = dict(zip(bearing, clear, strict=True))
    return [
        _difference(name, rows, intervals[name], clear=verdicts.get(name, False))
        for name, rows in pairs.items()
    ]


def _p_value(changes: Sequence[float], interval: Interval | None) -> float | None:
    """Of no change; None where there is no interval."""
    if interval is None:
        return None
    mean = sum(changes) / len(changes)
    return t_p_value(
        mean, mean - interval.lower if mean > 0 else interval.upper - mean, len(changes)
    )


def _difference(
    name: str, rows: Sequence[tuple[str, float, float]], interval: Interval | None, *, clear: bool
) -> MetricDifference:
    changes = [_change(a, b) for _, a, b in rows]
    gains = [_gain(name, a, b) for _, a, b in rows]
    n = len(rows)
    mean = sum(changes) / n
    if interval is not None and all(0.0 <= value <= 1.0 for _, *both in rows for value in both):
        interval = Interval(max(interval.lower, -1.0), min(interval.upper, 1.0))
    return MetricDifference(
        metric=name,
        rows=n,
        a=sum(a for _, a, _ in rows) / n,
        b=sum(b for _, _, b in rows) / n,
        difference=mean,
        lower=interval.lower if interval else None,
        upper=interval.upper if interval else None,
        better=sum(gain > _NOISE for gain in gains),
        worse=sum(gain < -_NOISE for gain in gains),
        verdict=_verdict(name, mean) if clear else "same",
    )


def _interval(changes: Sequence[float]) -> Interval | None:
    """Student's t; while there are few also the bootstrap of the pairs, whichever reaches further.

    The bootstrap alone knows no value beyond those it has seen, and a handful of rows that lost by
    chance would be a clear loss. So would a few that lost all the same: they have no interval.
    """
    n = len(changes)
    if n < 2 or (n < _FEW and len(set(changes)) == 1 and changes[0]):
        return None
    mean = mean_from_sums(n, sum(changes), sum(x * x for x in changes))
    ends = t_interval(mean, n)
    if n > _BOOTSTRAP_UP_TO:
        return ends
    drawn = clustered_bootstrap(changes, range(n), lambda xs: sum(xs) / len(xs), runs=_RUNS)
    if drawn is None:
        return ends
    return Interval(min(ends.lower, drawn.lower), max(ends.upper, drawn.upper))


def _verdict(name: str, change: float) -> str:
    return "better" if (change > 0) != (name in SMALLER_IS_BETTER) else "worse"

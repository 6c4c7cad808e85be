"""Which documents serve, and which stand in the way: shares with intervals, and lists of the worst.

| list | a document is on it when | at least |
|---|---|---|
| `noisy` | the upper end of the interval of its useful share is below .25 | 20 verdicts |
| `harmful` | answers that had it are at fault more often than the other answers of the app (Newcombe's interval of the difference, one-sided p adjusted by Benjamini and Hochberg over all documents tested, at most .05) | 20 judged answers with it, 20 without |
| `stale` | the date that its metadata give is 365 days old, or answers took its value while a newer document in the context gave another | 5 times retrieved, or 2 such answers |
| `conflicting` | answers took its value while another document in the context gave another one | 2 such answers |
| `never_retrieved` | the imported inventory has it, and no trace retrieved it since the first day | |

Shares are weighted by 1 / the probability of being judged; their intervals are Wilson's at 95% with
Kish's effective number of traces.
"""  # noqa: E501 - a table

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from rag_monitor.domain.document import (
    SHARES,
    ConflictCounts,
    DocumentCounts,
    DocumentInfo,
    DocumentKey,
    DocumentKind,
    ShareSums,
)
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.language.metadata_dates import moment_of
from rag_monitor.statistics.comparison import (
    benjamini_hochberg,
    mover_difference,
    p_from_interval,
)
from rag_monitor.statistics.wilson import Interval, wilson_interval

MIN_JUDGED: Final = 20
"""Verdicts that `noisy` and `harmful` need."""
NOISY_BELOW: Final = 0.25
"""Useful share."""
HARMFUL_ALPHA: Final = 0.05
"""False discovery rate of `harmful`."""
STALE_DAYS: Final = 365
MIN_RETRIEVED: Final = 5
"""Times that a document of that age must have been retrieved."""
MIN_CONFLICTS: Final = 2
"""Answers that show a conflict."""


class DocumentList(StrEnum):
    """Which documents to list."""

    NOISY = "noisy"
    """Often retrieved, seldom useful."""
    HARMFUL = "harmful"
    """In answers at fault more often than other documents."""
    STALE = "stale"
    """Old, or outdated by another one."""
    CONFLICTING = "conflicting"
    """States another value than one beside it."""
    NEVER_RETRIEVED = "never_retrieved"
    """Of the imported inventory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """An estimated share of the judged traces that had the document in their contexts."""

    judged: int = 0
    value: float | None = None
    lower: float | None = None
    upper: float | None = None


NO_SHARE: Final = Share()
_NO_SUMS: Final = ShareSums()


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentHealth:
    """What became of one document."""

    key: DocumentKey
    retrieved: int = 0
    """Traces."""
    mean_rank: float | None = None
    """From 1; of its best passage in each trace."""
    in_context: int = 0
    """Traces in which it reached the model."""
    sums: Mapping[str, ShareSums] = field(default_factory=dict)
    """By `SHARES`."""
    excess: float | None = None
    """Adjusted p-value of being in answers at fault more often than others; None: not tested."""
    conflicts: int = 0
    """Answers that took its value while another document gave another one."""
    outdated: int = 0
    """Those where the other one is newer."""
    info: DocumentInfo = field(default_factory=DocumentInfo)
    age_days: int | None = None
    """Since the date that its metadata give; None: they give none."""

    @property
    def shares(self) -> dict[str, Share]:
        """By `SHARES`; made when asked for, as few of many documents are shown."""
        return {share: _share(self.sums.get(share, _NO_SUMS)) for share in SHARES}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentsReport:
    """Every document that is counted apart, the most retrieved first."""

    documents: tuple[DocumentHealth, ...]
    rest: int
    """Retrievals of documents that are counted together."""
    judge: str
    """Whose verdicts the shares are, as text; empty: there are none."""


def report(
    counts: Sequence[DocumentCounts], conflicts: Iterable[ConflictCounts] = ()
) -> DocumentsReport:
    """The health of all documents, without what is known of them apart from counts.

    The judge with the most verdicts answers for all of them; of equals one that is not embedded.
    """
    judge = _fullest(counts)
    merged: dict[DocumentKey, list[DocumentCounts]] = defaultdict(list)
    for one in counts:
        if one.judge in {"", judge} and one.key.kind is not DocumentKind.ALL:
            merged[one.key].append(one)
    excess = _excess([one for one in counts if one.judge == judge])
    disputed: dict[DocumentKey, tuple[int, int]] = {}
    for pair in conflicts:
        traces, outdated = disputed.get(pair.used, (0, 0))
        disputed[pair.used] = traces + pair.traces, outdated + pair.outdated
    rest = sum(
        one.retrieved
        for key, rows in merged.items()
        if key.kind is DocumentKind.REST
        for one in rows
    )
    documents = [
        _health(key, rows, excess.get(key), disputed.get(key, (0, 0)))
        for key, rows in merged.items()
        if key.kind is not DocumentKind.REST
    ]
    documents.sort(key=lambda one: (-one.retrieved, -one.in_context, one.key))
    return DocumentsReport(documents=tuple(documents), rest=rest, judge=judge)


def with_info(document: DocumentHealth, info: DocumentInfo | None, now: datetime) -> DocumentHealth:
    """The document with what its metadata say."""
    info = info or DocumentInfo()
    return replace(document, info=info, age_days=age_days(info, now))


def is_noisy(document: DocumentHealth) -> bool:
    """Whether it is retrieved in vain."""
    sums = document.sums.get("useful", _NO_SUMS)
    if sums.count < MIN_JUDGED:
        return False
    upper = _share(sums).upper
    return upper is not None and upper < NOISY_BELOW


def is_harmful(document: DocumentHealth) -> bool:
    """Whether answers with it are at fault more often than others."""
    return document.excess is not None and document.excess <= HARMFUL_ALPHA


def may_be_stale(document: DocumentHealth) -> bool:
    """Whether it is retrieved often enough for its age to matter."""
    return document.retrieved >= MIN_RETRIEVED or document.outdated >= MIN_CONFLICTS


def is_stale(document: DocumentHealth) -> bool:
    """Whether it is old, or outdated by a newer one."""
    old = document.age_days is not None and document.age_days >= STALE_DAYS
    return (old and document.retrieved >= MIN_RETRIEVED) or document.outdated >= MIN_CONFLICTS


def age_days(info: DocumentInfo, now: datetime) -> int | None:
    """Days since the date that the metadata give, that of effect before that of the update."""
    for text in (info.effective_date, info.updated_at):
        moment = moment_of(text) if text else None
        if moment is not None and moment.date() <= now.date():
            return (now.date() - moment.date()).days
    return None


def _fullest(counts: Sequence[DocumentCounts]) -> str:
    verdicts: dict[str, int] = defaultdict(int)
    for one in counts:
        if one.judge:
            verdicts[one.judge] += sum(share.count for share in one.shares.values())
    return max(
        verdicts, key=lambda judge: (verdicts[judge], not is_embedded(judge), judge), default=""
    )


def _health(
    key: DocumentKey,
    rows: Sequence[DocumentCounts],
    excess: float | None,
    disputed: tuple[int, int],
) -> DocumentHealth:
    retrieved = sum(row.retrieved for row in rows)
    sums: dict[str, ShareSums] = {}
    for row in rows:
        for share, value in row.shares.items():
            sums[share] = sums[share].plus(value) if share in sums else value
    return DocumentHealth(
        key=key,
        retrieved=retrieved,
        mean_rank=sum(row.ranks for row in rows) / retrieved if retrieved > 0 else None,
        in_context=sum(row.in_context for row in rows),
        sums=sums,
        excess=excess,
        conflicts=disputed[0],
        outdated=disputed[1],
    )


def _share(sums: ShareSums) -> Share:
    value = sums.value
    if value is None:
        return NO_SHARE
    interval = _interval(sums, value)
    return Share(judged=sums.count, value=value, lower=interval.lower, upper=interval.upper)


def _interval(sums: ShareSums, value: float) -> Interval:
    effective = max(sums.effective, 1e-9)
    return wilson_interval(min(effective, effective * value), effective)


def _excess(counts: Sequence[DocumentCounts]) -> dict[DocumentKey, float]:
    """The least adjusted p-value of each document, over the apps that it was tested in."""
    totals = {one.app: one for one in counts if one.key.kind is DocumentKind.ALL}
    tested: list[tuple[DocumentKey, float]] = []
    for one in counts:
        total = totals.get(one.app)
        if total is None or one.key.kind in {DocumentKind.ALL, DocumentKind.REST}:
            continue
        with_it = one.shares["at_fault"]
        without = total.shares["at_fault"].plus(with_it, -1)
        if with_it.count >= MIN_JUDGED and without.count >= MIN_JUDGED:
            tested.append((one.key, _p_of_excess(with_it, without)))
    adjusted = benjamini_hochberg([p for _, p in tested], HARMFUL_ALPHA).adjusted
    least: dict[DocumentKey, float] = {}
    for (key, _), p in zip(tested, adjusted, strict=True):
        least[key] = min(p, least.get(key, 1.0))
    return least


def _p_of_excess(with_it: ShareSums, without: ShareSums) -> float:
    """One-sided: P(so much more with the document) if it made no difference."""
    first, second = with_it.value or 0.0, without.value or 0.0
    difference = mover_difference(
        first, _interval(with_it, first), second, _interval(without, second)
    )
    p = p_from_interval(first - second, difference) / 2
    return p if first > second else 1 - p

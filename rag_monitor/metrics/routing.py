"""Hit rates and routing: were the right plugins, knowledge bases and workflows called?

A hit is a call that succeeded and came back with something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.trace import Trace
from rag_monitor.metrics.classification import BinaryCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion(BinaryCounts):
    """How routing to one name compares with what was expected, over the labelled traces.

    TP: expected and hit. FP: hit although not expected. FN: expected and not hit. TN: neither.
    """

    kind: HitKind
    name: str

    @property
    def labelled(self) -> int:
        """Traces that say what should have been hit."""
        return self.total


@dataclass(frozen=True, slots=True, kw_only=True)
class HitCount:
    """Hits of one name on one basis."""

    traces: int = 0
    """The denominator: all traces, or those that expected the name."""
    hits: int = 0
    """Traces with at least one successful, non-empty hit of it."""

    @property
    def rate(self) -> float | None:
        """Hits / traces; None without traces."""
        return _ratio(self.hits, self.traces)


def hit_names(trace: Trace, kind: HitKind) -> frozenset[str]:
    """The names of `kind` with at least one successful, non-empty hit in the trace."""
    return frozenset(hit.name for hit in trace.hits if hit.kind is kind and hit.counts)


def tried_names(trace: Trace, kind: HitKind) -> frozenset[str]:
    """The names of `kind` that were called, in vain or not."""
    return frozenset(hit.name for hit in trace.hits if hit.kind is kind)


def expected_names(trace: Trace, kind: HitKind) -> frozenset[str] | None:
    """The names of `kind` that should have been hit; None when the trace is not labelled."""
    names = trace.expected.names(kind) if trace.expected is not None else None
    return None if names is None else frozenset(names)


def hit_counts(traces: Iterable[Trace], basis: str) -> Mapping[tuple[HitKind, str], HitCount]:
    """Hit counts by kind and name; a name that was called in vain is among them, with no hits.

    Args:
        traces: The traces of a window.
        basis: `all` counts over all traces, `expected` over those that expected the name.
    """
    if basis not in {"all", "expected"}:
        raise ValueError(f"basis must be 'all' or 'expected', not {basis!r}")
    listed = list(traces)
    hits: dict[tuple[HitKind, str], int] = {}
    bases: dict[tuple[HitKind, str], int] = {}
    for trace in listed:
        for kind in HitKind:
            called = hit_names(trace, kind)
            # What was called in vain counts too: a backend that is down must not go out of sight.
            tried = tried_names(trace, kind)
            counted = tried if basis == "all" else (expected_names(trace, kind) or frozenset())
            for name in counted:
                key = (kind, name)
                hits[key] = hits.get(key, 0) + (name in called)
                bases[key] = bases.get(key, 0) + 1
    return {
        key: HitCount(traces=len(listed) if basis == "all" else bases[key], hits=count)
        for key, count in hits.items()
    }


def confusions(traces: Iterable[Trace]) -> list[Confusion]:
    """The routing confusion per kind and name over the traces that are labelled for that kind.

    Every name that was expected or hit among them gets a row, ordered by kind and name.
    """
    rows: list[Confusion] = []
    listed = list(traces)
    for kind in HitKind:
        pairs = [
            (expected, hit_names(trace, kind))
            for trace in listed
            if (expected := expected_names(trace, kind)) is not None
        ]
        names = sorted({name for expected, called in pairs for name in expected | called})
        rows.extend(_confusion(kind, name, pairs) for name in names)
    return rows


def _confusion(
    kind: HitKind, name: str, pairs: list[tuple[frozenset[str], frozenset[str]]]
) -> Confusion:
    tp = sum(name in expected and name in called for expected, called in pairs)
    fp = sum(name not in expected and name in called for expected, called in pairs)
    fn = sum(name in expected and name not in called for expected, called in pairs)
    return Confusion(kind=kind, name=name, tp=tp, fp=fp, fn=fn, tn=len(pairs) - tp - fp - fn)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None

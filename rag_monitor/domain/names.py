"""Names that senders choose and that numbers are kept by: where they stand, how many there may be.

Each name of an app, a release, a plugin makes rows, series and lines on pages of its own. Beyond a
limit per project further ones are counted together as `OTHER_NAME`; what was sent stays in the
trace's attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Final

from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.ranges import at_least, check_ranges
from rag_monitor.domain.trace import Expected, Trace

OTHER_NAME: Final = "(other)"
"""What further names are counted as."""
NAMES_SENT: Final = "names_sent"
"""Attribute of a trace: by field what was sent in place of the names it is counted by."""


class NameKind(StrEnum):
    """What is named."""

    APP = "app"
    ENVIRONMENT = "environment"
    RELEASE = "release"
    MODEL = "model"
    PLUGIN = "plugin"
    KNOWLEDGE_BASE = "knowledge_base"
    WORKFLOW = "workflow"


_FIELDS: Final = {
    kind: kind.value
    for kind in (NameKind.APP, NameKind.ENVIRONMENT, NameKind.RELEASE, NameKind.MODEL)
}
"""Kinds that are fields of a trace, and these fields; the others are kinds of hits."""
_OF_HIT: Final = {kind: NameKind(kind.value) for kind in HitKind}


_Limit = Annotated[int, at_least(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameLimits:
    """How many names of each kind a project may have at a time."""

    app: _Limit = 1_000
    environment: _Limit = 100
    release: _Limit = 2_000
    """Of all apps of the project together."""
    model: _Limit = 200
    plugin: _Limit = 500
    knowledge_base: _Limit = 500
    workflow: _Limit = 500

    def __post_init__(self) -> None:
        check_ranges(self)

    def of(self, kind: NameKind) -> int:
        """The limit of one kind."""
        limit: int = getattr(self, kind.value)
        return limit


def names_of(trace: Trace) -> Iterator[tuple[NameKind, str]]:
    """Every name that numbers of the trace are kept by; some may come twice."""
    for kind, field in _FIELDS.items():
        if name := getattr(trace, field):
            yield kind, name
    for hit in trace.hits:
        yield _OF_HIT[hit.kind], hit.name
    if trace.expected is not None:
        for hit_kind, kind in _OF_HIT.items():
            for name in trace.expected.names(hit_kind) or ():
                yield kind, name


def renamed(trace: Trace, name_of: Callable[[NameKind, str], str]) -> Trace:
    """The trace with other names, and what was sent in its attributes."""
    changes: dict[str, Any] = {}
    sent: dict[str, Any] = {}
    for kind, field in _FIELDS.items():
        old = getattr(trace, field)
        if old and (new := name_of(kind, old)) != old:
            changes[field], sent[field] = new, old
    called = [name_of(_OF_HIT[hit.kind], hit.name) for hit in trace.hits]
    others = {
        str(place): hit.name
        for place, (hit, name) in enumerate(zip(trace.hits, called, strict=True))
        if hit.name != name
    }
    if others:
        changes["hits"] = tuple(map(_called, trace.hits, called))
        sent["hits"] = others
    if trace.expected is not None:
        expected = _renamed_labels(trace.expected, name_of)
        if expected:
            changes["expected"] = replace(trace.expected, **expected)
            sent["expected"] = {kind: list(getattr(trace.expected, kind)) for kind in expected}
    if not changes:
        return trace
    earlier = trace.attributes.get(NAMES_SENT)
    before = earlier if isinstance(earlier, Mapping) else {}
    # What was sent first counts: a name may be rewritten before it is folded.
    return replace(
        trace, **changes, attributes={**trace.attributes, NAMES_SENT: {**sent, **before}}
    )


def _called(hit: Hit, name: str) -> Hit:
    return hit if hit.name == name else replace(hit, name=name)


def _renamed_labels(expected: Expected, name_of: Callable[[NameKind, str], str]) -> dict[str, Any]:
    """The labels that change, by kind."""
    labels: dict[str, Any] = {}
    for hit_kind, kind in _OF_HIT.items():
        old = expected.names(hit_kind) or ()
        new = tuple(dict.fromkeys(name_of(kind, name) for name in old))
        if new != old:
            labels[kind.value] = new
    return labels

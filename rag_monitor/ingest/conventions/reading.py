"""Asks all conventions about a span; the one that says most specifically what it is goes first.

A new convention is one file with a class beside the others, and a line in `CONVENTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Final, TypeVar

from rag_monitor.domain.span import Span
from rag_monitor.ingest.conventions.base import Call, Convention, Identity, Role
from rag_monitor.ingest.conventions.coze_loop import CozeLoop
from rag_monitor.ingest.conventions.genai import GenAI
from rag_monitor.ingest.conventions.haystack import Haystack
from rag_monitor.ingest.conventions.langfuse import Langfuse
from rag_monitor.ingest.conventions.langsmith import LangSmith
from rag_monitor.ingest.conventions.mlflow import MLflow
from rag_monitor.ingest.conventions.openinference import OpenInference
from rag_monitor.ingest.conventions.openllmetry import OpenLLMetry
from rag_monitor.ingest.conventions.spring_ai import SpringAI
from rag_monitor.ingest.conventions.vercel_ai import VercelAI

CONVENTIONS: Final[Sequence[Convention]] = (
    OpenInference(),
    Langfuse(),
    VercelAI(),
    MLflow(),
    CozeLoop(),
    SpringAI(),
    LangSmith(),
    Haystack(),
    OpenLLMetry(),
    GenAI(),
)

_Reading = Callable[[Span], Role | None]
_READINGS: Final[Sequence[_Reading]] = (
    *(c.role for c in CONVENTIONS if type(c).role is not Convention.role),
    *(c.likely_role for c in CONVENTIONS if type(c).likely_role is not Convention.likely_role),
)

T = TypeVar("T")


def role_of(span: Span) -> Role:
    """What the span is: as the first convention has it said, else as it looks to the first."""
    for read in _READINGS:
        role = read(span)
        if role is not None:
            return role
    return Role.OTHER


def speakers(span: Span) -> list[Convention]:
    """The conventions whose attributes the span carries."""
    namespaces = {name.partition(".")[0] for name in span.attributes}
    return [convention for convention in CONVENTIONS if convention.speaks(span, namespaces)]


def ask(span: Span, question: Callable[[Convention], T | None]) -> T | None:
    """The first answer any of the span's conventions has."""
    for convention in speakers(span):
        answer = question(convention)
        if answer is not None:
            return answer
    return None


def call_of(span: Span) -> Call:
    """The model call, each fact from the first convention that states it."""
    calls = (convention.call(span) for convention in speakers(span))
    return merge([call for call in calls if call is not None] or [Call()])


def identity_of(span: Span) -> Identity:
    """Who and where, each fact from the first convention that states it."""
    return merge_identities(
        identity for c in speakers(span) if (identity := c.identity(span)) is not None
    )


def merge_identities(identities: Iterable[Identity]) -> Identity:
    """Each fact from the first that has it."""
    return merge([Identity(), *identities])


D = TypeVar("D", Call, Identity)
_NOTHING: Final = (None, ())
_NAMES: Final = {kind: tuple(field.name for field in fields(kind)) for kind in (Call, Identity)}


def merge(values: Sequence[D]) -> D:
    """Each fact from the first that has it."""
    merged = values[0]
    for other in values[1:]:
        missing = {
            name: value
            for name in _NAMES[type(merged)]
            if getattr(merged, name) in _NOTHING and (value := getattr(other, name)) not in _NOTHING
        }
        if missing:
            merged = replace(merged, **missing)
    return merged

"""Asks all conventions about a span; the one that says most specifically what it is goes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Final, TypeVar

from rag_monitor.domain.span import Span
from rag_monitor.ingest.conventions.base import Call, Convention, Identity
from rag_monitor.ingest.conventions.coze_loop import CozeLoop
from rag_monitor.ingest.conventions.genai import GenAI
from rag_monitor.ingest.conventions.langfuse import Langfuse
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
    OpenLLMetry(),
    GenAI(),
)

T = TypeVar("T")


def speakers(span: Span) -> list[Convention]:
    """The conventions whose attributes the span carries."""
    return [convention for convention in CONVENTIONS if convention.speaks(span)]


def ask(span: Span, question: Callable[[Convention], T | None]) -> T | None:
    """The first answer any of the span's conventions has."""
    for convention in speakers(span):
        found = question(convention)
        if found is not None:
            return found
    return None


def call_of(span: Span) -> Call:
    """The model call, each fact from the first convention that states it.

    Whether it streamed is not filled in from GenAI: its silence means "no" only where GenAI alone
    describes the call.
    """
    found = [(convention, convention.call(span)) for convention in speakers(span)]
    calls = [call for _, call in found if call is not None]
    if not calls:
        return Call()
    said = [
        call.streamed
        for convention, call in found
        if call is not None and (len(calls) == 1 or convention.name != GenAI.name)
    ]
    streamed = next((answer for answer in said if answer is not None), None)
    return replace(_merged(calls), streamed=streamed)


def identity_of(span: Span) -> Identity:
    """Who and where, each fact from the first convention that states it."""
    return merge_identities(
        identity for c in speakers(span) if (identity := c.identity(span)) is not None
    )


def merge_identities(identities: Iterable[Identity]) -> Identity:
    """Each fact from the first that has it."""
    return _merged([Identity(), *identities])


D = TypeVar("D", Call, Identity)


def _merged(values: Sequence[D]) -> D:
    found = values[0]
    for other in values[1:]:
        missing = {
            f.name: getattr(other, f.name)
            for f in fields(found)
            if getattr(found, f.name) in (None, ())
        }
        found = replace(found, **missing)
    return found

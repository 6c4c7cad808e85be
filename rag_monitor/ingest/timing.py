"""When the first byte came, when retrieval ended, how long the answer took."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.domain.span import Span
from rag_monitor.ingest.assembly import Assembly
from rag_monitor.ingest.conventions.base import Call
from rag_monitor.ingest.span_facts import duration_ms

_NS_PER_MS: Final = 1e6
_PARSER: Final = re.compile(r"OutputParser|output_parser", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Milliseconds from the start of the root, unless said otherwise; None: not known."""

    first_byte_ms: float | None = None
    generation_ms: float | None = None
    end_to_end_ms: float | None = None
    first_token_ms: float | None = None
    """From the start of the model call."""
    first_token_ns: int | None = None
    """Unix time."""
    retrieval_end_ms: float | None = None
    first_token_estimate_ms: float | None = None
    """A guess from the framework's behaviour; never mixed with measured times."""


def times_of(assembly: Assembly, searches: Sequence[Span], last: tuple[Span, Call] | None) -> Times:
    """The times of a trace. Event times are never clamped: they may lie after a span's end."""
    root = assembly.root
    if root.start_ns <= 0:
        return Times()
    whole = None if assembly.partial else _whole(root, last)
    token_ns = last[1].first_token_ns if last else None
    retrieved_ns = _retrieval_end(searches, last[0] if last else None)
    return Times(
        first_byte_ms=_first_byte(root, last, whole),
        generation_ms=_generation(root, retrieved_ns, last, whole),
        end_to_end_ms=whole,
        first_token_ms=_since(last[0].start_ns, token_ns) if last else None,
        first_token_ns=token_ns,
        retrieval_end_ms=_since(root.start_ns, retrieved_ns),
        first_token_estimate_ms=_estimate(assembly, last),
    )


def _whole(root: Span, last: tuple[Span, Call] | None) -> float | None:
    """Until the answer was complete: a root may end when a stream begins that is yet to be read.

    Times of another process are no measure: its clock may be ahead.
    """
    whole = duration_ms(root)
    if whole is None or last is None or last[0].resource != root.resource:
        return whole
    answered = _since(root.start_ns, last[0].end_ns or None)
    return whole if answered is None or last[1].output is None else max(whole, answered)


def _since(start_ns: int, moment_ns: int | None) -> float | None:
    """Elapsed milliseconds; None when the moment is missing or earlier."""
    if moment_ns is None or moment_ns < start_ns:
        return None
    return (moment_ns - start_ns) / _NS_PER_MS


def _retrieval_end(searches: Sequence[Span], last: Span | None) -> int | None:
    """End of the last search that was over before the final model call began."""
    ends = [s.end_ns for s in searches if s.end_ns and (last is None or s.end_ns <= last.start_ns)]
    return max(ends, default=None)


def _first_byte(root: Span, last: tuple[Span, Call] | None, whole: float | None) -> float | None:
    if last is None:
        return None
    if last[1].first_token_ns is not None:
        first = _since(root.start_ns, last[1].first_token_ns)
        # A first byte after the last one: one of the two is wrong, and nobody knows which.
        return first if whole is None or first is None or first <= whole else None
    return whole if last[1].streamed is False else None


def _generation(
    root: Span, retrieved_ns: int | None, last: tuple[Span, Call] | None, whole: float | None
) -> float | None:
    if whole is None:
        return None
    begun = retrieved_ns or (last[0].start_ns if last else root.start_ns)
    if begun < root.start_ns:  # another machine's clock: generation did not outlast the answer
        return None
    return _since(begun, root.start_ns + round(whole * _NS_PER_MS))


def _estimate(assembly: Assembly, last: tuple[Span, Call] | None) -> float | None:
    """Start of the output parser behind a streaming model: the first chunk reaches it then."""
    if last is None or last[1].first_token_ns is not None:
        return None
    call = last[0]
    for span in assembly.spans:
        if (
            span.parent_span_id == call.parent_span_id
            and _PARSER.search(span.name)
            and call.start_ns < span.start_ns < call.end_ns
        ):
            return _since(assembly.root.start_ns, span.start_ns)
    return None

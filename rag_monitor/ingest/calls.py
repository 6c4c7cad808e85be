"""The model calls of a trace: each once, with what other spans say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.ingest.assembly import Assembly, is_moment
from rag_monitor.ingest.conventions.base import Call
from rag_monitor.ingest.conventions.reading import call_of, merge_calls
from rag_monitor.ingest.values import real

SpanCall = tuple[Span, Call]
"""A call, and the span that gives its times."""

_MAX_STREAM_S: Final = 86_400
_MAX_WRAPPERS: Final = 8


def calls_of(assembly: Assembly) -> list[SpanCall]:
    """The model calls by start, each once even when two instrumentations report it."""
    kept: list[SpanCall] = []
    seen: set[str] = set()
    spans = assembly.calls()
    leaves = Counter(wrapper.span_id for span in spans for wrapper in _wrappers(assembly, span))
    for span in spans:
        wrappers = [w for w in _wrappers(assembly, span) if leaves[w.span_id] == 1]
        call = merge_calls([call_of(span), *map(call_of, wrappers)])
        if call.response_id is not None:
            if call.response_id in seen:
                continue
            seen.add(call.response_id)
        if is_moment(span) and call.output is not None:
            _add_record(kept, span, call)
        else:
            kept.append((span, call))
    return sorted(kept, key=lambda item: item[0].start_ns)


def _wrappers(assembly: Assembly, span: Span) -> Iterator[Span]:
    """The calls around a call, from the inside out; some say what the innermost leaves out."""
    wrapper = assembly.wrapper(span)
    for _ in range(_MAX_WRAPPERS):
        if wrapper is None:
            return
        yield wrapper
        wrapper = assembly.wrapper(wrapper)


def _add_record(kept: list[SpanCall], record: Span, call: Call) -> None:
    """Add a span without length: what was written down of a call once its stream had ended.

    It belongs to the last call before it at the same place that has no answer of its own. Where
    there is none, it is the call, and may say how long it took.
    """
    for at in range(len(kept) - 1, -1, -1):
        span, known = kept[at]
        same_place = record.parent_span_id in (span.parent_span_id, span.span_id)
        if same_place and known.output is None and span.start_ns <= record.start_ns:
            whole = replace(span, end_ns=max(span.end_ns, record.end_ns))
            kept[at] = (whole, replace(merge_calls([call, known]), streamed=True))
            return
    seconds = real(record.attributes.get(semconv.LOGFIRE_DURATION))
    if seconds is not None and 0 < seconds < _MAX_STREAM_S:
        record = replace(record, start_ns=record.end_ns - round(seconds * 1e9))
        call = replace(call, streamed=True)
    kept.append((record, call))

"""What the sender works with: redaction, encoding, HTTP and the spool.

Most of what the SDK imports. Who configures or decorates loads it at the start of the application;
where neither happened the sender's thread does, not the first request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_monitor import __version__
from rag_monitor.redaction.redactor import build_redactor
from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.encoding import Encoder
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.options import Options
from rag_monitor.sdk.outcome import Poster
from rag_monitor.sdk.span_export import HostSpans, SpanExport
from rag_monitor.sdk.transport import Transport
from rag_monitor.sdk.wire import Envelope

if TYPE_CHECKING:
    from rag_monitor.sdk.spool import Spool


class Tools:
    """Everything that one sender needs, as its options say."""

    def __init__(
        self, options: Options, counters: Counters, transport: Poster | None = None
    ) -> None:
        self.redactor = build_redactor(options.redact, options.redaction_key)
        encoder = Encoder(options, self.redactor)
        self.shared = HostSpans(encoder) if options.provider == "share" else None
        self.encoder = SpanExport(encoder, self.shared, counters, steps=options.steps)
        self.envelope = Envelope(options, __version__)
        self.transport: Poster = transport or Transport(
            options.endpoint,
            _headers(options),
            compression=options.compression,
            timeout_s=options.timeout_s,
        )
        self.spool = _spool(options, counters)


def _spool(options: Options, counters: Counters) -> Spool | None:
    if not options.spool_dir:
        return None
    try:
        from rag_monitor.sdk.spool import Spool
    except ImportError:  # Windows: no fcntl
        GUARD.warn_once(
            "spool",
            "spool_dir needs POSIX file locks, which this system lacks; traces wait in memory only",
        )
        return None
    return Spool(options.spool_dir, options.max_spool_bytes, counters)


def _headers(options: Options) -> dict[str, str]:
    headers = {"User-Agent": f"rag-monitor-python/{__version__}", **options.headers}
    if options.api_key:
        headers["Authorization"] = f"Bearer {options.api_key}"
    return headers

"""The SDK's one client: configuration, environment, life and end.

The only module of the SDK that reads the environment.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from rag_monitor import __version__
from rag_monitor.errors import ConfigurationError
from rag_monitor.redaction.redactor import build_redactor
from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.encoding import Encoder
from rag_monitor.sdk.envelope import Envelope
from rag_monitor.sdk.export import SpanExport
from rag_monitor.sdk.feedback import FeedbackNote
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.options import DEFAULT_ENDPOINT, Options
from rag_monitor.sdk.otel import HostTracing, context_with
from rag_monitor.sdk.peek import text_of
from rag_monitor.sdk.queue import BoundedQueue
from rag_monitor.sdk.record import LiveTrace
from rag_monitor.sdk.sender import Item, Sender
from rag_monitor.sdk.share import HostSpans
from rag_monitor.sdk.spool import Spool
from rag_monitor.sdk.steps import Step
from rag_monitor.sdk.transport import Poster, Transport

_WAKE_EVERY = 256


class Client:
    """One configuration at work."""

    def __init__(self, options: Options, transport: Poster | None = None) -> None:
        self.options = options
        self.counters = Counters()
        self.max_chars = options.max_text_bytes
        self.max_answer_chars = options.max_trace_bytes
        self._redactor = build_redactor(options.redact, options.redaction_key)
        self._wake_chars = options.max_queue_chars // 8
        encoder = Encoder(options, self._redactor)
        self._host = HostTracing()
        self._shared = HostSpans(encoder) if options.provider == "share" else None
        self._export = SpanExport(encoder, self._shared, self.counters, steps=options.steps)
        self._queue: BoundedQueue[Item] = BoundedQueue(
            options.max_queue, options.max_queue_chars, self.counters
        )
        spool = (
            Spool(options.spool_dir, options.max_spool_bytes, self.counters)
            if options.spool_dir
            else None
        )
        self._sender = Sender(
            options,
            self.counters,
            self._queue,
            self._export,
            Envelope(options, __version__),
            transport
            or Transport(
                options.endpoint,
                _headers(options),
                compression=options.compression,
                timeout_s=options.timeout_s,
            ),
            spool,
        )
        self._pid = os.getpid()
        self._started = False
        self.closed = False

    def new_trace(self, name: str) -> LiveTrace:
        """Begin a trace with the ids OpenTelemetry's context calls for."""
        provider = self._host.provider()
        if self._shared is not None and provider is not None:
            return self._shared.open(self, provider, name)
        trace_id, span_id, link = self._host.ids()
        live = LiveTrace(self, name, trace_id, span_id)
        live.host_span = link
        if provider is None:
            live.otel_context = context_with(trace_id, span_id)
        return live

    def submit(self, item: Item) -> None:
        """Queue a finished trace or a feedback note; never waits, never raises."""
        try:
            if self._pid != os.getpid():
                self.renew_after_fork()
            if isinstance(item, LiveTrace):
                item.chars += item.answer_chars + _size(item.question) + _size(item.answer)
            self.counters.produce()
            if self.closed:
                self.counters.drop("exit")
                return
            waiting = self._queue.put(item)
            if not self._started:
                self._started = self._sender.ensure_started()
            if waiting % _WAKE_EVERY == 0 or self._queue.chars > self._wake_chars:
                self._sender.wake()
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.caught("submit", error)

    def open_shared(self, step: Step) -> None:
        """Begin a span for `step` in the host's provider."""
        if self._shared is not None:
            self._shared.open_step(step)

    def leave_shared(self, step: Step) -> None:
        """Make the span around `step` current again."""
        if self._shared is not None:
            self._shared.leave_step(step)

    def feedback(self, fields: dict[str, Any]) -> None:
        """Queue a person's mark."""
        self.submit(FeedbackNote(fields, self._redactor))

    def flush(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s`; True when everything produced so far has arrived."""
        return self._sender.flush(timeout_s)

    def close(self, timeout_s: float) -> bool:
        """Flush within `timeout_s`, then stop; what is left is dropped and counted."""
        if self.closed:
            return True
        arrived = self.flush(timeout_s)
        self.closed = True
        self._sender.stop(0.5)
        return arrived

    def stats(self) -> dict[str, object]:
        """Counts of this client, see `rag_monitor.stats`."""
        return {
            **self.counters.snapshot(),
            "queued_chars": self._queue.chars,
            "sender_alive": self._sender.alive,
            "internal_errors": dict(GUARD.errors),
        }

    def renew_after_fork(self) -> None:
        """In a forked child: empty queue, fresh locks, own thread at the next trace."""
        self._pid = os.getpid()
        self._started = False
        self.counters.renew_after_fork()
        self._queue.renew_after_fork()
        self._sender.renew_after_fork()


_LOCK = threading.RLock()
_active: Client | None = None
_clients: weakref.WeakSet[Client] = weakref.WeakSet()
_disabled = False


def configure(
    app: str | None = None,
    endpoint: str | None = None,
    *,
    environment: str | None = None,
    release: str | None = None,
    api_key: str | None = None,
    enabled: bool | None = None,
    strict: bool = False,
    **settings: Any,
) -> None:
    """Set the SDK up; call it once at start-up. Arguments win over the environment.

    Read from the environment when not given: `RAG_MONITOR_ENDPOINT`, else
    `OTEL_EXPORTER_OTLP_ENDPOINT`; `RAG_MONITOR_APP`, else `OTEL_SERVICE_NAME`;
    `RAG_MONITOR_ENVIRONMENT`, `RAG_MONITOR_RELEASE`, `RAG_MONITOR_API_KEY`,
    `RAG_MONITOR_ENABLED`, `RAG_MONITOR_CAPTURE_CONTENT`, `RAG_MONITOR_SPOOL_DIR`,
    `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SDK_DISABLED`.

    Args:
        app: Name of the application.
        endpoint: Base URL of the monitor.
        environment: For example `production`.
        release: Version of the application; new releases are compared with old ones.
        api_key: Sent as a bearer token.
        enabled: False makes every call of the SDK free of effect.
        strict: Raise on wrong settings instead of warning and going on without them.
        **settings: Any other field of `rag_monitor.sdk.options.Options`.

    Raises:
        ConfigurationError: Only with `strict=True`; names what is wrong and how to mend it.
    """
    given = {
        "app": app,
        "endpoint": endpoint,
        "environment": environment,
        "release": release,
        "api_key": api_key,
        "enabled": enabled,
        **settings,
    }
    try:
        options = _options({k: v for k, v in given.items() if v is not None})
        options.require_valid()
        client = Client(options) if options.enabled else None
    except Exception as error:
        if strict:
            raise
        reason = error.args[0] if isinstance(error, ConfigurationError) else error
        GUARD.say(f"configure {reason}", "rag_monitor is off: %s", reason)
        client = None
    install(client)


def install(client: Client | None) -> None:
    """Make `client` the one at work (None: off) and end the one before it."""
    global _active, _disabled
    with _LOCK:
        old, _active = _active, client
        _disabled = client is None
        if client is not None:
            _clients.add(client)
    if old is not None:
        old.close(0.0 if old.counters.produced == old.counters.settled else 2.0)


def active() -> Client | None:
    """The client at work, configured from the environment at the first call; None when off."""
    client = _active
    if client is None and not _disabled:
        with _LOCK:
            if _active is None and not _disabled:
                configure()
            client = _active
    return client


def flush(timeout_s: float = 5.0) -> bool:
    """Wait until all traces so far have arrived; call it off the event loop.

    Returns:
        True when everything arrived within `timeout_s`; False when something is still on its way
        or was dropped meanwhile.
    """
    client = _active
    return client.flush(timeout_s) if client is not None else True


def shutdown(timeout_s: float = 5.0) -> bool:
    """Flush, then stop the sender. Traces made later are dropped and counted."""
    client = _active
    return client.close(timeout_s) if client is not None else True


def stats() -> dict[str, object]:
    """Counts of this process: `produced`, `delivered`, `dropped` by reason, `waiting`.

    `delivered` + everything in `dropped` + `waiting` = `produced`, exactly.
    """
    client = _active
    return client.stats() if client is not None else {}


def feedback(
    trace_id: str,
    value: float,
    metric: str | None = None,
    statement: int | None = None,
    comment: str | None = None,
) -> None:
    """Send a person's mark on a trace, in the background.

    Args:
        trace_id: `current().trace_id` of the answer that is marked.
        value: 0 (bad) to 1 (good).
        metric: The metric the mark is about, or None for the whole answer.
        statement: 0-based index of the statement it is about.
        comment: Free text; redacted like captured text.
    """
    client = active()
    if client is None:
        return
    if text_of(trace_id) is None or not _unit(value):
        GUARD.say("feedback", "feedback ignored: it needs a trace_id and a value from 0 to 1")
        return
    client.feedback(
        {
            "trace_id": trace_id,
            "value": value,
            "metric": metric,
            "statement": statement,
            "comment": comment,
        }
    )


def _unit(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _options(given: dict[str, Any]) -> Options:
    env = os.environ.get
    GUARD.strict = env("RAG_MONITOR_STRICT", "") in ("1", "true")
    values: dict[str, Any] = {
        "app": env("RAG_MONITOR_APP") or env("OTEL_SERVICE_NAME"),
        "endpoint": env("RAG_MONITOR_ENDPOINT") or env("OTEL_EXPORTER_OTLP_ENDPOINT"),
        "environment": env("RAG_MONITOR_ENVIRONMENT"),
        "release": env("RAG_MONITOR_RELEASE"),
        "api_key": env("RAG_MONITOR_API_KEY"),
        "spool_dir": env("RAG_MONITOR_SPOOL_DIR"),
        "headers": _parse_headers(env("OTEL_EXPORTER_OTLP_HEADERS", "")),
        "enabled": _flag(env("RAG_MONITOR_ENABLED"), default=True)
        and not _flag(env("OTEL_SDK_DISABLED"), default=False),
        "capture_content": _flag(env("RAG_MONITOR_CAPTURE_CONTENT"), default=True),
    }
    values = {key: value for key, value in values.items() if value is not None}
    values.setdefault("endpoint", DEFAULT_ENDPOINT)
    values.update(given)
    unknown = sorted(set(values) - set(Options.__dataclass_fields__))
    if unknown:
        known = ", ".join(Options.__dataclass_fields__)
        raise ConfigurationError(f"unknown setting {', '.join(unknown)}; there are: {known}")
    return Options(**values)


def _flag(raw: str | None, *, default: bool) -> bool:
    if raw is None or not raw.strip():
        return default
    return raw.strip().lower() not in ("0", "false", "no", "off")


def _parse_headers(raw: str) -> dict[str, str]:
    pairs = (item.partition("=") for item in raw.split(","))
    return {
        unquote(key.strip()): unquote(value.strip()) for key, found, value in pairs if found and key
    }


def _headers(options: Options) -> dict[str, str]:
    headers = {"User-Agent": f"rag-monitor-python/{__version__}", **options.headers}
    if options.api_key:
        headers["Authorization"] = f"Bearer {options.api_key}"
    return headers


def _size(value: object) -> int:
    return len(value) if type(value) is str else 0


def _guarded_for_all(action: Callable[[Client], object]) -> None:
    for client in list(_clients):
        try:
            action(client)
        except Exception as error:  # noqa: BLE001 - the process ends or forks; it must go on
            GUARD.caught("lifecycle", error)


def _after_fork_in_child() -> None:
    global _LOCK
    _LOCK = threading.RLock()
    GUARD.renew_after_fork()
    _guarded_for_all(Client.renew_after_fork)


def _at_exit() -> None:
    _guarded_for_all(lambda client: client.close(client.options.exit_timeout_s - 0.5))


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)

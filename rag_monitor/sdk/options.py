"""What can be configured in the application, with every default and unit. Reads no environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from rag_monitor.errors import ConfigurationError
from rag_monitor.sdk import settings

DEFAULT_ENDPOINT = "http://127.0.0.1:8700"
SWITCHES: Final = ("enabled", "capture_content", "steps", "follow_threads")
"""Settings that are true or false. False is the safe side of each: less leaves the process."""
_SIZES: Final = (
    "max_queue",
    "max_queue_chars",
    "max_text_bytes",
    "max_trace_bytes",
    "max_batch_bytes",
    "max_spool_bytes",
)
_TIMES: Final = ("interval_s", "timeout_s", "exit_timeout_s")

Redact = Callable[[str, str], "str | None"]
"""`(field name, text) -> text`, or None to leave the field out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of the SDK. Everything has a default that works against a local monitor."""

    app: str = "app"
    """Name of the application; `service.name` on the wire."""
    endpoint: str = DEFAULT_ENDPOINT
    """Base URL; `/v1/traces` and `/api/v1/feedback` are appended."""
    environment: str | None = None
    release: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further request headers."""
    enabled: bool = True
    capture_content: bool = True
    """False: no question, answer, passage, query, tag, label, metadata, comment or message of an
    error leaves the process."""
    redact: str | Redact | object = "default"
    """`default` (secrets, identity and card numbers), `mask` (these, phones and e-mail), `hash`
    (as `mask`, keyed), `drop` (the whole field), `off`, a `redaction.Redactor`, or a callable."""
    redaction_key: str | None = field(default=None, repr=False)
    """Key of `redact="hash"`; the same text gives the same mark under the same key."""
    compression: str | None = None
    """`gzip` or None."""
    provider: str = "own"
    """`own` sends by ourselves; `share` emits through the host's OpenTelemetry provider."""
    steps: bool = False
    """Also send one child span per step, for other OpenTelemetry backends."""
    follow_threads: bool = False
    """Take the trace along into every `ThreadPoolExecutor` and `Thread` of the process."""
    max_queue: int = 2048
    """Finished traces waiting for the sender; beyond it the oldest is dropped and counted."""
    max_queue_chars: int = 32_000_000
    """Characters of all waiting traces together."""
    max_text_bytes: int = 32_768
    """UTF-8 bytes of one question, passage or query."""
    max_trace_bytes: int = 262_144
    """UTF-8 bytes of one trace on the wire."""
    max_batch_bytes: int = 2_000_000
    interval_s: float = 1.0
    """How long a finished trace waits at most before it is sent."""
    timeout_s: float = 10.0
    """Whole deadline of one request."""
    exit_timeout_s: float = 5.0
    """How long the end of the process may wait for the last traces."""
    spool_dir: str | None = None
    """Directory that keeps unsent traces over restarts; None: memory only."""
    max_spool_bytes: int = 268_435_456

    def __post_init__(self) -> None:
        """Take settings as people write them: numbers as text, words for switches, padded keys."""
        for reader, names in _READERS:
            for name in names:
                object.__setattr__(self, name, reader(getattr(self, name)))

    def check(self) -> list[str]:
        """What is wrong and how to mend it, one sentence per setting; empty when all is well."""
        return [message for wrong, message in (*self._checks(), *self._types()) if wrong]

    def _checks(self) -> list[tuple[bool, str]]:
        return [
            (
                not settings.is_http(self.endpoint),
                "endpoint must be an http(s) URL with a host",
            ),
            (not self.app or type(self.app) is not str, "app must be a non-empty string"),
            (self.compression not in (None, "gzip"), 'compression must be "gzip" or None'),
            (self.provider not in ("own", "share"), 'provider must be "own" or "share"'),
            (
                isinstance(self.redact, str)
                and self.redact not in ("default", "mask", "hash", "drop", "off"),
                'redact must be "default", "mask", "hash", "drop", "off" or a callable',
            ),
            (
                self.redact == "hash" and not self.redaction_key,
                'redact="hash" needs redaction_key= (any secret string)',
            ),
            (
                self.api_key is not None and not settings.fits_header(self.api_key),
                "api_key must be text that an HTTP header can hold, in one line",
            ),
            (
                not settings.are_headers(self.headers),
                'headers must be a dict of names and texts, such as {"x-team": "search"}',
            ),
            (
                self.spool_dir is not None and not settings.is_path(self.spool_dir),
                "spool_dir must be the path of a folder, as text or as a Path",
            ),
        ]

    def _types(self) -> Iterator[tuple[bool, str]]:
        for name in ("environment", "release", "redaction_key"):
            value = getattr(self, name)
            yield value is not None and type(value) is not str, f"{name} must be text or a number"
        for name in SWITCHES:
            yield type(getattr(self, name)) is not bool, f"{name} must be true or false"
        for name in (*_SIZES, *_TIMES):
            value = getattr(self, name)
            yield not settings.is_positive(value), f"{name} must be a number above 0"
            broken = name in _SIZES and isinstance(value, float)
            yield broken, f"{name} must be a whole number"

    def require_valid(self) -> None:
        """Refuse settings that cannot work.

        Raises:
            ConfigurationError: Names every wrong setting and the way to mend it.
        """
        wrong = self.check()
        if wrong:
            raise ConfigurationError("; ".join(wrong))


_READERS: Final = (
    (settings.text, ("app", "environment", "release", "redaction_key")),
    (settings.secret, ("api_key",)),
    (settings.base_url, ("endpoint",)),
    (settings.headers, ("headers",)),
    (settings.folder, ("spool_dir",)),
    (settings.switch, SWITCHES),
    (settings.whole, _SIZES),
    (settings.seconds, _TIMES),
)

"""What can be configured in the application, with every default and unit. Reads no environment.

The `as_…` functions bring settings as people write them to the types the SDK works with. They
refuse nothing: what cannot be read stays as it is, and `Options.check` reports it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast
from urllib.parse import urlsplit

from rag_monitor.errors import ConfigurationError
from rag_monitor.sdk.peek import text_of

LONGEST_S: Final = 1_000_000.0
"""Seconds; clocks and sockets refuse to wait for much more."""
_YES: Final = frozenset({"1", "true", "t", "yes", "y", "on", "enabled"})
_NO: Final = frozenset({"0", "false", "f", "no", "n", "off", "disabled", "none"})
_TOKEN: Final = frozenset(
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)
"""Characters of a header's name (RFC 9110)."""


def as_switch(value: object) -> object:
    """True or False for the usual words and 1 or 0; anything else as it is."""
    text = text_of(value)
    if text is not None:
        word = text.strip().lower()
        return True if word in _YES else False if word in _NO else value
    return bool(value) if type(value) is int and value in (0, 1) else value


def is_blank(value: object) -> bool:
    """Whether a switch is an empty text: it counts as not set."""
    text = text_of(value)
    return text is not None and not text.strip()


def as_text(value: object) -> object:
    """Text of a text or a number, valid as UTF-8; anything else as it is."""
    if type(value) is int or type(value) is float:
        try:
            return str(value)
        except ValueError:  # an integer of thousands of digits
            return value
    plain = text_of(value)
    return value if plain is None else plain.encode("utf-8", "replace").decode()


def as_secret(value: object) -> object:
    """As `as_text`, without the blanks and the newline around it that a mounted file has."""
    plain = as_text(value)
    return (plain.strip() or None) if isinstance(plain, str) else plain


def as_folder(value: object) -> object:
    """A path as text; anything else as it is."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    return os.fsdecode(value) if isinstance(value, bytes) else value


def as_base_url(value: object) -> object:
    """An endpoint without blanks around it and without the path of the traces, which we append."""
    url = text_of(value)
    if url is None:
        return value
    return url.strip().rstrip("/").removesuffix("/v1/traces")


def as_headers(value: object) -> object:
    """Header names and their text; numbers become theirs. Anything else as it is."""
    if not isinstance(value, Mapping):
        return value
    texts = {name: as_text(item) for name, item in value.items()}
    return {name: one.strip() if isinstance(one, str) else one for name, one in texts.items()}


def as_whole(value: object) -> object:
    """An integer for a float that is one; anything else as it is."""
    return int(value) if type(value) is float and value.is_integer() else value


def as_seconds(value: object) -> object:
    """At most as long as can be waited for."""
    return min(cast("float", value), LONGEST_S) if is_positive(value) else value


def is_positive(value: object) -> bool:
    """Whether it is a number above 0, and not beyond reason."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15


def is_http(url: object) -> bool:
    """Whether it is an http(s) URL with a host that a request can be sent to."""
    if not isinstance(url, str) or any(one <= " " or one == "\x7f" for one in url):
        return False
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and parts.path.isascii()
        )
    except ValueError:
        return False


def is_path(value: object) -> bool:
    """Whether it can be the path of a folder."""
    return isinstance(value, str) and "\0" not in value


def fits_header(value: object) -> bool:
    """Whether a header can hold it as its value."""
    if not isinstance(value, str):
        return False
    return all(" " <= one <= "~" or "\xa0" <= one <= "\xff" for one in value)


def are_headers(value: object) -> bool:
    """Whether these are names of headers and what headers can hold."""
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and name and _TOKEN.issuperset(name) and fits_header(item)
        for name, item in value.items()
    )


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
        """What is wrong and how to fix it, one sentence per setting; empty when all is well."""
        return [message for wrong, message in (*self._checks(), *self._types()) if wrong]

    def _checks(self) -> list[tuple[bool, str]]:
        return [
            (
                not is_http(self.endpoint),
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
                self.api_key is not None and not fits_header(self.api_key),
                "api_key must be text that an HTTP header can hold, in one line",
            ),
            (
                not are_headers(self.headers),
                'headers must be a dict of names and texts, such as {"x-team": "search"}',
            ),
            (
                self.spool_dir is not None and not is_path(self.spool_dir),
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
            yield not is_positive(value), f"{name} must be a number above 0"
            broken = name in _SIZES and isinstance(value, float)
            yield broken, f"{name} must be a whole number"

    def require_valid(self) -> None:
        """Refuse settings that cannot work.

        Raises:
            ConfigurationError: Names every wrong setting and how to fix it.
        """
        wrong = self.check()
        if wrong:
            raise ConfigurationError("; ".join(wrong))


_READERS: Final = (
    (as_text, ("app", "environment", "release", "redaction_key")),
    (as_secret, ("api_key",)),
    (as_base_url, ("endpoint",)),
    (as_headers, ("headers",)),
    (as_folder, ("spool_dir",)),
    (as_switch, SWITCHES),
    (as_whole, _SIZES),
    (as_seconds, _TIMES),
)

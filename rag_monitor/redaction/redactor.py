"""Hides secrets and personal data in text: before it leaves the process, and in what others sent.

The SDK uses it on its background thread, and ingest as a second net. What another server says of an
error may hold anything, too: our own key, a line break that forges a log line, a page of HTML;
`presentable` makes such a sentence fit to be logged, stored and shown.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from rag_monitor.errors import ConfigurationError
from rag_monitor.redaction.patterns import ALL, ALWAYS, SECRET, Pattern, Screen

MODES: Final = ("mask", "hash", "drop")


class TextRedactor(Protocol):
    """Decides what of a text may leave."""

    def clean(self, field: str, text: str) -> str | None:
        """The text to send for `field`, or None to leave it out."""
        ...

    def clears(self, text: str) -> bool:
        """Whether `clean` would certainly leave every part of `text` as it is."""
        ...


@dataclass(frozen=True, kw_only=True)
class Redactor:
    """Patterns for every field, and rules for whole fields.

        >>> redactor = Redactor(fields={"user_id": "drop"})
        >>> redactor.clean("question", "My key is sk-abcdefghij0123456789abcd, why?")
        'My key is [secret], why?'
        >>> redactor.clean("user_id", "u-7") is None
        True

    Raises:
        ConfigurationError: On an unknown mode, or hashing without a key.
    """

    patterns: tuple[Pattern, ...] = ALWAYS
    mode: str = "mask"
    """`mask` writes `[kind]`, `hash` writes `[kind:…]` with a keyed hash, so that equal texts stay
    equal; `drop` leaves out the field that contains a match."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Field name to mode for the whole value, whatever it contains: `question`, `answer`,
    `query`, `content`, `comment`, `user_id`, `session_id`, `tags`, `error`, `metadata.<key>`."""
    key: str | None = field(default=None, repr=False)
    """Key of the hashes (HMAC-SHA-256)."""

    def __post_init__(self) -> None:
        used = {self.mode, *self.fields.values()}
        unknown = sorted(used - set(MODES))
        if unknown:
            raise ConfigurationError(
                "unknown redaction mode {names}; use mask, hash or drop", names=", ".join(unknown)
            )
        if "hash" in used and not self.key:
            raise ConfigurationError("hashing needs a key: give redaction_key= any secret string")

    def clean(self, field: str, text: str) -> str | None:
        """The text to send for `field`, or None to leave it out. Linear in the text's length."""
        rule = self.fields.get(field)
        if rule == "drop":
            return None
        if rule is not None:
            return self._mark(field, text, rule)
        if len(text) < 6:
            return text
        screen = Screen(text)
        for pattern in self.patterns:
            if not pattern.may_occur(screen):
                continue
            cleaned = self._apply(pattern, text)
            if cleaned is None:
                return None
            if cleaned is not text:
                text, screen = cleaned, Screen(cleaned)
        return text

    def clears(self, text: str) -> bool:
        """Whether `clean` would leave every part of `text` as it is, in whatever field.

        One screening of many texts joined by newlines costs a fraction of screening each.
        """
        if self.fields:
            return False
        screen = Screen(text)
        return not any(pattern.may_occur(screen) for pattern in self.patterns)

    def _apply(self, pattern: Pattern, text: str) -> str | None:
        parts: list[str] = []
        end = 0
        for match in pattern.expression.finditer(text):
            matched = match.group()
            if not pattern.check(matched):
                continue
            if self.mode == "drop":
                return None
            parts += (text[end : match.start()], self._mark(pattern.kind, matched, self.mode))
            end = match.end()
        return "".join((*parts, text[end:])) if parts else text

    def _mark(self, kind: str, text: str, mode: str) -> str:
        if mode == "mask" or self.key is None:
            return f"[{kind}]"
        return f"[{kind}:{keyed_hash(self.key, text)}]"


class CallableRedactor:
    """A function of the user's; when it raises, the field is left out, never sent raw."""

    def __init__(self, function: Callable[[str, str], str | None]) -> None:
        self._function = function
        self.failures = 0
        """How often the function raised or returned something other than text or None."""

    def clears(self, text: str) -> bool:
        """Never: only the function knows."""
        del text
        return False

    def clean(self, field: str, text: str) -> str | None:
        """What the function says; None when it fails."""
        try:
            result = self._function(field, text)
        except Exception:  # noqa: BLE001 - any failure of the user's function drops the field
            self.failures += 1
            return None
        if result is None or type(result) is str:
            return result
        self.failures += 1
        return None


def keyed_hash(key: str, text: str) -> str:
    """16 hex digits of HMAC-SHA-256: equal texts stay equal, and testing one needs the key."""
    digest = hmac.new(
        key.encode("utf-8", "replace"), text.encode("utf-8", "replace"), hashlib.sha256
    )
    return digest.hexdigest()[:16]


def build_redactor(setting: object, key: str | None = None) -> TextRedactor | None:
    """The redactor for a setting: `default`, `mask`, `hash`, `drop`, `off`, a redactor, a callable.

    Raises:
        ConfigurationError: The setting is none of these; the message lists them.
    """
    if setting in (None, "off", False):
        return None
    if setting == "default" or setting is True:
        return Redactor(key=key)
    if isinstance(setting, str) and setting in MODES:
        return Redactor(patterns=ALL, mode=setting, key=key)
    if isinstance(setting, Redactor):
        return setting
    clean = getattr(setting, "clean", None)
    if callable(clean):
        return CallableRedactor(clean)
    if callable(setting):
        return CallableRedactor(setting)
    raise ConfigurationError(
        'redact must be "default", "mask", "hash", "drop", "off", a Redactor or a callable'
    )


LONGEST: Final = 300
"""Characters of a sentence; the rest is cut off."""
_READ: Final = 8_000
"""Characters looked at; a longer text is cut before any pattern runs over it."""
_SHORTEST_SECRET: Final = 4
"""A shorter setting is no secret, and hiding it would hide half of the sentence."""
HIDDEN: Final = "[secret]"
"""What stands for a secret."""
_PATTERNS: Final = (
    SECRET.expression,
    # A key by its prefix, also one that the server has starred already.
    re.compile(r"\b(?:sk|ak|pk|rk)-[\w*.…-]{6,}"),
    re.compile(r"(?i)(?<=\bbearer )[^\s\"',;]{6,}|(?<=\bbasic )[^\s\"',;]{6,}"),
    # A value that is named a secret, as a header, a setting or part of a URL.
    re.compile(
        r"""(?ix) (?: authorization | (?:x-|x-goog-|ocp-apim-)?(?:api|subscription|access)[ _-]?key
        | secret(?:[ _-]?key)? | (?:access[ _-]?)?token | password | passwd | pwd | signature | sig
        | 密码 | 密钥 ) ["']? \s? (?:[:=：]|\bis\b|为) \s? ["']? (?:bearer|basic|token)? \s?
        (?P<value> (?=[^\s"',;&，。；]*[0-9]) [^\s"',;&，。；]{6,400} )"""
    ),
    re.compile(r"(?i)[?&](?:api[_-]?key|key|token|access_token|code|sig)=(?P<value>[^\s&\"'<>]+)"),
    re.compile(r"(?<=://)[^\s/?#]+(?=@)"),
)
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def presentable(text: str, secrets: Iterable[str] = (), longest: int = LONGEST) -> str:
    """`text` as one line without secrets and control characters, cut to `longest` characters.

        >>> presentable("no access  for key sk-live-12345678; retry later")
        'no access for key [secret]; retry later'

    Args:
        text: What the other server said.
        secrets: Our own, which it may repeat; shorter ones than four characters are passed over.
        longest: Characters kept.

    Returns:
        `text` itself, so that a `Message` can be translated, where nothing had to be changed.
    """
    whole, text = text, text[:_READ]
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
    text = _ESCAPES.sub("", without_secrets(text))
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
    return whole if line == whole else line


def without_secrets(text: str) -> str:
    """`text` without what looks like a key, a token or a password.

    >>> without_secrets('{"authorization": "Bearer 7f3k29xq81"}')
    '{"authorization": "Bearer [secret]"}'
    """
    for pattern in _PATTERNS:
        text = pattern.sub(_hidden, text)
    return text


def without_credentials(url: str) -> str:
    """`url` without user name, password and query, as it may be shown."""
    return re.sub(r"(?<=://)[^\s/?#]+@", "", url).partition("?")[0]


def _hidden(match: re.Match[str]) -> str:
    if "value" not in match.re.groupindex:
        return HIDDEN
    whole, start = match.group(), match.start()
    return whole[: match.start("value") - start] + HIDDEN + whole[match.end("value") - start :]

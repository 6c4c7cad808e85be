"""Sentences of other servers, made fit to be logged, stored and shown.

What a server says of an error may hold anything: our own key, a line break that forges a log line,
a page of HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rag_monitor.redaction.patterns import SECRET

LONGEST: Final = 300
"""Characters of a sentence; the rest is cut off."""
_READ: Final = 8_000
"""Characters looked at; a longer text is cut before any pattern runs over it."""
_SHORTEST_SECRET: Final = 4
"""A shorter setting is no secret, and hiding it would hide half of the sentence."""
_HIDDEN: Final = "[secret]"
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
            text = text.replace(secret, _HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(_hidden, text)
    text = _ESCAPES.sub("", text)
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
    return whole if line == whole else line


def without_credentials(url: str) -> str:
    """`url` without user name, password and query, as it may be shown."""
    return re.sub(r"(?<=://)[^\s/?#]+@", "", url).partition("?")[0]


def _hidden(match: re.Match[str]) -> str:
    if "value" not in match.re.groupindex:
        return _HIDDEN
    whole, start = match.group(), match.start()
    return whole[: match.start("value") - start] + _HIDDEN + whole[match.end("value") - start :]

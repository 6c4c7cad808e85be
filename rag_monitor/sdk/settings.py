"""Settings as people write them, brought to the types the SDK works with.

Nothing here refuses: what cannot be read stays as it is, and `Options.check` says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, cast
from urllib.parse import urlsplit

from rag_monitor.sdk.peek import text_of

LONGEST_S: Final = 1_000_000.0
"""Seconds; clocks and sockets refuse to wait for much more."""
_YES: Final = frozenset({"1", "true", "t", "yes", "y", "on", "enabled"})
_NO: Final = frozenset({"0", "false", "f", "no", "n", "off", "disabled", "none"})
_TOKEN: Final = frozenset(
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)
"""Characters of a header's name (RFC 9110)."""


def switch(value: object) -> object:
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


def text(value: object) -> object:
    """Text of a text or a number, valid as UTF-8; anything else as it is."""
    if type(value) is int or type(value) is float:
        try:
            return str(value)
        except ValueError:  # an integer of thousands of digits
            return value
    plain = text_of(value)
    return value if plain is None else plain.encode("utf-8", "replace").decode()


def secret(value: object) -> object:
    """As `text`, without the blanks and the newline around it that a mounted file has."""
    plain = text(value)
    return (plain.strip() or None) if isinstance(plain, str) else plain


def folder(value: object) -> object:
    """A path as text; anything else as it is."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    return os.fsdecode(value) if isinstance(value, bytes) else value


def base_url(value: object) -> object:
    """An endpoint without blanks around it and without the path of the traces, which we append."""
    url = text_of(value)
    if url is None:
        return value
    return url.strip().rstrip("/").removesuffix("/v1/traces")


def headers(value: object) -> object:
    """Header names and their text; numbers become theirs. Anything else as it is."""
    if not isinstance(value, Mapping):
        return value
    texts = {name: text(item) for name, item in value.items()}
    return {name: one.strip() if isinstance(one, str) else one for name, one in texts.items()}


def whole(value: object) -> object:
    """An integer for a float that is one; anything else as it is."""
    return int(value) if type(value) is float and value.is_integer() else value


def seconds(value: object) -> object:
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

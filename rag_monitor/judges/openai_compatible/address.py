"""Where a judge's server is, what is sent with every request to it, and which of that is secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions
from rag_monitor.redaction.redactor import without_credentials

NO_KEY: Final = "none"
"""The setting for servers that ask for no key."""
_ENDPOINT: Final = "/chat/completions"
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SECRET_NAME: Final = re.compile(r"key|token|sig|secret|password|code|auth", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The parts of a server's address."""

    base: str
    """Without the query."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    key: str
    """Empty: none is sent."""
    shown: str
    """As messages name it."""
    secrets: tuple[str, ...]
    """What no message may hold."""


def address_of(options: OpenAICompatibleOptions) -> Address:
    """The address that the settings describe.

    A URL as it is copied from a vendor's page may end in the endpoint and in a query.

    Raises:
        ConfigurationError: A header cannot be sent; its value is not shown.
    """
    parts = urlsplit(options.base_url)
    base = options.base_url.partition("?")[0].rstrip("/").removesuffix(_ENDPOINT)
    query = dict(parse_qsl(parts.query, keep_blank_values=True)) | dict(options.query)
    for name, value in options.headers.items():
        if not _HEADER.fullmatch(name) or not value.isprintable() or not value.isascii():
            raise ConfigurationError(
                "judges.openai_compatible.headers: {name!r} cannot be sent; a header is one line "
                "of ASCII",
                name=name,
            )
    key = "" if options.api_key == NO_KEY else options.api_key
    hidden = [value for name, value in query.items() if _SECRET_NAME.search(name)]
    for value in options.headers.values():
        hidden += [value, *value.split()[1:]]
    hidden += [part for part in (key, parts.username, parts.password) if part]
    return Address(
        base=base,
        query=query,
        headers=dict(options.headers),
        key=key,
        shown=without_credentials(base),
        secrets=tuple(hidden),
    )

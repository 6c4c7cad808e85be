"""Label values are text from outside: made safe, short and few before Prometheus sees them."""

from __future__ import annotations

import unicodedata
from typing import Final

from rag_monitor.domain.trace import DEFAULT_PROJECT

MAX_LENGTH: Final = 128
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


def safe_label(value: str) -> str:
    """The value without lone surrogates and control characters, at most 128 characters."""
    cut = value[:MAX_LENGTH]
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(REPLACEMENT if unicodedata.category(c) in {"Cc", "Cs"} else c for c in cut)


def app_label(project: str, app: str) -> str:
    """The app's name; with its project in front unless that is the default one.

    A name with a slash always gets its project, so that no app can take another project's label.
    """
    plain = project == DEFAULT_PROJECT and "/" not in app
    return safe_label(app if plain else f"{project}/{app}")

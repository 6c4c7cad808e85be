"""The catalogues of translations: one gettext file for each language.

They are read as they are edited (`.po`) and put into gettext's own form (`.mo`) in memory, once in
a process and for languages that are asked for only: 1,500 messages take some ten milliseconds.
So a new language is one file, in a clone as in a wheel, and nothing has to be compiled.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gettext import NullTranslations

ENGLISH: Final = "en"
"""The language of the messages themselves; it needs no catalogue."""
LOCALE: Final = Path(__file__).parent.parent / "locale"
_ENGLISH_NAME: Final = "English"
_FILE: Final = "LC_MESSAGES/rag_monitor.po"
_MAGIC: Final = 0x950412DE
"""The first number of a `.mo` file, by which gettext tells the order of bytes."""


def languages() -> tuple[str, ...]:
    """The codes of all languages, English first."""
    codes = sorted(path.parent.parent.name for path in LOCALE.glob(f"*/{_FILE}"))
    return (ENGLISH, *codes)


@lru_cache(maxsize=16)
def catalogue(language: str) -> NullTranslations:
    """The translations into a language; none of a language without a catalogue."""
    # Few processes need another language than English, and the SDK imports this module.
    from gettext import GNUTranslations, NullTranslations

    if language not in languages()[1:]:
        return NullTranslations()
    text = (LOCALE / language / _FILE).read_text(encoding="utf-8")
    return GNUTranslations(BytesIO(compiled(entries(text))))


def name_of(language: str) -> str:
    """What a language calls itself."""
    return catalogue(language).info().get("x-language-name", _ENGLISH_NAME)


def tag_of(language: str) -> str:
    """A language for browsers (BCP 47)."""
    return catalogue(language).info().get("language", ENGLISH)


def entries(text: str) -> Iterator[dict[str, str]]:
    """The entries of a `.po` file by their keywords: `msgid`, `msgstr`, `msgctxt` and so on.

    Raises:
        ValueError: A line is none of such a file.
    """
    entry: dict[str, str] = {}
    keyword = ""
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith('"'):
            keyword, _, line = line.partition(" ")
            if keyword in {"msgctxt", "msgid"} and any(name.startswith("msgstr") for name in entry):
                yield entry
                entry = {}
            entry[keyword] = ""
        # What gettext escapes, JSON escapes alike.
        entry[keyword] += json.loads(line)
    if entry:
        yield entry


def compiled(messages: Iterable[dict[str, str]]) -> bytes:
    """The entries as a `.mo` file holds them (GNU gettext manual, "MO Files")."""
    pairs = sorted(filter(None, map(_pair, messages)))
    offset = 7 * 4 + 16 * len(pairs)
    tables, texts = [b"", b""], b""
    for column in (0, 1):
        for pair in pairs:
            text = pair[column]
            tables[column] += pack("<2I", len(text), offset + len(texts))
            texts += text + b"\0"
    head = pack("<7I", _MAGIC, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return head + tables[0] + tables[1] + texts


def _pair(entry: dict[str, str]) -> tuple[bytes, bytes] | None:
    """What stands for an entry in a `.mo` file; None without a translation."""
    forms = [text for name, text in entry.items() if name.startswith("msgstr")]
    if not all(forms):
        return None
    key = f"{entry['msgctxt']}\x04" if "msgctxt" in entry else ""
    key += "\0".join([entry["msgid"], *filter(None, [entry.get("msgid_plural")])])
    return key.encode(), "\0".join(forms).encode()

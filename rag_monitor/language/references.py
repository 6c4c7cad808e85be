"""The list of sources at the end of an answer: "[1]: https://…", "References", 参考资料."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.language.citations import URL, Mark, find_removable
from rag_monitor.language.hints import Hints, holds_any
from rag_monitor.language.normalise import to_simplified

_TITLES: Final = (
    r"references?|sources?(?: (?:used|cited))?|citations?|bibliography|footnotes?|works cited"
    r"|further reading|learn more"
    "|参考(?:资料|文献|来源|链接|文档|内容)?|引用(?:来源|文献|资料|文档)?|资料来源|信息来源|数据来源"
    "|来源(?:文档|链接)?|出处|相关链接|脚注|注释"
)
_HEADER: Final = re.compile(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*|[-*•][ \t]+)?[*_【(（]*(?:{_TITLES})[】*_]*[ \t]*"
    r"(?:(?P<colon>[:：])[*_]*[ \t]*(?P<rest>[^\n]*)|[】*_]*[ \t]*)[)）]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_ENTRY: Final = re.compile(
    r"[ \t]*(?:[-*•·][ \t]+)?"
    r"(?:[\[【［]\^?(?P<key>[\w.-]{1,40})\]?[\]】］]?[:：]?|(?P<listed>\d{1,2})[.)、）]|(?P<circled>[①-⑳]))?"
    r"[ \t]*(?P<text>[^\n]*)$"
)
_DEFINITION: Final = re.compile(
    r"^[ \t]*\[\^?(?P<key>[\w.-]{1,40})\](?::[ \t]*|[ \t]+(?=https?://))(?P<text>\S[^\n]*)$",
    re.MULTILINE,
)
_LINK: Final = re.compile(r"\[(?P<anchor>[^\[\]\n]+)\]\((?P<url>[^\s()]+)[^()\n]*\)")
_TITLE_OF_URL: Final = re.compile(r"\"([^\"\n]+)\"")
_LONGEST_ENTRY: Final = 200
_PLAIN_HINTS: Final = ("]:", "] http", "]\thttp")
_TITLE_HINTS: Final = Hints((
    "reference", "source", "citation", "bibliography", "footnote", "works cited", "further reading",
    "learn more", "参考", "引用", "来源", "出处", "相关链接", "脚注", "注释",
))  # fmt: skip
_ENDS: Final = tuple("。！？")


@dataclass(frozen=True, slots=True)
class Entry:
    """One source of a list."""

    start: int
    end: int
    key: str | None
    """What citations call it: `2` of "[2] Terms"; None: no citation can."""
    names: tuple[str, ...]
    """Its address, title and file, as far as it has them."""


@dataclass(frozen=True, slots=True)
class References:
    """The lists of sources of one answer."""

    spans: tuple[tuple[int, int], ...] = ()
    """Where they stand: none of it asserts anything."""
    entries: tuple[Entry, ...] = ()

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """What each key stands for."""
        return {entry.key: entry.names for entry in self.entries if entry.key is not None}


_NONE: Final = References()


def find_references(text: str) -> References:
    """The lists of sources in `text`; only its end may hold one with a title."""
    if "\n" not in text:
        return _NONE
    text = to_simplified(text)
    if not (_TITLE_HINTS.found(text.lower()) or holds_any(text, _PLAIN_HINTS)):
        return _NONE
    titled = _titled(text)
    first = titled.spans[0][0] if titled.spans else len(text)
    entries = [_entry(m) for m in _DEFINITION.finditer(text) if m.start() < first]
    spans = [(entry.start, entry.end) for entry in entries]
    return References((*spans, *titled.spans), (*entries, *titled.entries))


def without_citations(text: str) -> str:
    """`text` of the same length, citations and lists of sources blank.

    What is left is what it says; a sentence of which they are part ("According to passage 2, …")
    stays whole.
    """
    references = find_references(text)
    marks: Sequence[Mark] = find_removable(text)
    if not (marks or references.spans):
        return text
    pieces, at = [], 0
    for start, end in sorted((*references.spans, *((m.start, m.end) for m in marks))):
        if start >= at:
            pieces += [text[at:start], " " * (end - start)]
            at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _entry(match: re.Match[str]) -> Entry:
    return Entry(match.start(), match.end(), match["key"], _names(match["text"]))


def _titled(text: str) -> References:
    """A list with a title that runs to the end of the text."""
    for header in _HEADER.finditer(text):
        rest = header["rest"] or ""
        entries = _entries(text, header.end())
        if entries is None or (not entries and not rest):
            continue
        if rest:
            listed = _listed(rest, header.start("rest"))
            if listed is None:
                continue
            entries = [*listed, *entries]
        return References(((header.start(), len(text)),), tuple(entries))
    return _NONE


def _listed(rest: str, start: int) -> list[Entry] | None:
    """Sources in the line of the title: "Sources: a.pdf, [2]"; None where it says something."""
    if len(rest) > _LONGEST_ENTRY or rest.rstrip().endswith(_ENDS):
        return None
    entries, at = [], 0
    for part in re.split(r"([,，、;；])", rest.rstrip(" )）")):
        place, at = at, at + len(part)
        if part.strip(" ,，、;；"):
            match = _ENTRY.match(part)
            key = match["key"] if match else None
            entries.append(
                Entry(start + place, start + at, key, _names(match["text"] if match else part))
            )
    return entries


def _entries(text: str, at: int) -> list[Entry] | None:
    """One source a line from `at` to the end; None where something else follows."""
    entries = []
    for line in re.finditer(r"[^\n]+", text[at:]):
        if not line[0].strip():
            continue
        match = _ENTRY.match(line[0])
        if match is None or len(line[0]) > _LONGEST_ENTRY or line[0].rstrip().endswith(_ENDS):
            return None
        start = at + line.start()
        entries.append(Entry(start, at + line.end(), match["key"], _names(match["text"])))
    return entries


def _names(text: str) -> tuple[str, ...]:
    """Addresses first, then what it is called."""
    names = [match["url"] for match in _LINK.finditer(text)]
    names += [match["anchor"] for match in _LINK.finditer(text)]
    plain = _LINK.sub(" ", text)
    names += URL.findall(plain)
    plain = URL.sub(" ", plain)
    names += _TITLE_OF_URL.findall(plain)
    title = _TITLE_OF_URL.sub(" ", plain).strip(" \t,，.。:：-–—()（）《》<>*")
    return tuple(dict.fromkeys([*names, title] if title else names))

"""Which passage a citation means: by its number, by what the model was shown for it, by name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.language.citations import URL, Label
from rag_monitor.language.normalise import fold

_DIGITS: Final = re.compile(r"\d+")
_SOURCE_ANCHOR: Final = re.compile(
    r"\d{1,3}|sources?|link|here|来源|出处|链接|原文|详情|https?://.*|[\w-]+(?:\.[\w-]+)+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Source:
    """A passage as a citation may call it."""

    label: str | None = None
    """What the model was shown for it; None: its place, from 1."""
    names: tuple[str, ...] = ()
    """Its id, title, file, address."""
    text: str = ""
    """An address that stands in it may be repeated without citing anything."""


class Sources:
    """The passages of one answer, by number and by name."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._count = len(sources)
        self._texts = [source.text for source in sources]
        self._labels: dict[str, list[int]] = defaultdict(list)
        self._names: dict[str, list[int]] = defaultdict(list)
        for place, source in enumerate(sources):
            if source.label is not None:
                self._labels[_plain(source.label)].append(place)
            for name in source.names:
                for form in _forms(name):
                    self._names[form].append(place)
        self._shapes = {_shape(form) for form in self._names if _DIGITS.search(form)}
        self._hosts = {host for form in self._names if (host := _host(form))}

    @property
    def named(self) -> bool:
        """Whether anything is known by which to tell a named passage."""
        return bool(self._names or self._labels)

    def resolve(
        self, label: Label, listed: Mapping[str, tuple[str, ...]]
    ) -> tuple[int, ...] | None:
        """The places of the passages that are meant; empty: none is such; None: it cites nothing.

        Args:
            label: What the citation says.
            listed: What its list of sources says of each key.
        """
        names = listed.get(label.text, ())
        if names and (places := self.by_names(names)) is not None:
            return places
        if label.anchor is None or label.number is None:
            own = self._labels.get(_plain(label.text))
            if own is not None:
                return tuple(own)
        by_name = self._by_name(label.text)
        if by_name:
            return by_name
        if label.number is not None and (label.anchor is None or not self._hosts):
            return self._by_number(label.number)
        return () if self._invented(label) else None

    def by_names(self, names: Sequence[str]) -> tuple[int, ...] | None:
        """The passages that a list of sources means; empty: it names others; None: cannot tell."""
        for name in names:
            if places := self._by_name(name):
                return places
        return () if any(_host(_plain(n)) and self._hosts for n in names) else None

    def _by_number(self, number: int) -> tuple[int, ...] | None:
        if number < 1:
            return None
        if self._labels:
            return ()
        return (number - 1,) if 1 <= number <= self._count else ()

    def _by_name(self, name: str) -> tuple[int, ...]:
        if not self._names:
            return ()
        places = {place for form in _forms(name) for place in self._names.get(form, ())}
        return tuple(sorted(places))

    def _invented(self, label: Label) -> bool:
        """Whether a name that no passage has is of the kind that passages have."""
        plain = _plain(label.text)
        host = _host(plain)
        if host:
            if any(label.text in text for text in self._texts):
                return False
            cites = label.anchor is None or _SOURCE_ANCHOR.fullmatch(label.anchor.strip())
            return (
                bool(self._hosts)
                and bool(cites)
                and (host in self._hosts or label.number is not None)
            )
        if label.sure:
            return self.named
        return bool(_DIGITS.search(plain)) and _shape(plain) in self._shapes


def _plain(name: str) -> str:
    return fold(name).strip().rstrip("/")


def _forms(name: str) -> set[str]:
    """How a name may be written: whole, without fragment and scheme, its file, that without end."""
    plain = _plain(name)
    forms = {plain}
    bare = re.sub(r"^https?://(?:www\.)?", "", plain.partition("#")[0]).rstrip("/")
    forms.add(bare)
    if not _host(plain):
        last = re.split(r"[/\\]", bare)[-1]
        forms |= {last, re.sub(r"\.\w{2,5}$", "", last)}
    return {form for form in forms if form}


def _host(plain: str) -> str:
    return plain.split("/")[2].removeprefix("www.") if URL.match(plain) else ""


def _shape(plain: str) -> str:
    """A name with its digits alike: `kb-0012` and `kb-0099` have one shape."""
    return _DIGITS.sub("0", plain)

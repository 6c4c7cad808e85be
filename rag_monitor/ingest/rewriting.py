"""Rules that rewrite the names of applications, such as those that end in the name of a pod.

Names come from outside, so each match has a time limit, and a rule that exceeds it again and again
is switched off: no text can make a pattern cost more.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from rag_monitor import telemetry
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message
from rag_monitor.ingest.values import clean_name
from rag_monitor.installation import install_command

_TIMEOUT_S: Final = 0.005
_STRIKES: Final = 5
"""So often a rule may exceed its time before it is switched off."""
_REMEMBERED: Final = 10_000
_REFERENCE: Final = re.compile(r"\\(?:(\d+)|g<(\w+)>)")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppOptions:
    """How applications are named."""

    rewrite: tuple[tuple[str, str], ...] = ()
    """Pairs of a regular expression and what replaces its matches in an app's name, one after the
    other. Applied to traces that come in from then on; what was sent is kept in their
    attributes."""

    def __post_init__(self) -> None:
        for pattern, replacement in self.rewrite:
            _compiled(pattern, replacement)


class Rewriting:
    """Applies rules to names. Safe to share between threads.

        >>> rewriting = Rewriting(AppOptions(rewrite=((r"-[0-9a-f]{8}$", ""),)))
        >>> rewriting.rewritten("shop-7f3a91c2"), rewriting.rewritten("shop")
        ('shop', 'shop')

    Args:
        options: The rules.

    Raises:
        ConfigurationError: There are rules, and the package that bounds their time is missing.
    """

    def __init__(self, options: AppOptions) -> None:
        self._rules = [
            (_compiled(pattern, replacement), replacement)
            for pattern, replacement in options.rewrite
        ]
        self._strikes: Counter[int] = Counter()
        self.rewritten = lru_cache(maxsize=_REMEMBERED)(self._rewritten) if self._rules else str

    def _rewritten(self, name: str) -> str:
        """The name by the rules; one that they leave nothing of stays as it is."""
        rewritten = name
        for number, (pattern, replacement) in enumerate(self._rules):
            if self._strikes[number] >= _STRIKES:
                continue
            try:
                rewritten = pattern.sub(replacement, rewritten, timeout=_TIMEOUT_S)
            except TimeoutError:
                self._strike(number, pattern.pattern)
        return clean_name(rewritten) or name

    def _strike(self, number: int, pattern: str) -> None:
        telemetry.dropped("derive", "rewrite_timeout")
        self._strikes[number] += 1
        if self._strikes[number] == _STRIKES:
            _log.error(
                "[apps] rewrite: %r takes too long to match and is left out from now on; "
                "write it without repetitions inside repetitions",
                pattern,
            )


def _compiled(pattern: str, replacement: str) -> Any:
    try:
        import regex
    except ModuleNotFoundError:
        raise ConfigurationError(
            "[apps] rewrite needs the package regex: {command}", command=install_command("server")
        ) from None
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise ValueError(
            Message(
                "`rewrite`: {pattern!r} is no regular expression: {reason}",
                pattern=pattern,
                reason=error,
            )
        ) from None
    for number, name in _REFERENCE.findall(replacement):
        if (number and int(number) > compiled.groups) or (
            name and not name.isdecimal() and name not in compiled.groupindex
        ):
            raise ValueError(
                Message(
                    "`rewrite`: {pattern!r} has no group {group!r}",
                    pattern=pattern,
                    group=number or name,
                )
            )
    return compiled


_SUFFIXES: Final = (
    # Deployment, DaemonSet or Job, StatefulSet, container id, UUID.
    r"-[0-9a-f]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$",
    r"-[bcdfghjklmnpqrstvwxz2456789]{5}$",
    r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    r"[-_.]?[0-9a-f]{12,64}$",
    r"-[0-9]{1,5}$",
)
_PODS: Final = tuple((suffix, re.compile(suffix)) for suffix in _SUFFIXES)
_ALIKE: Final = 3
"""So many names that differ in nothing else are no coincidence."""


def pod_names(names: Iterable[str]) -> tuple[str, str] | None:
    """An app that is named after its pods, as one of the names, and the pattern that rewrites them.

    None: none is.
    """
    alike: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], str] = {}
    for name in names:
        for suffix, pattern in _PODS:
            if (match := pattern.search(name)) is not None:
                key = (suffix, name[: match.start()])
                alike[key] += 1
                example.setdefault(key, name)
                break
    key, count = max(alike.items(), key=lambda item: item[1], default=(("", ""), 0))
    return (example[key], key[0]) if count >= _ALIKE else None

"""Which model a server says that it answered with, and what follows when it is another one."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Final

from rag_monitor.errors import OtherModelServed
from rag_monitor.judges.openai_compatible.options import ServedModelMode
from rag_monitor.redaction.redactor import presentable

_log = logging.getLogger(__name__)

_LONGEST: Final = 100
_MOST: Final = 8
"""Names that one judge tells apart; a server that makes up more gets one for all of them."""
_OTHERS: Final = "(others)"
_SNAPSHOT: Final = re.compile(r"-?(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4})(?:-preview)?")


class ServedModels:
    """The names a server gave in its replies.

    Args:
        configured: The model that was asked for.
        mode: What to do about another one.
    """

    def __init__(self, configured: str, mode: ServedModelMode) -> None:
        self._configured = configured
        self._mode = mode
        self._warned: set[str] = set()

    def note(self, served: object) -> set[str]:
        """The name to record for one reply: none where it is the configured model's.

        Raises:
            OtherModelServed: It is another model, and the settings make that a failure.
        """
        if self._mode is ServedModelMode.IGNORE or not isinstance(served, str):
            return set()
        name = presentable(served, longest=_LONGEST).replace("|", "").replace("/served=", "")
        if not name or same_model(self._configured, name):
            return set()
        if name not in self._warned and len(self._warned) >= _MOST:
            name = _OTHERS
        error = OtherModelServed(
            "the judge's server answers with the model {served!r}, not {configured!r}",
            served=name,
            configured=self._configured,
        )
        if self._mode is ServedModelMode.FAIL and not is_snapshot(self._configured, name):
            raise error
        if name not in self._warned:
            self._warned.add(name)
            _log.warning("%s; its scores name both", error)
        return {name}


def recorded(names: Iterable[str]) -> str:
    """The models of one judgement's replies as one name; empty: the configured one."""
    return "+".join(sorted(names))


def same_model(configured: str, served: str) -> bool:
    """Whether two names differ in nothing but case, vendor, folder and the tag `latest`."""
    ours, theirs = _plain(configured), _plain(served)
    return ours == theirs or ours.endswith(f"/{theirs}") or theirs.endswith(f"/{ours}")


def is_snapshot(configured: str, served: str) -> bool:
    """Whether `served` is a dated version of what `configured` names."""
    ours = _plain(configured).rpartition("/")[2].removesuffix("-latest")
    theirs = _plain(served).rpartition("/")[2]
    return theirs.startswith(ours) and _SNAPSHOT.fullmatch(theirs[len(ours) :]) is not None


def _plain(name: str) -> str:
    return name.strip().casefold().removesuffix(":latest").rstrip("/")

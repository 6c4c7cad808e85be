"""Judges by name. Built-in names are always known; others come from installed packages.

A package adds a judge through the entry-point group `rag_monitor.judges`: a callable that takes
the options and returns a `Judge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final, cast

from rag_monitor.domain.ports import BudgetLedger, ReplyCache
from rag_monitor.errors import UnknownJudge
from rag_monitor.judges.judge import Judge
from rag_monitor.spelling import did_you_mean

GROUP: Final = "rag_monitor.judges"


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    """Where a judge of ours is made, and which services it takes."""

    module: str
    factory: str
    options: str
    """Module and class of its settings, which importing loads no library of the judge's."""
    services: frozenset[str] = frozenset()


_EMBEDDED_OPTIONS: Final = "rag_monitor.judges.embedded.options:EmbeddedOptions"
BUILT_IN: Final[Mapping[str, _BuiltIn]] = {
    "embedded": _BuiltIn("rag_monitor.judges.embedded", "create", _EMBEDDED_OPTIONS),
    "embedded-lexical": _BuiltIn(
        "rag_monitor.judges.embedded", "create_lexical", _EMBEDDED_OPTIONS
    ),
    "openai_compatible": _BuiltIn(
        "rag_monitor.judges.openai_compatible",
        "create",
        "rag_monitor.judges.openai_compatible.options:OpenAICompatibleOptions",
        frozenset({"ledger", "cache"}),
    ),
    "packed": _BuiltIn(
        "rag_monitor.judges.packed",
        "create",
        "rag_monitor.judges.packed.options:PackedOptions",
        frozenset({"ledger"}),
    ),
    "detector": _BuiltIn(
        "rag_monitor.judges.detectors",
        "create",
        "rag_monitor.judges.detectors.options:DetectorOptions",
        frozenset({"ledger"}),
    ),
}
"""Imported only when asked for. `embedded` with weights that know no encoder is the lexical
variant; its identity says which it is."""


def names() -> tuple[str, ...]:
    """All judges that `create` knows, built-in ones first."""
    plugins = sorted(entry.name for entry in entry_points(group=GROUP))
    return (*BUILT_IN, *(name for name in plugins if name not in BUILT_IN))


def services_of(name: str) -> frozenset[str]:
    """Which services a built-in judge takes; judges of other packages take none."""
    built_in = BUILT_IN.get(name)
    return frozenset() if built_in is None else built_in.services


def options_of(name: str) -> type[Any] | None:
    """The dataclass of a built-in judge's settings; None for judges of other packages."""
    built_in = BUILT_IN.get(name)
    if built_in is None:
        return None
    module, _, kind = built_in.options.partition(":")
    return cast("type[Any]", getattr(import_module(module), kind))


def create(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    ledger: BudgetLedger | None = None,
    cache: ReplyCache | None = None,
) -> Judge:
    """Make the judge `name`.

    Args:
        name: A built-in name or one of the entry-point group `rag_monitor.judges`.
        options: The judge's own settings, as in `[judges.<name>]`; None: its defaults.
        ledger: Keeps the judging budget, for judges that cost something.
        cache: Remembers replies, for judges that ask a server.

    Raises:
        UnknownJudge: No judge of that name is installed; the message lists the known ones.
        ConfigurationError: A setting is wrong, or a library the judge needs is missing.
    """
    if name not in BUILT_IN:
        entry = next((e for e in entry_points(group=GROUP) if e.name == name), None)
        if entry is None:
            registered = names()
            raise UnknownJudge(
                "no judge named {name!r}{meant}; choose one of: {names}",
                name=name,
                meant=did_you_mean(name, registered),
                names=", ".join(registered),
            )
        return cast("Judge", entry.load()(options or {}))
    built_in = BUILT_IN[name]
    services = {"ledger": ledger, "cache": cache}
    given = {key: services[key] for key in built_in.services}
    try:
        factory = getattr(import_module(built_in.module), built_in.factory)
        return cast("Judge", factory(options or {}, **given))
    except ModuleNotFoundError as error:
        raise UnknownJudge(
            "judge {name!r} needs {reason!r}, which is not installed; install the extra of "
            "rag-monitor that brings it, or choose one of: {names}",
            name=name,
            reason=error.name,
            names=", ".join(names()),
        ) from error

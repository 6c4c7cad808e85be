"""Filters that nothing stored fits: an answer that is empty for that says so, with what is near.

A name that nothing has yet is no error, so such a request is answered; only empty answers are
looked into, so those that hold something cost nothing more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rag_monitor.aggregation.keys import COMBINED
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Series, Window
from rag_monitor.i18n import Message, msgid, translate
from rag_monitor.server.context import Services
from rag_monitor.spelling import nearest

_FEW: Final = 8
"""So many names are all told where none is near."""

_MOST_APPS: Final = 50
"""Of more, nobody looks through every release for a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A filter whose value nothing stored has."""

    field: str
    value: str
    near: str | None = None
    """The nearest value there is, if any is near."""
    known: tuple[str, ...] = ()
    """All values there are, where they are few and none is near."""

    @classmethod
    def of(cls, field: str, value: str, known: Collection[str]) -> Unknown:
        """With what there is instead."""
        near = nearest(value, known)
        few = () if near is not None or len(known) > _FEW else tuple(known)
        return cls(field=field, value=value, near=near, known=few)

    @property
    def message(self) -> Message:
        """A sentence for callers of the API."""
        text = msgid("`{field}`: nothing stored here has {field} {value!r}.")
        if self.near is not None:
            text = msgid(
                "`{field}`: nothing stored here has {field} {value!r}. Did you mean {near!r}?"
            )
        elif len(self.known) == 1:
            text = msgid(
                "`{field}`: nothing stored here has {field} {value!r}. There is only {names}."
            )
        elif self.known:
            text = msgid("`{field}`: nothing stored here has {field} {value!r}. There are {names}.")
        names = ", ".join(map(repr, self.known))
        return Message(text, field=self.field, value=self.value, near=self.near, names=names)


def unknown_names(
    services: Services,
    project: str,
    *,
    app: str | None = None,
    release: str | None = None,
    further: Collection[str] = (),
    apps: Sequence[str] | None = None,
) -> list[Unknown]:
    """Which of these names no trace has.

    Args:
        services: Where traces are.
        project: Tenant.
        app: Name of an app; None: not asked about.
        release: Name of a release; None: not asked about.
        further: Apps that are known otherwise.
        apps: Those with traces, where they were read already.
    """
    if app is None and release is None:
        return []
    if apps is None:
        apps = [known.app for known in services.traces.apps(project)]
    if app is not None and app not in apps and app not in further:
        return [Unknown.of("app", app, apps)]
    if release is None:
        return []
    of_apps = apps if app is None else [app]
    if len(of_apps) > _MOST_APPS:
        return []
    releases = list(
        dict.fromkeys(name for one in of_apps for name in services.traces.releases(project, one))
    )
    return [] if release in releases else [Unknown.of("release", release, releases)]


def unknown_in_series(services: Services, series: Series, window: Window) -> list[Unknown]:
    """Which filters of a series that holds no score nothing in the window has."""
    found = unknown_names(services, series.project, app=series.app, release=series.release)
    if series.judge != COMBINED:
        anyone = replace(series, judge=COMBINED, release=None, knowledge_base=None)
        judges = [COMBINED, *services.estimates.judges(anyone, window)]
        if series.judge not in judges:
            found.append(_unknown_judge(series.judge, judges))
    if series.knowledge_base is not None:
        every = Selection(project=series.project, app=series.app, window=window)
        bases = services.estimates.knowledge_bases(every)
        if series.knowledge_base not in bases:
            found.append(Unknown.of("knowledge_base", series.knowledge_base, bases))
    return found


def _unknown_judge(value: str, judges: Sequence[str]) -> Unknown:
    """Whoever gives the name alone means the identity, which goes on with model and prompts."""
    found = Unknown.of("judge", value, judges)
    by_name = {judge.partition("/")[0]: judge for judge in reversed(judges)}
    near = nearest(value, by_name)
    if found.near is not None or near is None:
        return found
    return Unknown(field="judge", value=value, near=by_name[near])


def sentences(unknown: Sequence[Unknown], language: str) -> list[str]:
    """What an answer says of them, in a language."""
    return [translate(one.message, language) for one in unknown]

"""A form that was sent, with who sent it. Every form carries the token of its session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.responses import RedirectResponse

from rag_monitor.domain.stored import KeyScope
from rag_monitor.i18n import Message
from rag_monitor.server import audit
from rag_monitor.server.auth import gate_of
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.ui.view import Visitor, visitor_of

MAX_FIELDS: Final = 200
"""The form of a rule has fields for the parameters of every kind, and one for each channel."""
_LACKING: Final = {
    KeyScope.WRITE: Message("This key lacks the scope `write`."),
    KeyScope.ADMIN: Message("This key lacks the scope `admin`."),
}


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form that a browser sent url-encoded."""
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type != "application/x-www-form-urlencoded":
        raise ProblemError(415, "Forms are sent as application/x-www-form-urlencoded.")
    try:
        text = (await request.body()).decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise ProblemError(400, "The form cannot be read.") from None
    form: dict[str, str] = {}
    for name, value in pairs:
        form[name] = f"{form[name]},{value}" if name in form else value
    return form


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A form with who sent it; its token was checked."""

    me: Visitor
    form: Mapping[str, str]

    def get(self, name: str) -> str:
        """A field without outer white space; empty when it was not sent."""
        return self.form.get(name, "").strip()

    def record(self, action: str, target: str = "", **details: audit.Detail) -> None:
        """Write down what was done."""
        me = self.me
        audit.record(me.services, me.request, me.principal, action, target, **details)

    def change(
        self, change: Callable[[], object], action: str, target: str, **details: audit.Detail
    ) -> None:
        """Make a change of the store and write it down, both or neither."""
        me = self.me
        audit.changing(me.services, me.request, me.principal, change, action, target, **details)

    def need(self, scope: KeyScope) -> None:
        """Raise 403 unless the sender may do it."""
        if not self.me.principal.allows(scope):
            raise ProblemError(403, _LACKING[scope])


def sent_of(request: Request, form: Annotated[dict[str, str], Depends(read_form)]) -> Sent:
    """A dependency: the form, from somebody who may read, with a valid token."""
    me = visitor_of(request)
    gate_of(request).check_form(None if me.cookie else me.session, form.get("token", ""))
    return Sent(me=me, form=form)


Form = Annotated[Sent, Depends(sent_of)]


def back(path: str) -> RedirectResponse:
    """Lead to a page once a change is made."""
    return RedirectResponse(path, 303)

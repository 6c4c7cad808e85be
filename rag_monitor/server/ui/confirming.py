"""The page that asks before something is deleted, for browsers whose scripts do not.

A script asks on the page itself and sends the answer with the form (`static/app.js`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from rag_monitor.server.ui.view import Visitor, page

FIELD: Final = "confirmed"
"""The field of a form that says that it was asked."""


def confirm_page(
    me: Visitor, question: str, action: str, fields: Mapping[str, str], *, what: str, back: str
) -> Response:
    """Ask; going on sends the form again to where it came from.

    Args:
        me: Who is asked.
        question: In English, a phrase of the catalogue, as is `action`.
        action: What the button says.
        fields: The form's own.
        what: The name of what it is about.
        back: The page to go to instead.
    """
    values = {"question": question, "action": action, "fields": fields, "what": what, "back": back}
    return page(me, "confirm.html", values)

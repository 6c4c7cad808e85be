"""What commands say to people, in the language they are asked to speak.

JSON output keeps its English names.
"""

from __future__ import annotations

from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from rag_monitor.i18n import ENGLISH, Message, languages, translate

LANGUAGE_OPTION: Final = "--language"
LANGUAGE_VARIABLE: Final = "RAG_MONITOR_LANGUAGE"
_CHOSEN: Final = ContextVar("language", default=ENGLISH)


def _choose(language: str | None) -> str | None:
    if language is not None:
        _CHOSEN.set(language)
    return language


def choose_none() -> None:
    """Begin a command: another one of the same process may have chosen a language."""
    _CHOSEN.set(ENGLISH)


def chosen() -> str:
    """What the command that runs was asked to speak."""
    return _CHOSEN.get()


def _parse(code: str) -> str:
    codes = languages()
    if code not in codes:
        names = ", ".join(map(repr, codes))
        raise typer.BadParameter(
            Message("{value!r} is not one of {names}.", value=code, names=names)
        )
    return code


_METAVAR: Final = f"[{'|'.join(languages())}]"

LanguageOption = Annotated[
    str,
    typer.Option(
        LANGUAGE_OPTION,
        envvar=LANGUAGE_VARIABLE,
        callback=_choose,
        parser=_parse,
        metavar=_METAVAR,
        help="Language of what is said and of reports.",
    ),
]

PagesLanguageOption = Annotated[
    str | None,
    typer.Option(
        LANGUAGE_OPTION,
        envvar=LANGUAGE_VARIABLE,
        callback=_choose,
        parser=_parse,
        metavar=_METAVAR,
        help="Language of pages and messages, where nobody chose; default: the configured one.",
    ),
]

_FIELDS: Final = {
    field.msgid: field
    for field in (
        Message.within("field", "rows"),
        Message.within("field", "accepted"),
        Message.within("field", "questions"),
        Message.within("field", "answered"),
        Message.within("field", "empty"),
        Message.within("field", "failed"),
        Message.within("field", "stored"),
        Message.within("field", "rejected"),
        Message.within("field", "retries"),
        Message.within("field", "seconds"),
        Message.within("field", "unknown_fields"),
        Message.within("field", "problems"),
        Message.within("field", "repeated_ids"),
        Message.within("field", "imported"),
        Message.within("field", "unchanged"),
        Message.within("field", "timezone"),
        Message.within("field", "times_without_zone"),
        Message.within("field", "times_replaced"),
        Message.within("field", "unread_passages"),
        Message.within("field", "traces"),
        Message.within("field", "queued"),
        Message.within("field", "judge"),
        Message.within("field", "tokens"),
        Message.within("field", "cost"),
        Message.within("field", "gpu_seconds"),
        Message.within("field", "measured_on"),
        Message.within("field", "fits_budget"),
        Message.within("field", "scored"),
        Message.within("field", "first_byte_ms_p50"),
        Message.within("field", "generation_ms_p50"),
        Message.within("field", "end_to_end_ms_p50"),
        Message.within("field", "id"),
        Message.within("field", "silenced"),
        Message.within("field", "until"),
        Message.within("field", "secret"),
        Message.within("field", "expires"),
        Message.within("field", "passages"),
        Message.within("field", "feedback"),
        Message.within("field", "reported_scores"),
        Message.within("field", "page"),
        Message.within("field", "replies"),
        Message.within("field", "outbox"),
    )
}
"""Names of figures in the output for people; English calls them as JSON does."""


def say(text: str, /, **values: object) -> str:
    """A sentence in the language that the command was asked to speak."""
    message = text if isinstance(text, Message) else Message(text, **values)
    return translate(message, chosen())


def minute(moment: str) -> str:
    """A time of the API for people, to the minute."""
    return f"{datetime.fromisoformat(moment).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def fields_in(fields: dict[str, Any], language: str) -> dict[str, Any]:
    """A result with its names and plain values in the language."""
    return {
        translate(_FIELDS.get(name, name), language): _value(value, language)
        for name, value in fields.items()
    }


def _value(value: Any, language: str) -> Any:
    if isinstance(value, bool):
        return translate(Message("yes") if value else Message("no"), language)
    if value is None or value == []:
        return translate(Message("none"), language)
    if isinstance(value, list):
        return translate(Message(", "), language).join(map(str, value))
    return value

"""Tables of settings as options of judges: names, types and ranges are checked alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from rag_monitor.errors import ConfigurationError
from rag_monitor.field_values import wrong_value
from rag_monitor.judges.limits import FORMER_NAMES, LimitOptions
from rag_monitor.spelling import did_you_mean

T = TypeVar("T")


def read_table(where: str, table: Mapping[str, Any], options: type[T]) -> T:
    """The options that a table states.

    Args:
        where: The table's name.
        table: Its settings.
        options: A dataclass.

    Raises:
        ConfigurationError: A setting is missing, unknown or has an unusable value.
    """
    check_names(where, table, options)
    try:
        return TypeAdapter(options).validate_python(dict(table))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = " ".join((f"[{where}]", ".".join(map(str, first["loc"])))).strip()
        raise ConfigurationError(
            "{place}: {reason}", place=place, reason=wrong_value(first)
        ) from None


def check_names(
    where: str, table: Mapping[str, Any], options: type[Any], besides: Collection[str] = ()
) -> None:
    """Refuse settings that the options, or the options within them, do not have.

    Args:
        where: The table's name.
        table: Its settings.
        options: A dataclass.
        besides: Further settings that the table may have.

    Raises:
        ConfigurationError: One is unknown; the message names the nearest.
    """
    own = get_type_hints(options)
    former = FORMER_NAMES if options is LimitOptions else {}
    for given, value in table.items():
        name = former.get(given, given)
        kind = own.get(name, Any)
        if name not in own and name not in besides:
            raise ConfigurationError(
                "[{where}] has no setting {name!r}{meant}; known: {names}",
                where=where,
                name=name,
                meant=did_you_mean(name, own),
                names=", ".join(own),
            )
        if is_dataclass(kind) and isinstance(kind, type) and isinstance(value, Mapping):
            check_names(f"{where}.{name}", value, kind, besides)

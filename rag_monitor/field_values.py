"""What is wrong with a value that a setting, a field or an option may not have.

The words are those of pydantic, by the kinds of its errors: English stays as it says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rag_monitor.i18n import Message, msgid

NOT_A_LIST: Final = Message('must be a list, such as ["…"]')
_REASONS: Final = {
    "bool_parsing": msgid("Input should be a valid boolean, unable to interpret input"),
    "bool_type": msgid("Input should be a valid boolean"),
    "dataclass_type": msgid("Input should be a dictionary or an instance of {class_name}"),
    "datetime_from_date_parsing": msgid("Input should be a valid datetime or date, {error}"),
    "datetime_parsing": msgid("Input should be a valid datetime, {error}"),
    "dict_type": msgid("Input should be a valid dictionary"),
    "enum": msgid("Input should be {expected}"),
    "extra_forbidden": msgid("Extra inputs are not permitted"),
    "finite_number": msgid("Input should be a finite number"),
    "float_parsing": msgid("Input should be a valid number, unable to parse string as a number"),
    "float_type": msgid("Input should be a valid number"),
    "greater_than": msgid("Input should be greater than {gt}"),
    "greater_than_equal": msgid("Input should be greater than or equal to {ge}"),
    "int_from_float": msgid("Input should be a valid integer, got a number with a fractional part"),
    "int_parsing": msgid("Input should be a valid integer, unable to parse string as an integer"),
    "int_type": msgid("Input should be a valid integer"),
    "less_than": msgid("Input should be less than {lt}"),
    "less_than_equal": msgid("Input should be less than or equal to {le}"),
    "list_type": msgid("Input should be a valid list"),
    "literal_error": msgid("Input should be {expected}"),
    "missing": msgid("Field required"),
    "model_attributes_type": msgid(
        "Input should be a valid dictionary or object to extract fields from"
    ),
    "string_too_long": msgid("String should have at most {max_length} characters"),
    "string_too_short": msgid("String should have at least {min_length} character"),
    "number_type": msgid("must be a number"),
    "string_pattern_mismatch": msgid("String should match pattern '{pattern}'"),
    "string_type": msgid("Input should be a valid string"),
    "timezone_aware": msgid("Input should have timezone info"),
}


def wrong_value(error: Mapping[str, Any]) -> Message:
    """The reason of one error of a pydantic validation, as `ValidationError.errors` gives it.

    What a validator of ours raised is said as it raised it.
    """
    kind, text = str(error["type"]), str(error["msg"])
    context = error.get("ctx", {})
    if kind == "tuple_type":
        return NOT_A_LIST
    if kind == "value_error":
        raised = str(context.get("error", text.removeprefix("Value error, ")))
        return raised if isinstance(raised, Message) else Message(raised)
    reason = _reason(kind, context)
    # Where another version of pydantic says it otherwise, that stands.
    return reason if reason == text else Message(text)


def _reason(kind: str, context: Mapping[str, Any]) -> Message | None:
    if kind not in _REASONS:
        return None
    params = {name: _plain(value) for name, value in context.items()}
    if "expected" in params:
        others, _, last = str(params["expected"]).rpartition(" or ")
        if others:
            params["expected"] = Message("{others} or {last}", others=others, last=last)
    return Message(_REASONS[kind], **params)


def _plain(value: object) -> object:
    """A bound as pydantic shows it: 1 of 1.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

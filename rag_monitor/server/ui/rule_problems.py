"""What is wrong with a rule, as readers of its form know it: in their language, by its labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_monitor.i18n import Message, msgid, translate
from rag_monitor.server.schemas.alerts import RuleIn

LABELS: Final = {
    "name": msgid("Name"),
    "kind": msgid("Kind"),
    "app": msgid("App"),
    "metric": msgid("Metric"),
    "window_s": msgid("Window, seconds"),
    "hold_for_s": msgid("Hold, seconds"),
    "keep_firing_s": msgid("Clear before it resolves, seconds"),
    "repeat_s": msgid("Announced again after, seconds"),
    "min_judged": msgid("Judged at least"),
    "severity": msgid("Severity"),
    "params": msgid("Parameters"),
    "notifiers": msgid("Channels"),
}
"""What the form calls the fields of a rule."""
_HEAD: Final = re.compile(r"[\w.]+(?:[,、] ?params\.\w+)*(?=[:：])")
_NAMED: Final = re.compile(r"window_s|hold_for_s|keep_firing_s|repeat_s|min_judged|params\.\w+")

_FIELDS: Final = {
    "float_parsing": msgid("must be a number"),
    "float_type": msgid("must be a number"),
    "number_type": msgid("must be a number"),
    "finite_number": msgid("must be a number"),
    "int_parsing": msgid("must be a whole number"),
    "int_from_float": msgid("must be a whole number"),
    "int_parsing_size": msgid("must lie between {low} and {high}"),
    "greater_than_equal": msgid("must lie between {low} and {high}"),
    "less_than_equal": msgid("must lie between {low} and {high}"),
    "string_too_short": msgid("must not be empty"),
    "string_too_long": msgid("may have at most {longest} characters"),
    "too_long": msgid("takes at most {longest}"),
    "name_pattern": msgid("must not contain control characters"),
    "string_pattern_mismatch": msgid("takes a-z, 0-9 and _ only"),
    "enum": msgid("is none of the choices"),
}
"""What is wrong with a single field, by the kind of error of the schema."""
_UNREADABLE: Final = msgid("cannot be read")
_NAMES: Final = frozenset({"name", "app", "notifiers"})
"""Fields that take any printable text, unlike the other ones with a pattern."""


def field_problem(errors: Sequence[Mapping[str, Any]], language: str) -> str:
    """The field of the form and what is wrong with it, by the errors of the schema."""
    # Of a parameter the schema tells why it is no number and why it is no text.
    error = next((e for e in errors if e["type"] == "string_too_long"), errors[0])
    # Behind the names stand the places in a list, and the types that pydantic tried.
    names = [str(part) for part in error["loc"][: 2 if error["loc"][0] == "params" else 1]]
    kind = str(error["type"])
    if kind == "string_pattern_mismatch" and names[0] in _NAMES:
        kind = "name_pattern"
    said = Message(
        _FIELDS.get(kind, _UNREADABLE),
        **_bounds(names[0]),
        longest=error.get("ctx", {}).get("max_length", ""),
    )
    named = Message("{field}: {problem}", field=_label(".".join(names), language), problem=said)
    return translate(named, language)


def _bounds(field: str) -> dict[str, str]:
    """The least and the greatest value of a field, as people read them; empty without."""
    limits = RuleIn.model_fields[field].metadata
    return {
        name: next((f"{getattr(limit, end):,.0f}" for limit in limits if hasattr(limit, end)), "")
        for name, end in (("low", "ge"), ("high", "le"))
    }


def rule_problem(text: str, language: str) -> str:
    """The sentence in the language, with the fields as the form calls them.

    Args:
        text: A `Message`, as the errors of rules hold it.
        language: Of the reader.
    """
    text = translate(text, language)
    head = _HEAD.match(text)
    if head is None:
        return text
    between = translate(Message(", "), language)
    labels = [_label(name.strip(), language) for name in re.split("[,、]", head.group())]
    rest = _NAMED.sub(lambda found: f"“{_label(found.group(), language)}”", text[head.end() :])
    return between.join(labels) + rest


def _label(field: str, language: str) -> str:
    """What the form calls a field; `params.below` is the parameter `below`."""
    field, _, parameter = field.partition(".")
    label = LABELS.get(field, field)
    if parameter:
        return translate(Message("Parameter {name}", name=parameter), language)
    return translate(Message(label), language)

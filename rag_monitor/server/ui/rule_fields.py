"""The fields of the rule form as the template shows them: label, unit, range, default, help.

All of it is read from the schema of a rule and the table of parameters, where it is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor.alerting.params import UNITS, Number, Unit, Word
from rag_monitor.domain.alert import RuleKind
from rag_monitor.i18n import Message, msgid
from rag_monitor.server.schemas.alerts import RuleIn
from rag_monitor.server.ui.duration_text import duration_text
from rag_monitor.server.ui.rule_form import (
    DURATIONS,
    SPECS,
    limits_of,
    parameter_field,
)

_NO_LIMIT: Final = 1e6
"""Upper ends beyond this are there to refuse nonsense; nobody needs to read them."""
_HELP: Final = {
    "window_s": msgid("Empty: it follows the traffic, or is an hour where it cannot."),
    "hold_for_s": msgid("How long it must hold before it fires."),
    "keep_firing_s": msgid("How long it must be clear before it resolves."),
    "repeat_s": msgid("0: never."),
    "min_judged": msgid("With fewer it cannot tell."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleField:
    """One field of the form; its texts are still to be translated."""

    place: str
    """The name that the form sends."""
    name: str
    """What the interface and the documentation call it; empty: the label is enough."""
    label: str = ""
    unit: str = ""
    allowed: str = ""
    """The range of a number; empty: any text."""
    default: str = ""
    """What it is when it is left empty."""
    help: Sequence[str] = ()
    choices: Mapping[str, str] | None = None
    """By value, with an empty one for the default; None: it is typed."""

    @property
    def about(self) -> Sequence[str]:
        """What stands below the field."""
        return [text for text in (self.allowed, *self.help) if text]


def timing_fields() -> dict[str, RuleField]:
    """The numbers that rules of every kind have, by name."""
    return {name: _timing(name) for name in (*DURATIONS, "min_judged")}


def _timing(name: str) -> RuleField:
    default = RuleIn.model_fields[name].default
    if default is None:
        shown: str = Message("follows the traffic")
    else:
        shown = duration_text(default) if name in DURATIONS else f"{default:g}"
    limits = limits_of(name)
    allowed = Message("{low} to {high}", **limits)
    if name == "min_judged":
        allowed = Message("at least {low}", low=limits["low"])
    return RuleField(
        place=name, name=name, allowed=allowed, default=shown, help=(Message(_HELP[name]),)
    )


def parameter_fields(kind: RuleKind, given: Mapping[str, str] | None = None) -> list[RuleField]:
    """The fields of the parameters of a kind.

    Args:
        kind: Of the rule.
        given: The form as it is filled in. Parameters in it that the kind does not have get
            fields as well: nothing that a rule says may vanish from it unseen.
    """
    own = parameter_field(kind.value, "")
    fields = [_parameter(kind, name, spec) for name, spec in SPECS[kind.value].items()]
    offered = {field.place for field in fields}
    strange = [place for place in given or () if place.startswith(own) and place not in offered]
    return fields + [RuleField(place=place, name=place.removeprefix(own)) for place in strange]


def _parameter(kind: RuleKind, name: str, spec: Number | Word) -> RuleField:
    place = parameter_field(kind.value, name)
    if isinstance(spec, Word):
        return RuleField(
            place=place,
            name=name,
            label=spec.label,
            default=spec.default,
            help=(spec.help,) if spec.help else (),
            choices=_choices(spec) if spec.choices else None,
        )
    default: str = ""
    if spec.default is not None:
        is_duration = spec.unit is Unit.DURATION
        default = duration_text(spec.default) if is_duration else f"{spec.default:g}"
    return RuleField(
        place=place,
        name=name,
        label=spec.label,
        unit=UNITS[spec.unit],
        allowed=_range(spec),
        default=default,
        help=tuple(text for text in (spec.help, spec.hint) if text),
    )


def _range(spec: Number) -> str:
    if spec.unit is Unit.DURATION:
        return Message(
            "{low} to {high}", low=duration_text(spec.low), high=duration_text(spec.high)
        )
    least = f"{spec.low:.6f}".rstrip("0").rstrip(".")
    if spec.high >= _NO_LIMIT:
        return Message("at least {low}", low=least)
    return Message("{low} to {high}", low=least, high=f"{spec.high:,g}")


def _choices(spec: Word) -> dict[str, str]:
    """The default goes unsaid: a parameter that is given may exclude another one."""
    return {"" if value == spec.default else value: name for value, name in spec.choices.items()}


def channels_of(given: str, configured: Mapping[str, str]) -> list[tuple[str, str, bool]]:
    """The channels to choose from: name, kind (empty: it is not configured), whether it is chosen.

    Args:
        given: The names that the form holds.
        configured: The kind of every channel, by its name.
    """
    chosen = [name.strip() for name in given.split(",") if name.strip()]
    gone = [name for name in dict.fromkeys(chosen) if name not in configured]
    rows = [(name, kind, name in chosen) for name, kind in configured.items()]
    return rows + [(name, "", True) for name in gone]

"""The panel of the settings that holds the form of a rule: filled in, with what is wrong beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_monitor.domain.alert import AlertRule, RuleKind, Severity
from rag_monitor.i18n import translate
from rag_monitor.server.ui.duration_text import duration_text
from rag_monitor.server.ui.rule_fields import channels_of, parameter_fields, timing_fields
from rag_monitor.server.ui.rule_form import RULE_METRICS, Reading, beside, labelled, rule_form
from rag_monitor.server.ui.rule_preview import DAYS, Preview
from rag_monitor.server.ui.view import Visitor


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRule:
    """The form of a rule that somebody filled in."""

    given: Mapping[str, str]
    original: str
    """The name of the rule that it was opened with; empty: a new one."""
    reading: Reading = field(default_factory=Reading)
    problems: Mapping[str, str] = field(default_factory=dict)
    """By field; the key is empty for what is about none."""
    preview: Preview | None = None
    """None: it was not asked for."""

    def sentences(self, language: str) -> list[str]:
        """What is wrong, with the names of the fields; each sentence once."""
        named = [labelled(place, text, language) for place, text in self.problems.items()]
        return list(dict.fromkeys(named))


def panel(me: Visitor, sent: SentRule | None, rules: Sequence[AlertRule]) -> dict[str, Any]:
    """What the template of the form shows.

    Args:
        me: Who looks.
        sent: The form that was sent; None: the rule of the address, or a new one.
        rules: All of the project.
    """
    edited = me.request.query_params.get("rule") if sent is None else sent.original
    rule = next((one for one in rules if one.name == edited), None)
    given = rule_form(rule, me.language) if sent is None else sent.given
    settings = me.services.settings
    channels = {
        name: str(options.get("kind", name)) for name, options in settings.notifiers.items()
    }
    return {
        "rule": rule,
        "given": given,
        "sent": sent,
        "kinds": list(RuleKind),
        "rule_metrics": RULE_METRICS,
        "timing": timing_fields(),
        "rule_params": {kind: parameter_fields(kind, given) for kind in RuleKind},
        "severities": list(Severity),
        "channels": channels,
        "offered_channels": channels_of(given.get("notifiers", ""), channels),
        **remarks(me, sent),
    }


def remarks(me: Visitor, sent: SentRule | None) -> dict[str, Any]:
    """What stands beside the fields: what is wrong, and what a duration was read as."""
    problems = {} if sent is None else sent.problems
    durations = {} if sent is None else sent.reading.durations
    return {
        "wrong": {place: beside(text, me.language) for place, text in problems.items()},
        "read_as": {
            place: f"= {translate(duration_text(seconds), me.language)}"
            for place, seconds in durations.items()
        },
        "preview": None if sent is None else sent.preview,
        "preview_days": DAYS,
    }

"""The story of an incident in sentences of one language, and its links.

What came from traces (names of releases, knowledge bases, models and topics) is cut and on one line
here, and escaped by whoever shows it. Texts of traces are left out: a page shows them to whoever
may read them, and a channel belongs to somebody else. A name of a topic holds only words of several
questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Final

from rag_monitor import i18n
from rag_monitor.alerting.conditions.wording import share
from rag_monitor.alerting.incidents.next_step import path_of, text_of
from rag_monitor.alerting.plain_text import plain
from rag_monitor.alerting.rule_names import rule_name
from rag_monitor.charts.numbers import points_text, share_text
from rag_monitor.domain.fault import STAGES
from rag_monitor.domain.incident import Concentration, FaultGrowth, Incident
from rag_monitor.i18n import Message, msgid
from rag_monitor.metrics import fault_words

DIMENSIONS: Final[Mapping[str, str]] = {
    "release": msgid("release {value}"),
    "knowledge_base": msgid("knowledge base {value}"),
    "model": msgid("model {value}"),
    "topic": msgid("topic {value}"),
}
"""How a value of each dimension is called; one that is not here stands by its name."""
_MOST: Final = 2
"""So many faults, and so many places, are told."""
_MAX_NAME: Final = 40


def sentences(incident: Incident, language: str, zone: tzinfo = UTC) -> list[str]:
    """What broke first, which fault grew, where, and what to do next; few short sentences."""
    story = incident.story
    lines = [_first(incident, language, zone)]
    if story is not None:
        lines += [_grown(growth) for growth in story.growths[:_MOST]]
        if story.concentrations:
            places = story.concentrations[:_MOST]
            lines.append(
                Message("Concentrated in {places}", places=tuple(_place(one) for one in places))
            )
        elif story.compared:
            lines.append(Message("Not concentrated in any release, knowledge base, model or topic"))
        value = plain(story.step.value or "", _MAX_NAME)
        lines.append(Message("Next: {step}", step=Message(text_of(story.step), value=value)))
    return [i18n.translate(sentence, language) for sentence in lines]


def next_url(incident: Incident, public_url: str) -> str | None:
    """The page that the next step begins on; None: the runbook."""
    path = path_of(incident)
    return None if path is None else public_url.rstrip("/") + path


def _first(incident: Incident, language: str, zone: tzinfo) -> Message:
    first = incident.first
    moment = f"{first.began_at.astimezone(zone):%Y-%m-%d %H:%M} {zone}"
    name = plain(rule_name(first.rule, language), _MAX_NAME)
    if first.broke_at is None:
        return Message("First: {rule}, seen at {moment}", rule=name, moment=moment)
    return Message("First: {rule}, broke at {moment}", rule=name, moment=moment)


def _grown(growth: FaultGrowth) -> Message:
    return Message(
        "{fault} ({stage}): {before} → {now} of judged answers, {lower} to {upper} points",
        fault=Message(fault_words.FAULTS[growth.fault]),
        stage=Message(fault_words.STAGES[STAGES[growth.fault]]),
        before=share(growth.share_before),
        now=share(growth.share),
        lower=points_text(growth.lower),
        upper=points_text(growth.upper),
    )


def _place(place: Concentration) -> Message:
    value = plain(place.value, _MAX_NAME)
    name = Message(DIMENSIONS.get(place.dimension, "{value}"), value=value)
    return Message(
        "{name} ({bad} of the bad answers, {traffic} of the traffic; rose {excess} points more "
        "than elsewhere, {lower} to {upper})",
        name=name,
        bad=share_text(place.of_bad, 0),
        traffic=share_text(place.of_traffic, 0),
        excess=points_text(place.excess).removeprefix("+"),
        lower=points_text(place.lower),
        upper=points_text(place.upper),
    )

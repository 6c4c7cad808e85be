"""What the words beside a number mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rag_monitor.i18n import Message, msgid, translate

NOTES: Final[Mapping[str, Message]] = {
    "app_gone": Message("the app sends nothing any more"),
    "cheap_incomplete": Message("quick scores incomplete"),
    "common_judge": Message("compared by one judge that scored both"),
    "corrected_by_people": Message("corrected by people's marks"),
    "different_judges": Message("judged by different judges"),
    "embedded_uncorrected": Message("embedded judge, uncorrected"),
    "few_judged": Message("few judged"),
    "few_positives": Message("few good or few bad answers"),
    "few_traces": Message("few traces"),
    "incomplete": Message("incomplete window"),
    "interval_withheld": Message("no interval for one side"),
    "judge_failures": Message("many judge failures"),
    "no_hits_seen": Message("nothing was hit yet"),
    "no_release": Message("no earlier release"),
    "no_traces": Message("no traces"),
    "rule_removed": Message("the rule was removed"),
    "several_judges": Message("several judges"),
}
_MEASURES: Final[Mapping[str, str]] = {
    "detector": msgid("detector {number}"),
    "alarm_at": msgid("alarm at {number}"),
}
"""Notes with a number: `detector=3.2`."""
HIT_KINDS: Final[Mapping[str, Message]] = {
    "plugin": Message("plugin"),
    "knowledge_base": Message("knowledge base"),
    "workflow": Message("workflow"),
}
"""What may be hit. Kinds of what else is hit too rarely: `also:plugin:search`."""


def note_message(note: str) -> str:
    """The note in words; one that nobody knows (a limit's name) stays as it is."""
    name, is_measure, number = note.partition("=")
    if is_measure and name in _MEASURES:
        return Message(_MEASURES[name], number=number)
    also, _, hit = note.partition(":")
    kind, _, called = hit.partition(":")
    if also == "also" and kind in HIT_KINDS:
        return Message("also {kind} {name}", kind=HIT_KINDS[kind], name=called)
    return NOTES.get(note, note)


def note_text(note: str, language: str) -> str:
    """The note in words of a language."""
    return translate(note_message(note), language)


def notes_text(notes: Sequence[str], language: str) -> str:
    """All of them, as a list within a sentence."""
    return translate(Message(", "), language).join(note_text(note, language) for note in notes)

"""What the machine words beside a number mean, in both languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

NOTES: Final[Mapping[str, tuple[str, str]]] = {
    "app_gone": ("the app sends nothing any more", "应用不再上报"),
    "cheap_incomplete": ("quick scores incomplete", "快速评分不完整"),
    "common_judge": ("compared by one judge that scored both", "按两侧共有的评审比较"),
    "corrected_by_people": ("corrected by people's marks", "已按人工标注校正"),
    "different_judges": ("judged by different judges", "两侧评审不同"),
    "embedded_uncorrected": ("embedded judge, uncorrected", "内置评审，未校正"),
    "few_judged": ("few judged", "评审数少"),
    "few_positives": ("few good or few bad answers", "好例或差例太少"),
    "few_traces": ("few traces", "请求太少"),
    "incomplete": ("incomplete window", "窗口不完整"),
    "interval_withheld": ("no interval for one side", "一侧没有区间"),
    "judge_failures": ("many judge failures", "评审失败较多"),
    "no_hits_seen": ("nothing was hit yet", "尚无命中"),
    "no_release": ("no earlier release", "没有上一版本"),
    "no_traces": ("no traces", "没有请求"),
    "rule_removed": ("the rule was removed", "规则已删除"),
    "several_judges": ("several judges", "多个评审"),
}
"""Note: English, Chinese."""
_MEASURES: Final[Mapping[str, tuple[str, str]]] = {
    "detector": ("detector", "检测值"),
    "alarm_at": ("alarm at", "报警线"),
}
"""Notes with a number: `detector=3.2`."""
_HITS: Final[Mapping[str, tuple[str, str]]] = {
    "plugin": ("plugin", "插件"),
    "knowledge_base": ("knowledge base", "知识库"),
    "workflow": ("workflow", "工作流"),
}
"""Kinds of what else is hit too rarely: `also:plugin:search`."""


def note_text(note: str, language: str) -> str:
    """The note in words; one that nobody knows (a limit's name) stays as it is."""
    place = 1 if language == "zh" else 0
    name, is_measure, number = note.partition("=")
    if is_measure and name in _MEASURES:
        return f"{_MEASURES[name][place]} {number}"
    also, _, hit = note.partition(":")
    kind, _, called = hit.partition(":")
    if also == "also" and kind in _HITS:
        return f"{('also ', '另有')[place]}{_HITS[kind][place]} {called}"
    return NOTES[note][place] if note in NOTES else note


def notes_text(notes: Sequence[str], language: str) -> str:
    """All of them, as a list within a sentence."""
    return ("、" if language == "zh" else ", ").join(note_text(note, language) for note in notes)

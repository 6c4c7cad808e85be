"""One changed fact: near-twins of a true sentence, in both languages."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Changed:
    """A sentence with one fact changed, and which kind of fact."""

    text: str
    kind: str


_NUMBER = re.compile(r"(?<![\d.,])\d+(?:\.\d+)?(?![\d.,]*\d)")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}(?: [A-Z][a-z]{2,})?")
_NAMES = [
    "Harold Whitcombe",
    "Marisol Benavides",
    "Port Ellery",
    "Dunmore",
    "Kestrel Valley",
    "Anselm",
    "Tobruk",
    "Veracruz",
    "Lindqvist",
    "Oyelaran",
]
_BE = re.compile(r"\b(is|was|are|were|can|will|has|have)\b (?!not\b)")
_HAN_BE = re.compile(r"(?<!不)(是|会|能|可以|应当|允许)")
_UNITS = (
    ("公里", "米"),
    ("万元", "亿元"),
    ("小时", "分钟"),
    ("个月", "年"),
    ("km", "m"),
    ("miles", "feet"),
    ("million", "billion"),
    ("minutes", "hours"),
    ("days", "weeks"),
    ("percent", "points"),
    ("kg", "tons"),
    ("万", "亿"),
)


def perturb(sentence: str, draw: random.Random) -> Changed | None:
    """Change one fact of `sentence`, or None when it states none that can be changed."""
    makers = [_number, _name, _negation, _opposite, _unit]
    draw.shuffle(makers)
    for maker in makers:
        changed = maker(sentence, draw)
        if changed is not None and changed.text != sentence:
            return changed
    return None


def _number(sentence: str, draw: random.Random) -> Changed | None:
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return None
    match = draw.choice(found)
    old = match.group()
    value = float(old)
    new = old
    while new == old:
        if "." in old:
            new = f"{value * draw.choice((0.6, 0.8, 1.3, 1.7)):.{len(old.split('.')[1])}f}"
        else:
            new = str(
                int(value)
                + draw.choice((-3, -2, -1, 1, 2, 3, 7))
                * (1 if value < 100 or 1500 < value < 2100 else max(1, int(value * 0.07)))
            )
    return Changed(sentence[: match.start()] + new.lstrip("-") + sentence[match.end() :], "number")


def _name(sentence: str, draw: random.Random) -> Changed | None:
    found = list(_NAME.finditer(sentence))
    if not found:
        return None
    match = draw.choice(found)
    return Changed(
        sentence[: match.start()] + draw.choice(_NAMES) + sentence[match.end() :], "name"
    )


def _negation(sentence: str, _draw: random.Random) -> Changed | None:
    if " not " in sentence or "不" in sentence or "没" in sentence:
        return None
    match = _BE.search(sentence)
    if match:
        return Changed(sentence[: match.end(1)] + " not" + sentence[match.end(1) :], "negation")
    match = _HAN_BE.search(sentence)
    if match:
        return Changed(sentence[: match.start()] + "不" + sentence[match.start() :], "negation")
    return None


_HAN_OPPOSITES = tuple(
    pair.split()
    for pair in [
        "上升 下降",
        "增加 减少",
        "提高 降低",
        "上涨 下跌",
        "最高 最低",
        "最多 最少",
        "最大 最小",
        "高于 低于",
        "多于 少于",
        "超过 不足",
        "至少 至多",
        "之前 之后",
        "以上 以下",
        "开始 结束",
        "允许 禁止",
        "支持 反对",
        "同意 拒绝",
        "成功 失败",
        "国内 国外",
        "进口 出口",
        "收入 支出",
        "盈利 亏损",
        "上午 下午",
        "首次 再次",
        "第一 第二",
        "免费 收费",
        "必须 无需",
        "有效 无效",
        "正确 错误",
        "提前 推迟",
    ]
)


def _opposite(sentence: str, _draw: random.Random) -> Changed | None:
    for left, right in _HAN_OPPOSITES:
        for old, new in ((left, right), (right, left)):
            if old in sentence:
                return Changed(sentence.replace(old, new, 1), "opposite")
    for old, new in (
        ("increase", "decrease"),
        ("before", "after"),
        ("first", "last"),
        ("highest", "lowest"),
        ("more", "less"),
        ("north", "south"),
        ("east", "west"),
        ("largest", "smallest"),
    ):
        match = re.search(rf"\b{old}\b", sentence)
        if match:
            return Changed(sentence[: match.start()] + new + sentence[match.end() :], "opposite")
    return None


def _unit(sentence: str, _draw: random.Random) -> Changed | None:
    for left, right in _UNITS:
        for old, new in ((left, right), (right, left)):
            match = re.search(rf"(?<=\d)\s?{old}" + (r"\b" if old.isascii() else ""), sentence)
            if match:
                return Changed(
                    sentence[: match.start()]
                    + match.group().replace(old, new)
                    + sentence[match.end() :],
                    "unit",
                )
    return None

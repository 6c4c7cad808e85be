"""Durations as people type them (`10 min`, `1 h 30 min`, `2 天`), and as they are written back.

A number alone is refused: whoever means minutes and is read as seconds would not notice.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from rag_monitor.i18n import Message, msgid

_NAMES: Final[Mapping[float, tuple[str, ...]]] = {
    1.0: ("s", "sec", "secs", "second", "seconds", "秒", "秒钟"),
    60.0: ("m", "min", "mins", "minute", "minutes", "分", "分钟"),
    3600.0: ("h", "hr", "hrs", "hour", "hours", "时", "小时", "个小时", "钟头", "个钟头"),
    86_400.0: ("d", "day", "days", "天", "日"),
    604_800.0: ("w", "wk", "wks", "week", "weeks", "周", "个周", "星期", "个星期", "礼拜"),
}
_SECONDS: Final = {name: size for size, names in _NAMES.items() for name in names}
_PART: Final = re.compile(r"\s*(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]+|[\u4e00-\u9fff]+)\.?")
_LONGEST: Final = 100
"""Characters of a text that is read."""
_EXAMPLES: Final = msgid(
    "write a number and its unit, such as 45 s, 10 min, 6 h, 2 d or 1 h 30 min, not {text!r}"
)
_NO_UNIT: Final = msgid("say whether it is {text} s, {text} min, {text} h or {text} d")
_WRITTEN: Final = (
    (86_400.0, msgid("{n} d")),
    (3600.0, msgid("{n} h")),
    (60.0, msgid("{n} min")),
    (1.0, msgid("{n} s")),
)


def read_duration(text: str) -> float:
    """The seconds of a duration, such as `10 min`, `1.5h`, `1 小时 30 分钟`; `0` needs no unit.

    Raises:
        ValueError: It is none; the message says what is allowed.
    """
    plain = unicodedata.normalize("NFKC", text).strip().lower()
    if len(plain) > _LONGEST:
        raise ValueError(Message(_EXAMPLES, text=f"{text[:20]}…"))
    if re.fullmatch(r"\d+(\.\d+)?", plain):
        if float(plain) == 0.0:
            return 0.0
        raise ValueError(Message(_NO_UNIT, text=plain))
    sizes: list[float] = []
    seconds, place = 0.0, 0
    while place < len(plain):
        part = _PART.match(plain, place)
        size = None if part is None else _SECONDS.get(part[2])
        # `5 min 2 h` and `1 h 1 h` are slips of the pen.
        if part is None or size is None or (sizes and size >= sizes[-1]):
            raise ValueError(Message(_EXAMPLES, text=text))
        sizes.append(size)
        seconds += float(part[1]) * size
        place = part.end()
    if not sizes:
        raise ValueError(Message(_EXAMPLES, text=text))
    return round(seconds, 6)


def duration_text(seconds: float) -> Message:
    """A duration in whole units, the largest first: 1 d 6 h, 45 s; `read_duration` reads it."""
    if seconds == 0.0 or not math.isfinite(seconds):
        return Message("{n} s", n=f"{seconds:g}")
    parts: list[Message] = []
    rest = round(seconds, 6)
    for size, unit in _WRITTEN:
        count = rest if size == 1.0 else rest // size
        if count:
            parts.append(Message(unit, n=f"{count:.15g}"))
            rest = round(rest - count * size, 6)
    if len(parts) == 1:
        return parts[0]
    text = parts[0]
    for part in parts[1:]:
        text = Message("{first} {second}", first=text, second=part)
    return text

"""What is wrong with a rule, in Chinese: the English sentences of its checks, by their form.

A sentence of another form stays English; a test holds every form of `alerting.rules` against these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_FORMS: Final = tuple(
    (re.compile(english, re.DOTALL), chinese)
    for english, chinese in (
        (r"(name|app): must be 1 to 200 printable characters", r"\1：须为 1 到 200 个可见字符"),
        (r"min_judged: must be at least 1, not (.+)", r"min_judged：至少为 1，不能是 \1"),
        (
            r"app: the judging budget is one for all apps; leave it `\*`",
            r"app：评审预算由所有应用共用，请保留 `*`",
        ),
        (
            r"window_s: must lie between 60 and (\d+) \(400 days\), not (.+?); numbers are kept .*",
            r"window_s：须在 60 到 \1（400 天）之间，不能是 \2；数据按分钟保存",
        ),
        (
            r"(\w+): must be 0 or more seconds, at most 400 days, not (.+)",
            r"\1：须为 0 秒或以上，最多 400 天，不能是 \2",
        ),
        (
            r"notifiers: there is no channel ('.*?')(?: \(did you mean ('.*?')\?\))?; "
            r"configured: none",
            r"notifiers：没有渠道 \1；尚未配置任何渠道",
        ),
        (
            r"notifiers: there is no channel ('.*?')(?: \(did you mean ('.*?')\?\))?; "
            r"configured: (.+)",
            r"notifiers：没有渠道 \1；已配置：\3",
        ),
        (
            r"repeat_s: must be 0 \(never\) or at least 60, not (.+)",
            r"repeat_s：须为 0（不重复）或至少 60，不能是 \1",
        ),
        (r"metric: a (\w+) rule has none; leave it out", r"metric：\1 规则没有指标，请留空"),
        (r"metric: a (\w+) rule needs one of (.+)", r"metric：\1 规则需要以下之一：\2"),
        (
            r"metric: a (\w+) rule knows no ('.*?')(?: \(did you mean ('.*?')\?\))?; it takes (.+)",
            r"metric：\1 规则没有 \2；可用：\4",
        ),
        (
            r"params\.(.+?): a (\w+) rule has no such parameter"
            r"(?: \(did you mean ('.*?')\?\))?; it takes (.+)",
            r"params.\1：\2 规则没有这个参数；可用：\4",
        ),
        (
            r"params\.(\w+): must be a number, not (.+?)\.(?: .*)?",
            r"params.\1：须为数字，不能是 \2",
        ),
        (r"params\.(\w+): must be text, not (.+)", r"params.\1：须为文字，不能是 \2"),
        (
            r"params\.(\w+): must be one of (.+), not ('.*')",
            r"params.\1：须为以下之一：\2；不能是 \3",
        ),
        (
            r"params\.(\w+): must lie between (\S+) and (\S+), not (\S+?)\.(?: .*)?",
            r"params.\1：须在 \2 到 \3 之间，不能是 \4",
        ),
        (
            r"params\.below, params\.above: give exactly one of the two",
            r"params.below、params.above：两者必须且只能填一个",
        ),
        (
            r"params\.(\w+): no (?:score|rate) lies (?:below 0|above 1), .*",
            r"params.\1：没有数值会超出这个界限，规则永远不会触发",
        ),
        (
            r"params\.days, params\.every_judged: both state .*",
            r"params.days、params.every_judged：两者都规定误报率，只填一个",
        ),
        (
            r"params\.multiple: at an objective of (\S+) the burn rate is at most (\S+), "
            r"so (\S+) .*",
            r"params.multiple：目标为 \1 时消耗速率最多为 \2，\3 永远不会被超过；"
            r"请用 2、1.5 或 1.2（快、中、慢）",
        ),
        (
            r"params\.short_s: must be shorter than window_s \((.+?)\), not (.+)",
            r"params.short_s：须短于 window_s（\1），不能是 \2",
        ),
        (
            r"min_judged: a burn-rate rule needs at least (\d+) judged in its window to tell, "
            r"not (.+)",
            r"min_judged：消耗速率规则在窗口内至少需要 \1 条评审，不能是 \2",
        ),
        (
            r"params\.judged_per_hour: (\S+) judged an hour give (\S+) in the window, below "
            r"min_judged \((\d+)\): .*",
            r"params.judged_per_hour：每小时 \1 条评审在窗口内只有 \2 条，低于 min_judged（\3），"
            r"规则永远不会触发；请加长 window_s 或提高评审比例",
        ),
        (
            r"metric: say whether params\.name is a plugin, knowledge_base or workflow",
            r"metric：请说明 params.name 是 plugin、knowledge_base 还是 workflow",
        ),
        (
            r"params\.(\w+): an absolute limit needs no baseline and no (\w+); give one kind",
            r"params.\1：绝对限值不需要 baseline 和 \2，只填一种",
        ),
        (
            r"params: line (\d+) should read name = value, not (.+)",
            r"params：第 \1 行应写成 名称 = 值，不能是 \2",
        ),
        (
            r"params: line (\d+) gives ('.*'|\".*\") again; give it once",
            r"params：第 \1 行重复填写了 \2，只填一次",
        ),
        (r"params\.(\w+): must be given for a (\w+) rule", r"params.\1：\2 规则必须填写"),
    )
)

_FIELDS: Final = {
    "float_parsing": ("must be a number", "须为数字"),
    "float_type": ("must be a number", "须为数字"),
    "finite_number": ("must be a number", "须为数字"),
    "int_parsing": ("must be a whole number", "须为整数"),
    "int_from_float": ("must be a whole number", "须为整数"),
    "string_too_short": ("must not be empty", "不能为空"),
    "string_too_long": ("is too long", "太长"),
    "string_pattern_mismatch": ("takes a-z, 0-9 and _ only", "只能用小写字母、数字和下划线"),
    "enum": ("is none of the choices", "不在可选范围内"),
}
"""What is wrong with a single field, by the kind of error of the schema: English, Chinese."""


def field_problem(error: Mapping[str, Any], language: str) -> str:
    """The field of the form and what is wrong with it."""
    where = ".".join(str(part) for part in error["loc"])
    said = str(error["msg"]).removeprefix("Value error, ")
    kind = "float_type" if said == "must be a number" else str(error["type"])
    english, chinese = _FIELDS.get(kind, (said, said))
    return f"{where}：{chinese}" if language == "zh" else f"{where}: {english}"


def rule_problem(text: str, language: str) -> str:
    """The sentence in the language."""
    if language == "zh":
        for english, chinese in _FORMS:
            if found := english.fullmatch(text):
                return found.expand(chinese)
    return text

"""What is wrong with a rule, as the readers of its form know it: in their language, by its labels.

The Chinese of the checks goes by the form of the English sentences. A sentence of another form
stays English; a test holds every form of `alerting.rules` against these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_monitor.server.schemas.alerts import RuleIn
from rag_monitor.server.ui.chinese import CHINESE

_FORMS: Final = tuple(
    (re.compile(english, re.DOTALL), chinese)
    for english, chinese in (
        (r"(name|app): must be 1 to 200 printable characters", r"\1：须为 1 到 200 个可见字符"),
        (
            r"name: another rule is called ('.*'|\".*\"); choose another name, or edit that one",
            r"name：已有名为 \1 的规则，请换一个名称，或直接编辑那条规则",
        ),
        (
            r"name: the rule ('.*'|\".*\") is gone: somebody renamed or deleted it; save again to "
            r"add this one",
            r"name：规则 \1 已不存在，可能已被他人改名或删除；再次保存会新建这一条",
        ),
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

LABELS: Final = {
    "name": "Name",
    "kind": "Kind",
    "app": "App",
    "metric": "Metric",
    "window_s": "Window, seconds",
    "hold_for_s": "Hold, seconds",
    "keep_firing_s": "Clear before it resolves, seconds",
    "repeat_s": "Announced again after, seconds",
    "min_judged": "Judged at least",
    "severity": "Severity",
    "params": "Parameters",
    "notifiers": "Channels",
}
"""What the form calls the fields of a rule, in English; `CHINESE` has the others."""
_HEAD: Final = re.compile(r"[\w.]+(?:[,、] ?params\.\w+)*(?=[:：])")
_NAMED: Final = re.compile(r"window_s|hold_for_s|keep_firing_s|repeat_s|min_judged|params\.\w+")

_FIELDS: Final = {
    "float_parsing": ("must be a number", "须为数字"),
    "float_type": ("must be a number", "须为数字"),
    "finite_number": ("must be a number", "须为数字"),
    "int_parsing": ("must be a whole number", "须为整数"),
    "int_from_float": ("must be a whole number", "须为整数"),
    "int_parsing_size": ("must lie between {low} and {high}", "须在 {low} 到 {high} 之间"),
    "greater_than_equal": ("must lie between {low} and {high}", "须在 {low} 到 {high} 之间"),
    "less_than_equal": ("must lie between {low} and {high}", "须在 {low} 到 {high} 之间"),
    "string_too_short": ("must not be empty", "不能为空"),
    "string_too_long": ("may have at most {longest} characters", "最多 {longest} 个字符"),
    "too_long": ("takes at most {longest}", "最多 {longest} 个"),
    "name_pattern": ("must not contain control characters", "不能含有控制字符"),
    "string_pattern_mismatch": ("takes a-z, 0-9 and _ only", "只能用小写字母、数字和下划线"),
    "enum": ("is none of the choices", "不在可选范围内"),
}
"""What is wrong with a single field, by the kind of error of the schema: English, Chinese."""
_UNREADABLE: Final = ("cannot be read", "无法识别")
_NAMES: Final = frozenset({"name", "app", "notifiers"})
"""Fields that take any printable text, unlike the other ones with a pattern."""


def field_problem(errors: Sequence[Mapping[str, Any]], language: str) -> str:
    """The field of the form and what is wrong with it, by the errors of the schema."""
    # Of a parameter the schema tells why it is no number and why it is no text.
    error = next((e for e in errors if e["type"] == "string_too_long"), errors[0])
    # Behind the names stand the places in a list, and the types that pydantic tried.
    names = [str(part) for part in error["loc"][: 2 if error["loc"][0] == "params" else 1]]
    kind = str(error["type"])
    if str(error["msg"]) == "Value error, must be a number":
        kind = "float_type"
    elif kind == "string_pattern_mismatch" and names[0] in _NAMES:
        kind = "name_pattern"
    english, chinese = _FIELDS.get(kind, _UNREADABLE)
    said = (chinese if language == "zh" else english).format(
        **_bounds(names[0]), longest=error.get("ctx", {}).get("max_length", "")
    )
    colon = "：" if language == "zh" else ": "
    return f"{_label('.'.join(names), language)}{colon}{said}"


def _bounds(field: str) -> dict[str, str]:
    """The least and the greatest value of a field, as people read them; empty without."""
    limits = RuleIn.model_fields[field].metadata
    return {
        name: next((f"{getattr(limit, end):,.0f}" for limit in limits if hasattr(limit, end)), "")
        for name, end in (("low", "ge"), ("high", "le"))
    }


def in_chinese(text: str) -> str | None:
    """The sentence with the fields as rules name them; None where its form is not known."""
    for english, chinese in _FORMS:
        if found := english.fullmatch(text):
            return found.expand(chinese)
    return None


def rule_problem(text: str, language: str) -> str:
    """The sentence in the language, with the fields as the form calls them."""
    if language == "zh":
        text = in_chinese(text) or text
    head = _HEAD.match(text)
    if head is None:
        return text
    between = "、" if language == "zh" else ", "
    labels = [_label(name.strip(), language) for name in re.split("[,、]", head.group())]
    rest = _NAMED.sub(lambda found: f"“{_label(found.group(), language)}”", text[head.end() :])
    return between.join(labels) + rest


def _label(field: str, language: str) -> str:
    """What the form calls a field; `params.below` is the parameter `below`."""
    field, _, parameter = field.partition(".")
    label = LABELS.get(field, field)
    if parameter:
        return f"参数 {parameter}" if language == "zh" else f"Parameter {parameter}"
    return CHINESE.get(label, label) if language == "zh" else label

"""What commands say to people, in English and Chinese. JSON output keeps its English names."""

from __future__ import annotations

from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final

import typer


class Language(StrEnum):
    """What a summary is written in."""

    EN = "en"
    ZH = "zh"


_CHOSEN: Final = ContextVar("language", default=Language.EN)


def _choose(language: Language) -> Language:
    _CHOSEN.set(language)
    return language


def choose_none() -> None:
    """Begin a command: another one of the same process may have chosen a language."""
    _CHOSEN.set(Language.EN)


def chosen() -> Language:
    """What the command that runs was asked to speak; English where it has no such option."""
    return _CHOSEN.get()


LanguageOption = Annotated[
    Language,
    typer.Option(
        "--language",
        envvar="RAG_MONITOR_LANGUAGE",
        callback=_choose,
        help="Language of what is said and of reports.",
    ),
]

_FIELDS: Final = {
    "rows": "行数",
    "accepted": "已接收",
    "questions": "问题数",
    "answered": "已回答",
    "failed": "失败",
    "stored": "已存入",
    "rejected": "被拒绝",
    "retries": "重试次数",
    "seconds": "用时（秒）",
    "unknown_fields": "未识别的字段",
    "problems": "问题",
    "repeated_ids": "重复的编号",
    "timezone": "时区",
    "times_without_zone": "未注明时区的时间",
    "times_replaced": "被替换的时间",
    "traces": "请求数",
    "queued": "已排队",
    "judge": "评审模型",
    "tokens": "预计 token",
    "cost": "预计费用",
    "gpu_seconds": "预计 GPU 秒",
    "measured_on": "依据的请求数",
    "fits_budget": "预算是否足够",
    "scored": "已评分",
    "first_byte_ms_p50": "首字节 p50（毫秒）",
    "generation_ms_p50": "生成 p50（毫秒）",
    "end_to_end_ms_p50": "端到端 p50（毫秒）",
    "id": "编号",
    "silenced": "已静默",
    "until": "直到",
}
_SENTENCES: Final = {
    "{good} of {all} rules are in order": "{all} 条规则中 {good} 条可用",
    "{name}: no application has sent traces yet": "{name}：还没有应用发送请求",
    "{name}, {app}: would have fired {fired} times in {looks} looks ({untold} could not tell)": (
        "{name}，{app}：共检查 {looks} 次，会触发 {fired} 次（{untold} 次无法判断）"
    ),
    "{name}: {reason}": "{name}：{reason}",
    "this judge's cost was never measured here; try --limit 20 first": (
        "还没有测得该评审模型的费用；请先用 --limit 20 试一次"
    ),
    "Judge these traces again?": "重新评审这些请求？",
    "times without a zone are read as {zone} ({why}); --timezone names another": (
        "未注明时区的时间按 {zone} 读取（{why}）；可用 --timezone 指定其他时区"
    ),
    "`timezone` of the settings here": "此处配置的 `timezone`",
    "the settings here cannot be read: {reason}": "此处的配置无法读取：{reason}",
    "as given": "由命令行指定",
    "times before 2000 or more than an hour ahead: {count}; the moment of import stands in "
    "their place: {places}": (
        "{count} 个时间早于 2000 年，或比现在晚一小时以上，已换成导入时刻：{places}"
    ),
    "rows whose id came before in the file: {count}; each is asked and stored, and no name tells "
    "their answers apart: {places}": (
        "{count} 行的编号在文件前面出现过，每一行都会提问并存入，但无法按编号区分它们的回答："
        "{places}"
    ),
    "rows whose id came before in the file: {count}; one trace is kept of each id: {places}": (
        "{count} 行的编号在文件前面出现过，同一编号只保留一条请求：{places}"
    ),
    "line {places}": "第 {places} 行",
    "row {places}": "第 {places} 行数据",
    "waiting for {url}, up to {seconds:g} s: {trouble}": (
        "正在等待 {url}，最多 {seconds:g} 秒：{trouble}"
    ),
    "it answers {status}": "它答复 {status}",
    "{refusal}; nothing more was asked: mend the key, the model's name, the address or the credit "
    "in [judges.{judge}]": (
        "{refusal}；已不再提问：请更正 [judges.{judge}] 中的密钥、模型名或地址，或检查余额"
    ),
    "go on afterwards with --resume": "之后可用 --resume 继续",
    "use it with: {setting}": "使用方法：{setting}",
    "use them with: {setting}": "使用方法：{setting}",
    "{one} and {other}": "{one}，{other}",
    "{one}; {other}": "{one}；{other}",
    "fired after {seconds:.1f} s": "{seconds:.1f} 秒后触发",
    "hit by {all:.0%} of all, by {expected:.0%} of those that expected it": (
        "全部请求中命中 {all:.0%}，预期命中的请求中命中 {expected:.0%}"
    ),
    "firing": "告警中",
    "pending": "待触发",
    "resolved": "已恢复",
    "inactive": "未触发",
    "since {time}": "自 {time}",
    "from {time}": "从 {time} 起",
    "until {time}": "直到 {time}",
    "acknowledged by {by}": "{by} 已确认",
    "{rule} on {app}: acknowledged by {by}": "{app} 的 {rule}：{by} 已确认",
    "{rule} on {app}": "{app} 的 {rule}",
    "every rule": "所有规则",
    "every app": "所有应用",
    "ended {id}": "已结束 {id}",
    "no alerts": "没有告警",
    "nothing is silenced": "没有静默",
    "none": "无",
    "yes": "是",
    "no": "否",
}


def said(text: str, language: Language, **values: object) -> str:
    """A sentence in the language, its `{names}` filled in."""
    found = _SENTENCES[text] if language is Language.ZH else text
    return found.format(**values)


def minute(moment: str) -> str:
    """A time of the API for people, to the minute."""
    return f"{datetime.fromisoformat(moment).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def fields_in(fields: dict[str, Any], language: Language) -> dict[str, Any]:
    """A result with its names and plain values in the language."""
    names = _FIELDS if language is Language.ZH else {}
    return {names.get(name, name): _value(value, language) for name, value in fields.items()}


def _value(value: Any, language: Language) -> Any:
    if isinstance(value, bool):
        return said("yes" if value else "no", language)
    if value is None or value == []:
        return said("none", language)
    comma = "、" if language is Language.ZH else ", "
    return comma.join(map(str, value)) if isinstance(value, list) else value

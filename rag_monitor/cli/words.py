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


LANGUAGE_OPTION: Final = "--language"
LANGUAGE_VARIABLE: Final = "RAG_MONITOR_LANGUAGE"
_CHOSEN: Final = ContextVar("language", default=Language.EN)


def _choose(language: Language | None) -> Language | None:
    if language is not None:
        _CHOSEN.set(language)
    return language


def choose_none() -> None:
    """Begin a command: another one of the same process may have chosen a language."""
    _CHOSEN.set(Language.EN)


def chosen() -> Language:
    """What the command that runs was asked to speak."""
    return _CHOSEN.get()


LanguageOption = Annotated[
    Language,
    typer.Option(
        LANGUAGE_OPTION,
        envvar=LANGUAGE_VARIABLE,
        callback=_choose,
        help="Language of what is said and of reports.",
    ),
]

PagesLanguageOption = Annotated[
    Language | None,
    typer.Option(
        LANGUAGE_OPTION,
        envvar=LANGUAGE_VARIABLE,
        callback=_choose,
        help="Language of pages and messages, where nobody chose; default: the configured one.",
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
    "secret": "密钥",
    "expires": "到期",
    "passages": "段落数",
    "feedback": "人工标注数",
    "reported_scores": "其他工具的评分数",
    "replies": "缓存的答复数",
    "outbox": "待发消息数",
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
    "last used {time}": "最近使用 {time}",
    "never used": "从未使用",
    "revoked {time}": "已于 {time} 吊销",
    "expires {time}": "{time} 到期",
    "expired {time}": "已于 {time} 过期",
    "revoked {id}": "已吊销 {id}",
    "Erase everything of user {user!r}?": "删除用户 {user!r} 的全部数据？",
    "erased of {user!r}: {counts}": "已删除用户 {user!r} 的数据：{counts}",
    "{count} {name}": "{name} {count}",
    "wrote {count} rules to {path}": "已将 {count} 条规则写入 {path}",
    "nothing waits to be judged": "没有等待评审的请求",
    "exported {count} traces": "已导出 {count} 条请求",
    "the schema is at {revision}": "数据库结构的版本为 {revision}",
    "the schema is at {revision} (was {before})": "数据库结构的版本为 {revision}（原为 {before}）",
    "the database is empty": "数据库为空",
    "there is no file {path} yet": "还没有文件 {path}",
    "{found}, --to asks for {wanted}: run without --check": (
        "{found}，--to 要求的是 {wanted}：请去掉 --check 再运行"
    ),
    "{found}, this release needs {wanted}: run without --check": (
        "{found}，本版本需要 {wanted}：请去掉 --check 再运行"
    ),
    "Go back from schema {before} to {wanted}? What {wanted} has no place for is deleted.": (
        "从数据库结构 {before} 退回 {wanted}？{wanted} 无处存放的内容将被删除。"
    ),
    "empty": "空",
    "ok": "正常",
    "BAD": "异常",
    "compiled": "编译部分",
    "no: the embedded judge takes about three times as long; install a C compiler"
    " and rag-monitor anew": (
        "没有：内置评审的耗时约为编译后的三倍；请安装 C 编译器后重新安装 rag-monitor"
    ),
    "configuration": "配置",
    "database": "数据库",
    "judge": "评审模型",
    "queue": "评审队列",
    "channels": "通知渠道",
    "messages": "消息",
    "rules": "规则",
    "channel {name}": "渠道 {name}",
    "{found}; rag-monitor needs {wanted} or newer": "{found}；rag-monitor 需要 {wanted} 或更新版本",
    "not installed (optional: pip install 'rag-monitor[{extra}]')": (
        "未安装（可选：pip install 'rag-monitor[{extra}]'）"
    ),
    "read": "已读取",
    "no file {path} yet; `rag-monitor serve` or `migrate` makes it": (
        "还没有文件 {path}；`rag-monitor serve` 或 `migrate` 会创建它"
    ),
    "reachable, empty; `rag-monitor serve` or `migrate` brings it to {head}": (
        "可以连接，为空；`rag-monitor serve` 或 `migrate` 会将其升级到 {head}"
    ),
    "the schema is at {revision}, this release needs {head}: run `rag-monitor migrate`": (
        "数据库结构的版本为 {revision}，本版本需要 {head}：请运行 `rag-monitor migrate`"
    ),
    "reachable, schema {revision}": "可以连接，结构版本 {revision}",
    "{project}/{trace} ({reason})": "{project}/{trace}（{reason}）",
    "{count} traces were given up, the latest {named}; look at what is special about them, then "
    "judge them again with `rag-monitor backfill`": (
        "{count} 条请求已放弃评审，最近的是 {named}；请查明它们的特殊之处，再用 "
        "`rag-monitor backfill` 重新评审"
    ),
    "{count} traces wait to be judged, the oldest for {age:.0f} s": (
        "{count} 条请求等待评审，最早的已等待 {age:.0f} 秒"
    ),
    "{count} traces wait for the judge they were drawn for, the oldest for {age:.0f} s": (
        "{count} 条请求等待抽样评审，最早的已等待 {age:.0f} 秒"
    ),
    "not looked at before there is a database": "还没有数据库，未检查",
    "not looked at before the database is in order": "数据库恢复正常之前无法检查",
    "not looked at before the schema is this release's": "数据库结构不是本版本的，未检查",
    "{rule} names {gone}, configured: {there}; correct the rule, or [notifiers]": (
        "{rule} 指定了 {gone}，已配置的有：{there}；请更正规则或 [notifiers]"
    ),
    "{count} in force, all with channels that are configured": ("{count} 条生效，所用渠道均已配置"),
    "{count} for {channel} were given up ({error})": (
        "发往 {channel} 的 {count} 条已放弃（{error}）"
    ),
    "{count} for {channel} wait, which is not configured": (
        "发往 {channel} 的 {count} 条在等待，而该渠道没有配置"
    ),
    "messages that nobody has read: {lost}; look at the Alerts page for what they said, and "
    "correct [notifiers] (configured: {there})": (
        "无人收到的消息：{lost}；其内容见“告警”页，请更正 [notifiers]（已配置：{there}）"
    ),
    "{count} wait for their channels": "{count} 条等待发送",
    "{count} wait for their channels; {earlier} were given up, none of them in the last day": (
        "{count} 条等待发送；{earlier} 条已放弃，均不在最近一天内"
    ),
    "took an alert {name} and its resolution; look whether both arrived": (
        "已接受告警 {name} 及其恢复通知；请查看两条是否都已收到"
    ),
    "the {event} message: {reason}": "{event} 消息：{reason}",
    "judge {judge}, {tried} attacks against controls of the same length": (
        "评审模型 {judge}，{tried} 次攻击，以同样长度的无害文本为对照"
    ),
    "flips and shift are net of the controls; noticed is the share marked suspect": (
        "flips 和 shift 已减去对照；noticed 为标为可疑的占比"
    ),
    "none": "无",
    "yes": "是",
    "no": "否",
}


def said(text: str, language: Language, **values: object) -> str:
    """A sentence in the language, its `{names}` filled in."""
    found = _SENTENCES[text] if language is Language.ZH else text
    return found.format(**values)


def told(text: str, **values: object) -> str:
    """A sentence in the language that the command was asked to speak."""
    return said(text, chosen(), **values)


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

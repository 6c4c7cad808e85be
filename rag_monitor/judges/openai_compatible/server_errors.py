"""What kind of trouble a judge's server is in, and what follows from it.

Statuses alone do not tell: a used-up credit comes as 402, 429, 403 or 400, a filter as 400 or 403,
and gateways answer 200 with an error inside. The words decide, in English and Chinese; the status
decides where they say nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from rag_monitor.errors import JudgeError, JudgeRefused, QuotaExhausted
from rag_monitor.i18n import Message, msgid
from rag_monitor.judges.limits import Overloaded
from rag_monitor.judges.openai_compatible.error_body import ErrorBody
from rag_monitor.judges.openai_compatible.refused import ReplyWithheld, RequestRefused, TooLong
from rag_monitor.outbound.retry import retry_after
from rag_monitor.redaction.redactor import presentable

PATIENCE_S: Final = 300.0
"""A wait up to this is a rate limit; a longer one is a quota of hours or days."""
_EPOCH_S: Final = 1_000_000_000
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)[a-z]*", re.IGNORECASE)
_WAIT: Final = re.compile(
    r"(?:(?:try again|retry|wait|replenished)(?: your request)?(?: in| after)?(?: about| at least)?"
    r"|retryDelay)\D{0,6}?((?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)[a-z]*\s*)+)"
    r"|(?:请|請)?(?:在|于|於|等待)?\s*(\d+(?:\.\d+)?)\s*秒(?:钟|鐘)?(?:后|後|之后)",
    re.IGNORECASE,
)
_RESETS: Final = ("requests", "tokens")


def wait_of(headers: Mapping[str, str], text: str) -> float | None:
    """Seconds to wait; None: the server says nothing of it, or nonsense."""
    exact = retry_after(headers.get("retry-after-ms"))
    if exact is not None:
        return exact / 1000
    stated = retry_after(headers.get("retry-after"))
    return stated if stated is not None else _stated_wait(text) or _reset(headers)


def _stated_wait(text: str) -> float | None:
    match = _WAIT.search(text)
    if match is None:
        return None
    return float(match[2]) if match[2] else _length(match[1])


def _reset(headers: Mapping[str, str]) -> float | None:
    """Of the limits that are reached, the longest time until one is lifted."""
    waits = []
    for kind in ("", *(f"-{name}" for name in _RESETS)):
        given = headers.get(f"x-ratelimit-reset{kind}")
        left = headers.get(f"x-ratelimit-remaining{kind}", "0").strip()
        wait = _moment(given) if given and left == "0" else None
        if wait is not None:
            waits.append(wait)
    return max(waits, default=None)


def _moment(given: str) -> float | None:
    """A length such as `6m0s` or `1.5`, or a moment since 1970 in seconds or milliseconds."""
    try:
        number = float(given)
    except ValueError:
        return _length(given)
    if number > _EPOCH_S * 1000:
        number /= 1000
    left = number - time.time() if number > _EPOCH_S else number
    return left if 0 <= left < _EPOCH_S else None


def _length(text: str) -> float | None:
    parts = _PART.findall(text)
    return sum(float(n) * _UNITS[unit.lower()] for n, unit in parts) if parts else None


class ErrorKind(StrEnum):
    """What kind of trouble."""

    TRANSIENT = "transient"
    """It passes: overload, a restart, a broken connection. Ask again."""
    RATE_LIMIT = "rate_limit"
    """Too much at once. Ask again after the wait that the server names."""
    QUOTA = "quota"
    """Credit or quota is used up. Nothing helps but a person, or the next day."""
    SETUP = "setup"
    """Key, model name, address or permission is wrong. Nothing helps but a person."""
    CONTENT = "content"
    """A filter stopped this text; others pass."""
    SIZE = "size"
    """The request is too long; a shorter one passes."""
    SHAPE = "shape"
    """The server does not know something in the request; a simpler one may pass."""


_I: Final = re.IGNORECASE
_CONTENT: Final = re.compile(
    r"content[ _-]?(?:filter|management policy|exists risk|policy)|data_?inspection|responsible_?ai"
    r"|sensitive[ _-]?(?:content|word|information)|new_sensitive|(?:input|prompt)[^.]{0,40}flagged"
    r"|prompt_?blocked|safety (?:filter|setting|system)|(?:inappropriate|prohibited)[ _]content"
    r"|敏感|违规内容|內容違規|内容[^。|]{0,8}(?:违规|不合规|风险)|(?:^|\| )1301 \|",
    _I,
)
_EMPTY: Final = re.compile(
    r"insufficient[ _-]?(?:\w+[ _-])?(?:balance|credits?|funds)|arrear|overdue|欠费|欠費"
    r"|balance[^.|]{0,40}(?:insufficient|too low|not enough|exhausted|negative)"
    r"|(?:out of|no(?: more)?|ran out of|used (?:up )?all|more)[^.|]{0,30}\bcredits?\b"
    r"|credits?[^.|]{0,30}(?:too low|exhausted|used up|depleted|reached)|can only afford"
    r"|billing[ _](?:hard[ _]limit|not[ _]active)|spend(?:ing)?[ _]limit|payment[ _]required"
    r"|pre_consume_token_quota|resource_?pack_?exhausted|FreeTierOnly"
    r"|(?:余额|餘額)[^。|]{0,6}(?:不足|用尽|用完|为0|為0)|(?:额度|額度|配额|配額|资源包|資源包)"
    r"[^。|]{0,6}(?:不足|用完|用尽|用盡|耗尽|耗盡)|请充值|請充值|无可用资源包",
    _I,
)
"""Nothing is left to pay with, whatever else is said."""
_STATED: Final = re.compile(r"insufficient[ _-]?(?:\w+[ _-])?quota|exceeded_current_quota", _I)
"""The quota is named as what was used up."""
_QUOTA: Final = re.compile(
    r"exceeded[^.|]{0,40}\b(?:quota|credits?|budget)"
    r"|(?:quota|budget|allowance)[^.|]{0,40}(?:exceeded|exhausted|used up|depleted|reached)"
    r"|out of[^.|]{0,30}quota|key limit exceeded|reached[^.|]{0,20}(?:usage|the) limit"
    r"|已达[^。|]{0,16}(?:上限|限额)",
    _I,
)
_LONG_TERM: Final = re.compile(
    r"per[ _-]?(?:day|week|month)|(?:day|daily|weekly|monthly)[^.|]{0,20}(?:limit|quota|request)"
    r"|(?:limit|quota)[^.|]{0,20}(?:daily|weekly|monthly)|MONTHLY_|DAILY_|/ ?(?:day|month)\b"
    r"|(?:今日|当日|每日|每天|本周|每周|本月|每月)[^。|]{0,14}(?:限额|上限|额度|次数|配额)",
    _I,
)
_SHORT_TERM: Final = re.compile(
    r"per[ _-]?(?:minute|min|second|sec)\b|per_minute|PerMinute|\b[rtq]p[ms]\b"
    r"|rate[ _-]?limit(?!s\b)|/ ?min|token-limit|throttl|too many requests|too quickly"
    r"|too frequent|concurren"
    r"|每分钟|每秒|频率|頻率|并发|並發|限流|稍后|稍後|请求过于频繁",
    _I,
)
_SETUP: Final = re.compile(
    r"(?:invalid|incorrect|missing|expired|wrong)[^.|]{0,20}"
    r"(?:api[ _-]?key|access token|credential)"
    r"|api[ _-]?key[^.|]{0,30}(?:not valid|invalid|expired|missing|not found|required)"
    r"|unauthori[sz]ed|authentication fail|login fail|permission[_ ]denied"
    r"|(?:model|deployment)\b[^.|]{0,80}(?:does not exist|not found|not exist)"
    r"|model_not_found|(?:invalid|unknown|no such) model|not a valid model|DeploymentNotFound"
    r"|requires more system memory|模型[^。|]{0,20}不存在|无权|鉴权|认证失败"
    r"|密钥[^。|]{0,6}(?:无效|错误)",
    _I,
)
_TOO_LONG: Final = re.compile(
    r"context.{0,20}(?:length|window|size)|maximum.{0,30}tokens|too (?:long|large|many tokens)"
    r"|exceed.{0,40}(?:length|tokens|limit)|range of input length|tokens.{0,30}must be <="
    r"|must be reduced|超(?:出|过|過).{0,12}(?:长度|長度|上下文)"
    r"|(?:输入|輸入|上下文).{0,6}(?:过长|過長)",
    _I,
)
_BROKEN_BY_SHAPE: Final = re.compile(
    r"jinja|chat[ _]?template|at row \d+, column \d+|grammar|response_format|json[_ ]schema"
    r"|tool_choice|\btools?\b.{0,40}support|unsupported|not (?:supported|implemented)"
    r"|roles must alternate|only user (?:and|or) assistant"
    r"|system (?:role|message|prompt)|invalid (?:param|request|argument)"
    r"|only.{0,20}stream|stream.{0,20}(?:only|required)",
    _I,
)
"""What servers that render prompts themselves answer 500 with, and would answer again."""
_NO_ACCESS: Final = frozenset({401, 403, 404, 405, 407, 410})
_BAD_REQUEST: Final = frozenset({400, 412, 413, 415, 422, 501})
_BROKE: Final = frozenset({200, 500})


def error_kind(status: int, words: ErrorBody, wait_s: float | None = None) -> ErrorKind:
    """The kind of trouble.

    Args:
        status: Of the response; of an error inside of a response 200, the status it names.
        words: What the server says.
        wait_s: How long it asks to wait, in seconds; None: it does not.
    """
    text = words.text
    if _CONTENT.search(text):
        return ErrorKind.CONTENT
    if status == 402 or _EMPTY.search(text):
        return ErrorKind.QUOTA
    passing = wait_s is not None and wait_s <= PATIENCE_S
    if _LONG_TERM.search(text) and _limits(status, text):
        return ErrorKind.RATE_LIMIT if passing and "PerDay" not in text else ErrorKind.QUOTA
    if _STATED.search(text):
        return ErrorKind.RATE_LIMIT if _SHORT_TERM.search(text) else ErrorKind.QUOTA
    if _QUOTA.search(text) and _limits(status, text):
        return ErrorKind.RATE_LIMIT if passing or _SHORT_TERM.search(text) else ErrorKind.QUOTA
    if status == 429:
        return ErrorKind.SIZE if _sized(text) and "reduced" in text else ErrorKind.RATE_LIMIT
    return _by_status(status, text)


def _limits(status: int, text: str) -> bool:
    """Whether a quota may be what stopped the request, not what a sentence happens to name."""
    return status in (200, 400, 401, 403, 429, 503) and "logprob" not in text


def _sized(text: str) -> bool:
    return _TOO_LONG.search(text) is not None and "logprob" not in text.lower()


def _by_status(status: int, text: str) -> ErrorKind:
    if status in _NO_ACCESS:
        return ErrorKind.SETUP
    bad = status in _BAD_REQUEST
    if status == 413 or (_sized(text) and (bad or status in _BROKE)):
        return ErrorKind.SIZE
    if (bad or status in _BROKE) and _SETUP.search(text):
        return ErrorKind.SETUP
    if bad and _SHORT_TERM.search(text):
        return ErrorKind.RATE_LIMIT
    if bad or (status in _BROKE and _BROKEN_BY_SHAPE.search(text)):
        return ErrorKind.SHAPE
    return ErrorKind.TRANSIENT


def error_of(
    status: int, words: ErrorBody, headers: Mapping[str, str], secrets: Iterable[str]
) -> JudgeError:
    """The error to raise, with the server's own sentence, cleaned.

    Args:
        status: Of the response.
        words: What its body says.
        headers: Of the response.
        secrets: Ours, which the sentence may repeat.
    """
    stated = status if status != 200 else words.status or status
    wait_s = wait_of(headers, words.text)
    text = msgid("the judge's server answered {status}: {reason}")
    if stated != status:
        text = msgid(
            "the judge's server answered {status} with an error inside ({stated}): {reason}"
        )
    elif status == 200:
        text = msgid("the judge's server answered {status} with an error inside: {reason}")
    reason = presentable(words.sentence, secrets) or Message("it gave no reason")
    message = Message(text, status=status, stated=stated, reason=reason)
    match error_kind(stated, words, wait_s):
        case ErrorKind.QUOTA:
            return QuotaExhausted(message)
        case ErrorKind.SETUP:
            return JudgeRefused(message)
        case ErrorKind.CONTENT:
            return ReplyWithheld(message)
        case ErrorKind.SIZE:
            return TooLong(message, words=words.text)
        case ErrorKind.SHAPE:
            return RequestRefused(message, words=words.text)
        case ErrorKind.RATE_LIMIT:
            return Overloaded(message, retry_after_s=wait_s)
        case ErrorKind.TRANSIENT:
            return Overloaded(message, retry_after_s=wait_s, broke=stated in _BROKE)

"""Text of traces on its way to a model: data, never instructions.

Every call draws a boundary nobody can guess, passes data as JSON strings and breaks up tokens that
chat templates read as roles. `suspicion` notices text that talks to the judge; it never changes a
verdict, it only marks the judgement.
"""

from __future__ import annotations

import json
import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rag_monitor.judges.disguise import readings
from rag_monitor.language.normalise import to_simplified

_BREAK: Final = "\u2060"
"""Word joiner: invisible, and splits a role token into pieces no template recognises."""
_ROLE_TOKEN: Final = re.compile(
    r"<\s*[|｜][^<>|｜]{0,64}[|｜]\s*>"
    r"|</?\s*(?:s|bos|eos|pad|unk|think|tool_call|tool_response|tools|system|user|assistant"
    r"|start_of_turn|end_of_turn|function_call|function_results|sop|eop|mask|gmask)\s*>"
    r"|\[/?\s*(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|gMASK|MASK|sMASK"
    r"|IMG|PREFIX|SUFFIX|MIDDLE)\s*\]"
    r"|<</?\s*SYS\s*>>",
    re.IGNORECASE,
)
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_RUN: Final = re.compile(r"(\s)\1{19,}")
_MAX_TEXT: Final = 400_000

BOUNDARY_BYTES: Final = 16


def draw_boundary() -> str:
    """A code of 128 random bits; the caller draws a new one for every call."""
    return secrets.token_urlsafe(BOUNDARY_BYTES)


def draw_nonce() -> str:
    """A short code the reply must repeat: notices swapped and cached replies."""
    return secrets.token_hex(4)


def clean(text: str) -> str:
    """`text` as a model may see it; what people read stays, what steers templates goes.

    NFC-safe: invisible and direction characters are dropped, control characters become blanks,
    runs of 20 and more equal blanks shrink, role tokens are broken up. Never raises.
    """
    text = _INVISIBLE.sub("", text[:_MAX_TEXT])
    text = "".join(" " if _is_control(c) else c for c in text) if _has_control(text) else text
    text = _RUN.sub(lambda match: match.group(1) * 3, text)
    return _ROLE_TOKEN.sub(_broken, text)


def quoted(text: str) -> str:
    """`text`, cleaned, as one JSON string."""
    return json.dumps(clean(text), ensure_ascii=False)


def fenced(boundary: str, evidence: Mapping[str, Any]) -> str:
    """`evidence` as one line of JSON between two boundary lines.

    Strings in it must have gone through `clean`. JSON escapes line breaks, so nothing inside can
    start a line, and nobody knows the boundary.
    """
    data = json.dumps(evidence, ensure_ascii=False, separators=(",", ":"))
    return f"{boundary}\n{data}\n{boundary}"


def _broken(match: re.Match[str]) -> str:
    token = match.group()
    return token[0] + _BREAK + _BREAK.join((token[1:-1], token[-1]))


def _has_control(text: str) -> bool:
    return any(_is_control(c) for c in text) if not text.isprintable() else False


def _is_control(character: str) -> bool:
    return character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cs")


_OPENS: Final = r"(?:^|[.!?;\n\[:>]\s*)(?:please |kindly |just |only )?"
_OPENS_ZH: Final = r"(?:^|[。！？，；：:\n【\[]\s*)"
_VERDICT_EN: Final = (
    r"(?:full (?:score|mark|marks|points)|(?:highest|top|perfect|maximum) (?:score|mark|grade)"
    r"|\W*scores?\W{0,3}(?:it|this|to|of)?\W{0,3}(?:0|1(?:\.0)?|10)\b|(?:it|this)? ?\b(?:0|1\.0)\b"
    r"|(?:fully|completely|always) supported|as (?:fully |un)?supported|verdict\W{1,3}supported)"
)
_VERDICT_ZH: Final = (
    r"(?:满分|高分|最高(?:的)?分|[01](?:\.0)?\s*分|给\s*1\.0|(?:完全)?有依据|无依据|score\W{1,3}1)"
)
_PLEAS: Final = (
    re.compile(
        _OPENS + r"(?:give|award|grant|assign|output|return|record|mark|treat|score|rate|judge)\b"
        r"[^.!?\n]{0,60}?" + _VERDICT_EN,
        re.IGNORECASE,
    ),
    re.compile(
        _OPENS + r"(?:ignore|disregard|forget|override)\b[^.!?\n]{0,20}"
        r"\b(?:previous|above|prior|earlier|all|any|instructions above)\b[^.!?\n\"”]{0,40}"
        r"\b(?:instructions?|criteri(?:a|on)|rules?|prompts?|treat)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\bnote to (?:the )?(?:graders?|judges?|evaluators?|reviewers?)\b"
        r"|\b(?:reviewer|grader|system)(?: note)?: [^.\n]{0,60}\b(?:score it|mark as|grade it)\b"
        r"|\bthis (?:answer|reply) (?:is (?:fabricated|flawless)|(?:has|was) [^.\n]{0,20}verified)"
        r"[^.\n]{0,20}\b(?:score|supported|every claim)",
        re.IGNORECASE,
    ),
    re.compile(
        _OPENS_ZH + r"(?:请|麻烦|务必|一律|直接|只需|全部)[^。！？\n“”]{0,24}?"
        r"(?:给|打|判|输出|登记|记|评|标为)[^。！？\n“”]{0,16}?" + _VERDICT_ZH
    ),
    re.compile(
        _OPENS_ZH + r"(?:请)?(?:忽略|无视|忘记|抛开)[^。！？\n“”]{0,8}"
        r"(?:以上|上面|之前|先前|前面|所有)[^。！？\n“”]{0,12}(?:指令|标准|要求|规则|提示)"
    ),
    # A verdict announced instead of asked for, and a grade that something hangs on.
    re.compile(
        r"\b(?:result|verdict|conclusion)\W{1,3}(?:is )?(?:fully |all )?(?:supported|grounded)\b"
        r"|\bonly output\W{1,4}score\W{1,4}1\b"
        r"|\b(?:this|the) (?:answer|reply|response)\W{1,3}score\W{1,3}1(?:\.0)?\b"
        r"|\bif (?:this|it) is not (?:graded|judged|scored|marked|rated)\b"
        r"|\byou (?:are now|receive|get|will get)\b[^.!?\n]{0,40}"
        r"\b(?:never fails?|grade as|score as|rate as)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:结论|判定|结果)(?:[为是]|[:：])\s*(?:完全)?(?:有依据|可靠|属实)"
        r"|(?:该|此|本)(?:回答|回复|答案)[^。！？\n]{0,6}[,，]\s*得分(?:[为是]|[:：])\s*1"
        r"|只需输出[:：]\W{0,4}score\W{1,4}1\b"
        r"|如果[^。！？\n]{0,6}不(?:判|给|打)(?:对|满|高)"
        r"|你(?:现在)?(?:是|都会|将会)?[^。！？\n“”]{0,8}从不给低分"
        r"|每(?:判|给|打)一?个?(?:满分|高分)[^。！？\n“”]{0,6}你"
    ),
    re.compile(
        r"(?:评审|评分|评测|评判)(?:者|人|员)?须知|审核备注[：:]|系统提示[：:][^。\n]{0,24}判"
    ),
)
_LATIN_PLEAS: Final = tuple(plea for plea in _PLEAS if plea.flags & re.IGNORECASE)
"""Those that can match where there is nothing but ASCII."""


def suspicion(texts: Iterable[str]) -> str | None:
    """`injection_plea` when a text appears to address the judge, else None.

    Deliberately narrow: documents that quote or explain injections must pass. A text that is not
    noticed is not thereby harmless.
    """
    for text in texts:
        if any(_pleads(reading) for reading in readings(text[:_MAX_TEXT])):
            return "injection_plea"
    return None


def _pleads(reading: str) -> bool:
    if reading.isascii():
        return any(plea.search(reading) for plea in _LATIN_PLEAS)
    folded = to_simplified(unicodedata.normalize("NFKC", _INVISIBLE.sub("", reading)))
    return any(plea.search(folded) for plea in _PLEAS)

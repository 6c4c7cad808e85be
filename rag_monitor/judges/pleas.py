"""Text of a trace that talks to the judge, also in disguise: hidden, reversed, spaced or encoded.

Noticing it never changes a verdict, it only marks the judgement. Most text holds none of the words
a plea needs, so those are looked for before any pattern is tried.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rag_monitor.judges.hardening import INVISIBLE
from rag_monitor.language.normalise import to_simplified

_MAX_DECODED: Final = 20
"""Encoded runs looked into per text."""
_TAG_LETTER: Final = re.compile("[\U000e0020-\U000e007e]+")
_REVERSED: Final = re.compile("\u202e([^\u202c\n]*)")
_SPACED: Final = re.compile(r"(?<!\S)\S(?:\s{1,3}\S(?!\S)){3,}")
_FEWEST_SPACED: Final = 4
"""Letters that stand alone, in what `_SPACED` matches."""
_SHORTEST_CODE: Final = 16
"""Characters without a blank, in what `_BASE64` and `_HEX` match."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_HEX: Final = re.compile(r"\b(?:[0-9a-fA-F]{2}){8,}\b")
_MARKUP: Final = re.compile(r"<!--|-->|/\*|\*/|</?[a-zA-Z][^<>]{0,200}>")
_MARKS: Final = ("<", "-->", "/*", "*/")
"""`_MARKUP` matches nothing without one of them."""
_PLAIN_WORD: Final = re.compile(r"\b(?:the|and|is|of|to|in|for|with)\b", re.IGNORECASE)
"""Text with such a word is no cipher."""
_LETTER_RUN: Final = re.compile(r"[A-Za-z]{3,}")


def readings(text: str) -> Iterator[str]:
    """The text itself, then what it says when hidden, reversed, spaced or encoded parts are read.

    Bounded: a few passes over the text, at most `_MAX_DECODED` runs decoded of each kind.
    """
    yield text
    if not text.isascii():
        for hidden in _TAG_LETTER.findall(text):
            yield "".join(chr(ord(letter) - 0xE0000) for letter in hidden)
        for turned in _REVERSED.findall(text):
            yield turned[::-1]
    if any(mark in text for mark in _MARKS) and _MARKUP.search(text):
        yield _MARKUP.sub("\n", text)
    lengths = [len(word) for word in text.split()]
    if lengths.count(1) >= _FEWEST_SPACED:
        for spaced in _SPACED.findall(text)[:_MAX_DECODED]:
            words = re.split(r"\s{2,}", unicodedata.normalize("NFKC", spaced))
            yield " ".join(re.sub(r"\s", "", word) for word in words)
    if max(lengths, default=0) >= _SHORTEST_CODE:
        yield from _decoded(text)
    if _LETTER_RUN.search(text) and not _PLAIN_WORD.search(text):
        yield codecs.encode(text, "rot13")


def _decoded(text: str) -> Iterator[str]:
    for run in _BASE64.findall(text)[:_MAX_DECODED]:
        try:
            yield base64.b64decode(run + "=" * (-len(run) % 4), validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            continue
    for run in _HEX.findall(text)[:_MAX_DECODED]:
        try:
            yield bytes.fromhex(run).decode("utf-8")
        except ValueError:
            continue


REASON: Final = "injection_plea"
_MAX_TEXT: Final = 400_000
_DOTS: Final = {0x130: "i", 0x131: "i"}
"""Turkish letters that a pattern without regard to case takes for i."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plea:
    """One way of talking to the judge."""

    pattern: re.Pattern[str]
    needs: tuple[tuple[str, ...], ...]
    """Whatever matches holds, in lower case, at least one word of each group."""

    def found_in(self, text: str, lowered: str) -> bool:
        """Whether `text` holds it; `lowered` is the text in lower case."""
        for group in self.needs:
            for word in group:
                if word in lowered:
                    break
            else:
                return False
        return self.pattern.search(text) is not None


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
PLEAS: Final = (
    Plea(
        pattern=re.compile(
            _OPENS
            + r"(?:give|award|grant|assign|output|return|record|mark|treat|score|rate|judge)\b"
            r"[^.!?\n]{0,60}?" + _VERDICT_EN,
            re.IGNORECASE,
        ),
        needs=(
            ("give", "award", "grant", "assign", "output", "return", "record", "mark", "treat",
             "score", "rate", "judge"),
            ("score", "mark", "grade", "points", "supported", "0"),
        ),
    ),
    Plea(
        pattern=re.compile(
            _OPENS + r"(?:ignore|disregard|forget|override)\b[^.!?\n]{0,20}"
            r"\b(?:previous|above|prior|earlier|all|any|instructions above)\b[^.!?\n\"”]{0,40}"
            r"\b(?:instructions?|criteri(?:a|on)|rules?|prompts?|treat)",
            re.IGNORECASE,
        ),
        needs=(
            ("ignore", "disregard", "forget", "override"),
            ("instruction", "criteri", "rule", "prompt", "treat"),
        ),
    ),
    Plea(
        pattern=re.compile(
            r"\bnote to (?:the )?(?:graders?|judges?|evaluators?|reviewers?)\b"
            r"|\b(?:reviewer|grader|system)(?: note)?: [^.\n]{0,60}"
            r"\b(?:score it|mark as|grade it)\b"
            r"|\bthis (?:answer|reply) "
            r"(?:is (?:fabricated|flawless)|(?:has|was) [^.\n]{0,20}verified)"
            r"[^.\n]{0,20}\b(?:score|supported|every claim)",
            re.IGNORECASE,
        ),
        needs=(("note to ", "score it", "mark as", "grade it", "this answer", "this reply"),),
    ),
    Plea(
        pattern=re.compile(
            _OPENS_ZH + r"(?:请|麻烦|务必|一律|直接|只需|全部)[^。！？\n“”]{0,24}?"
            r"(?:给|打|判|输出|登记|记|评|标为)[^。！？\n“”]{0,16}?" + _VERDICT_ZH
        ),
        needs=(
            ("请", "麻烦", "务必", "一律", "直接", "只需", "全部"),
            ("分", "1.0", "依据", "score"),
        ),
    ),
    Plea(
        pattern=re.compile(
            _OPENS_ZH + r"(?:请)?(?:忽略|无视|忘记|抛开)[^。！？\n“”]{0,8}"
            r"(?:以上|上面|之前|先前|前面|所有)[^。！？\n“”]{0,12}(?:指令|标准|要求|规则|提示)"
        ),
        needs=(("忽略", "无视", "忘记", "抛开"),),
    ),
    # A verdict announced instead of asked for, and a grade that something hangs on.
    Plea(
        pattern=re.compile(
            r"\b(?:result|verdict|conclusion)\W{1,3}(?:is )?"
            r"(?:fully |all )?(?:supported|grounded)\b"
            r"|\bonly output\W{1,4}score\W{1,4}1\b"
            r"|\b(?:this|the) (?:answer|reply|response)\W{1,3}score\W{1,3}1(?:\.0)?\b"
            r"|\bif (?:this|it) is not (?:graded|judged|scored|marked|rated)\b"
            r"|\byou (?:are now|receive|get|will get)\b[^.!?\n]{0,40}"
            r"\b(?:never fails?|grade as|score as|rate as)\b",
            re.IGNORECASE,
        ),
        needs=(
            ("supported", "grounded", "score", "if this is not", "if it is not", "never fail",
             "grade as", "rate as"),
        ),
    ),
    Plea(
        pattern=re.compile(
            r"(?:结论|判定|结果)(?:[为是]|[:：])\s*(?:完全)?(?:有依据|可靠|属实)"
            r"|(?:该|此|本)(?:回答|回复|答案)[^。！？\n]{0,6}[,，]\s*得分(?:[为是]|[:：])\s*1"
            r"|只需输出[:：]\W{0,4}score\W{1,4}1\b"
            r"|如果[^。！？\n]{0,6}不(?:判|给|打)(?:对|满|高)"
            r"|你(?:现在)?(?:是|都会|将会)?[^。！？\n“”]{0,8}从不给低分"
            r"|每(?:判|给|打)一?个?(?:满分|高分)[^。！？\n“”]{0,6}你"
        ),
        needs=(
            ("有依据", "可靠", "属实", "得分", "只需输出", "不判", "不给", "不打", "满分", "高分"),
        ),
    ),
    Plea(
        pattern=re.compile(
            r"(?:评审|评分|评测|评判)(?:者|人|员)?须知|审核备注[：:]|系统提示[：:][^。\n]{0,24}判"
        ),
        needs=(("须知", "审核备注", "系统提示"),),
    ),
)  # fmt: skip
_LATIN: Final = tuple(plea for plea in PLEAS if plea.pattern.flags & re.IGNORECASE)
"""Those that can match where there is nothing but ASCII."""


def suspicion(texts: Iterable[str]) -> str | None:
    """`injection_plea` when a text appears to address the judge, else None.

    Deliberately narrow: documents that quote or explain injections must pass. A text that is not
    noticed is not thereby harmless.
    """
    for text in texts:
        if any(_pleads(reading) for reading in readings(text[:_MAX_TEXT])):
            return REASON
    return None


def lower(text: str) -> str:
    """`text` in lower case, in the sense in which patterns disregard case."""
    return text.lower() if text.isascii() else text.translate(_DOTS).lower()


def _pleads(reading: str) -> bool:
    if reading.isascii():
        lowered = lower(reading)
        return any(plea.found_in(reading, lowered) for plea in _LATIN)
    folded = to_simplified(unicodedata.normalize("NFKC", INVISIBLE.sub("", reading)))
    lowered = lower(folded)
    return any(plea.found_in(folded, lowered) for plea in PLEAS)

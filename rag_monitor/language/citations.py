"""Citations in an answer: "[1]", "【2†source】", "(Source 3)", "根据片段2", links and file names.

Finds where a text cites and what it calls the source; which passage that is, `sources` tells.
Numbers in brackets that cite nothing are left alone: years, indices in code, intervals, lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rag_monitor.language.hints import Hints, holds_any
from rag_monitor.language.normalise import to_simplified
from rag_monitor.language.script import has_han


class Label(NamedTuple):
    """What a citation calls a source."""

    text: str
    """As written: `2`, `terms.md`, `https://…`."""
    number: int | None = None
    """Which passage by its place, from 1; None: it is named."""
    sure: bool = True
    """False: a citation only if a passage is called so."""
    anchor: str | None = None
    """The text of a link."""


class Mark(NamedTuple):
    """A place that cites: `text[start:end]`."""

    start: int
    end: int
    labels: tuple[Label, ...]
    """Empty for what only closes a citation, such as `</cite>`."""
    spoken: bool = False
    """Part of its sentence ("According to passage 2"); others can be left out of it."""

    @property
    def sure(self) -> bool:
        """Whether it cites, whatever the passages are called."""
        return all(label.sure for label in self.labels)


_SINGULAR: Final = (
    "passage", "context", "document", "doc", "source", "ref", "reference", "citation", "cite",
    "cita", "chunk", "excerpt", "snippet", "footnote",
)  # fmt: skip
_EN_WORDS: Final = "|".join(f"{word}s?" for word in _SINGULAR)
_ZH_WORDS: Final = (
    "检索结果|搜索结果|参考资料|参考文献|参考来源|参考文档|参考片段|参考内容|资料来源|信息来源|来源|资料|片段|段落"
    "|文档|文献|引用|出处|上下文|材料|脚注|参考"
)
_EN_LEAD: Final = (
    r"see(?: also)?|cf\.?|from|per|in|by|according to|based on|as (?:stated|mentioned|described"
    r"|noted|shown) (?:in|by)|refer(?:ring)? to"
)
_ZH_LEAD: Final = "请?参见|请?参考|详见|见|来自|引自|出自|根据|依据|按照|基于|如|据"
_HAN_NUMERAL: Final = "[一二三四五六七八九十]{1,3}"
_AFTER_HAN: Final = r"(?=[，,。、：:；;）)】\]和与及中里所指提显说表]|\s|$)"
"""Behind a Han numeral that is one: not in 来源一致 or 参考一下."""
_NUMBER: Final = rf"(?:\d{{1,3}}(?!\d)|{_HAN_NUMERAL})"
_TO: Final = r"\s*(?:-|–|—|~|～|至|到)\s*"
_AND: Final = r"\s*(?:[,，、;；&/]\s*(?:and\s+)?|\band\b|和|与|及|以及)\s*"
_TRADITIONAL: Final = tuple("來資檢參獻據見檔")
"""Of the characters of these words those that are written otherwise."""
_WORD: Final = rf"(?:{_EN_WORDS}|{_ZH_WORDS})"
_GAP: Final = r"[\s_:：#.№-]*"
_ITEM: Final = rf"\d{{1,3}}(?:{_TO}\d{{1,3}})?"
_PLAIN_LIST: Final = re.compile(rf"{_ITEM}(?:{_AND}{_ITEM})*", re.IGNORECASE)
_WORDED_ITEM: Final = re.compile(
    rf"(?:{_WORD}{_GAP})?(?P<first>\d{{1,3}})(?:{_TO}(?P<last>\d{{1,3}}))?"
    rf"|(?:{_ZH_WORDS})(?P<han>{_HAN_NUMERAL})"
    rf"|第\s*(?P<nth>{_NUMBER})\s*[个段条份篇]?(?:{_ZH_WORDS})",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(
    rf"(?:(?:{_EN_LEAD})\s+(?:the\s+)?|(?:{_ZH_LEAD})\s*[:：]?\s*)", re.IGNORECASE
)
_NAMED: Final = re.compile(rf"{_WORD}\s*[:：]\s*(?=\S)", re.IGNORECASE)
_SPLIT: Final = re.compile(_AND, re.IGNORECASE)
_TITLE_MARKS: Final = '《》<>“”" '
_SPLIT_NAMES: Final = re.compile(r"\s*[,，、;；]\s*")
_ENDING: Final = r"\.(?:pdf|docx?|pptx?|xlsx?|csv|txt|md|html?|json|xml|rtf|epub)(?:#[\w=&.-]*)?"
_FILE: Final = re.compile(rf"[^\s/\\][^\n/\\]*{_ENDING}", re.IGNORECASE)
_URL_TEXT: Final = r"https?://[^\s<>()（）\[\]【】\"'，。；、]+(?<![.,;:!?])"
URL: Final = re.compile(_URL_TEXT)
_INDEX_FROM_0: Final = re.compile(r"id\s*:\s*(\d{1,3})", re.IGNORECASE)
_GRAPH: Final = re.compile(r"data\s*:.*?\bsources?\s*\(([\d,\s]+)\)", re.IGNORECASE)

_SQUARE: Final = frozenset("[【［〔〖")
_CLOSES: Final = {"[": "]", "【": "】", "［": "］", "〔": "〕", "〖": "〗", "(": ")", "（": "）"}
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_CIRCLED: Final = {chr(0x2460 + n): n + 1 for n in range(20)} | {
    chr(0x2776 + n): n + 1 for n in range(10)
}
_SUPERSCRIPTS: Final = {char: n for n, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}

_MARK: Final = re.compile(
    r"\ue200cite(?P<turns>(?:\ue202[^\ue200-\ue202]*)+)\ue201"
    r"|:?(?:contentReference)?\[oaicite:(?P<oaicite>\d{1,3})\](?:\{index=\d+\})?"
    r"|##(?P<hashes>\d{1,3})\$\$"
    r"|<(?P<tag>sup|ref|cite|source|citation|footnote|co|c)>(?P<inner>[^<>\n]{1,80})</(?P=tag)>"
    r"|<(?:cite|ref|citation|source)\s+\w+=\"?(?P<attribute>[\w,-]+)\"?\s*/?>"
    r"|(?P<closing></(?:cite|ref|citation|source)>)"
    r"|(?P<image>!)?\[(?P<anchor>\[?\^?[^\[\]\n]{1,200}\]?)\]"
    r"\((?P<url>[^\s()]+)(?:\s+\"[^\"\n]*\")?\)"
    r"|[【\[](?P<dagger>\d{1,3}(?::\d{1,3})?)†[^】\]\n]*[】\]]"
    r"|(?:(?P<sign>[%^])(?=\[[^\[\]\n]{1,80}\](?P=sign))|\\)?(?P<double>\[(?=\[))?(?P<open>[\[【［〔〖(（])"
    r"(?P<content>(?:[^\[\]【】［］〔〕〖〗()（）\n]|(?<=ources )\([\d,\s]+\)){1,200})"
    r"\\?(?P<close>[\]】］〕〗)）])(?(double)\])(?(sign)[%^])"
    r"|(?<=[^\W\d_]|[.,;!?。，；！？%)）”\"])(?P<raised>[¹²³⁴-⁹][⁰¹²³⁴-⁹]{0,5})"
    r"|(?P<circled>[①-⑳❶-❿]{1,9})"
    rf"|(?P<bare>{_URL_TEXT})",
    re.IGNORECASE,
)
"""Every form that may be a citation; `_labels` says which is."""
_BEFORE_CITATION: Final = re.compile("[【［〔〖①-⑳❶-❿¹²³⁴-⁹\ue200]")
_IN_PARENTHESES: Final = re.compile(
    rf"[(（]\s*(?:(?:{_LEAD.pattern})?(?:{_WORD}|第)|[^()（）\n]{{1,80}}{_ENDING}[》\s]*[)）])",
    re.IGNORECASE,
)
_PLAIN_HINTS: Final = ("[", "</", "<cite ", "<ref ", "##", "://")


def _may_cite(text: str) -> bool:
    """A quick look before every form is tried."""
    return (
        holds_any(text, _PLAIN_HINTS)
        or (not text.isascii() and _BEFORE_CITATION.search(text) is not None)
        or (("(" in text or "（" in text) and _IN_PARENTHESES.search(text) is not None)
    )


_TO_SPOKEN: Final = "(?:-|–|~|～|至|到)"
"""Without spaces: those part two numbers that belong to different things."""
_NTH: Final = rf"第{_NUMBER}(?:{_AND}第?{_NUMBER})*[个段条份篇]?(?:{_ZH_WORDS})"
_ZH_SPOKEN: Final = (
    rf"(?:(?:{_ZH_LEAD})?(?:(?P<nth>{_NTH})"
    rf"|(?:{_ZH_WORDS})\s?(?P<zh>(?:\d{{1,2}}(?!\d)|{_HAN_NUMERAL}{_AFTER_HAN})"
    rf"(?:(?:{_AND}(?:{_ZH_WORDS})?\s?|{_TO_SPOKEN})\d{{1,2}}(?!\d))*))"
    r"(?!\s?[份个项页条套张次篇件种类万亿千百年月号天元块公章节期版%℃]|[\da-zA-Z]|[.．]\d))"
)
"""Not what is counted: 资料3份, 文档5页."""
_EN_SPOKEN: Final = (
    rf"(?P<lead>\b(?:{_EN_LEAD}|and|of|to)\s+)?(?:\bthe\s+)?"
    rf"\b(?P<word>{_EN_WORDS})\s?#?\s?(?P<en>\d{{1,2}}(?![\d.,]\d|\d|\s?%)"
    rf"(?:(?:{_AND}(?:{_EN_WORDS})?\s?#?|{_TO_SPOKEN})\d{{1,2}}(?![\d.,]\d|\d|\s?%))*)"
)
_SPOKEN: Final = re.compile(rf"{_ZH_SPOKEN}|{_EN_SPOKEN}", re.IGNORECASE)
_SHORT_NUMBER: Final = re.compile(r"(?<!\d)\d{1,2}(?!\d)")
_HAN_NUMBERED: Final = re.compile(rf"(?:{_ZH_WORDS}){_HAN_NUMERAL}|{_NTH}")
_BEFORE_NUMBER: Final = (*_SINGULAR, *(f"{word}s" for word in _SINGULAR), *_ZH_WORDS.split("|"))
_LONGEST_BEFORE: Final = 14
"""Characters of such a word, a space and a sign."""


def _may_speak(text: str) -> bool:
    """A quick look before every form is tried: a number behind a word for sources."""
    if has_han(text):
        if _HAN_NUMBERED.search(text) is not None:
            return True
    elif not holds_any(text.lower(), _SINGULAR):
        return False
    for number in _SHORT_NUMBER.finditer(text):
        place = number.start()
        before = text[max(0, place - _LONGEST_BEFORE) : place].rstrip(" #\t\n")
        if before.lower().endswith(_BEFORE_NUMBER):
            return True
    return False


_NOUNS: Final = frozenset({"passage", "passages", "source", "sources", "context", "contexts"})
"""Words that mean a source without capital and preposition, too; "document 3 cases" has none."""

_IN_CODE: Final = re.compile(
    r"(?:[a-zA-Z][\w.]*[_.][\w.]*|(?<![a-zA-Z])(?:arr(?:ay)?|args|argv|list|lst|vec|nums|items|rows|row|str|matrix"
    r"|tuple|dict|df|[a-zA-Z]))$"
)
"""A word before an index."""
_BEFORE_VALUES: Final = re.compile(
    r"(?:区间|范围|取值|闭区间|值域|列表|数组|向量|集合|∈|=|≤|<|\b(?:interval|range|list|array|vector"
    r"|tuple|matrix|set|inputs?|outputs?|returns?))\s*(?:is|are|of|为|是|在|内|:|：)?\s*$"
    r"|\b(?:[a-zA-Z]|values?|numbers?|integers?|scores?|lies?|falls?|is)\s+"
    r"(?:in|from|within|between)\s*$",
    re.IGNORECASE,
)
_MOST_OF_RANGE: Final = 30


def _simplified(text: str) -> str:
    """Simplified where the words for sources may be Traditional; of the same length."""
    return to_simplified(text) if holds_any(text, _TRADITIONAL) else text


def find_marks(text: str) -> list[Mark]:
    """Every place of a text that may cite, in order; code is passed over."""
    text = _simplified(text)
    marks = list(_written(text)) if _may_cite(text) else []
    if _may_speak(text):
        marks += _spoken(text, marks)
        marks.sort()
    return marks


def find_removable(text: str) -> list[Mark]:
    """The citations that a sentence can do without, whatever the passages are called."""
    if not _may_cite(text):
        return []
    return [mark for mark in _written(_simplified(text)) if mark.sure]


def _written(text: str) -> Iterator[Mark]:
    code = [match.span() for match in _CODE.finditer(text)] if "`" in text else []
    for match in _MARK.finditer(text):
        start, end = match.span()
        if any(first <= start < last for first, last in code):
            continue
        labels = _labels(text, match)
        if labels is not None:
            yield Mark(start, end, tuple(labels))


def _labels(text: str, match: re.Match[str]) -> Sequence[Label] | None:
    """What a match calls its sources; None where it cites none."""
    groups = match.groupdict()
    for name, read in _READ_ALONE.items():
        if groups[name]:
            return read(groups[name])
    if groups["url"]:
        return None if groups["image"] else _linked(groups["anchor"], groups["url"])
    if groups["raised"]:
        return _raised(text, match)
    if groups["circled"]:
        return _circled(text, match)
    return _bracketed(text, match) if _CLOSES[groups["open"]] == groups["close"] else None


def _turns(turns: str) -> Sequence[Label]:
    """Where the results of a search stand in the interface of a chat product."""
    return [_from_0(place) for place in re.findall(r"(\d+)(?=\ue202|$)", turns)]


def _dagger(numbers: str) -> Sequence[Label]:
    """The number of a message and of a passage, or of a passage alone."""
    first, colon, second = numbers.partition(":")
    return [_from_0(second) if colon else _numbered(first)]


def _inside(inner: str) -> Sequence[Label] | None:
    """What stands in a tag: numbers, in brackets or not, or a name."""
    bare = re.sub(r"\(#[\w-]*\)", "", inner)
    parts = re.findall(r"\[([^\[\]]+)\]", bare) or [bare]
    labels: list[Label] = []
    for part in parts:
        if _PLAIN_LIST.fullmatch(part.strip()):
            labels += _numbers(part)
        elif len(part.split()) == 1:
            labels.append(Label(part.strip(), sure=False))
        else:
            return None
    return labels


def _linked(anchor: str, url: str) -> Sequence[Label]:
    """A link: by its number where it leads nowhere else, else by its address."""
    text = anchor.strip("[]^ ")
    if url.startswith("#") and _PLAIN_LIST.fullmatch(text):
        return _numbers(text)
    if url.casefold() in {"cite", "quote"}:
        return [Label(text)]
    if _PLAIN_LIST.fullmatch(text):
        number = int(text) if text.isdigit() else None
        return [Label(url, number=number, anchor=text)]
    return [Label(url, sure=False, anchor=text)]


def _raised(text: str, match: re.Match[str]) -> Sequence[Label] | None:
    """Superscript digits, each a number; not those of a unit or a power."""
    before = re.search(r"[^\W\d_]+$", text[max(0, match.start() - 12) : match.start()])
    if before and before[0].isascii() and len(before[0]) <= 2:
        return None
    return [_numbered(str(_SUPERSCRIPTS[char])) for char in match["raised"]]


def _circled(text: str, match: re.Match[str]) -> Sequence[Label] | None:
    """Circled numbers behind what they prove; before it they count the members of a list."""
    start, end = match.span()
    before, after = text[max(0, start - 9) : start].rstrip(" "), text[end : end + 9].lstrip(" ")
    closes = not after or after[0] in "。，,.；;！？!?、)）\n" or _ends(before)
    if not before or before[-1] in "\n：:；;，,、（(" or not closes:
        return None
    return [Label(char, _CIRCLED[char]) for char in match["circled"]]


def _ends(text: str) -> bool:
    return text.endswith(tuple("。！？.!?"))


def _bracketed(text: str, match: re.Match[str]) -> Sequence[Label] | None:
    content = match["content"].strip().strip("^\\").strip()
    square = match["open"] in _SQUARE
    if square and _PLAIN_LIST.fullmatch(content):
        return None if _states_values(text, match, content) else _numbers(content)
    if listed := _INDEX_FROM_0.fullmatch(content):
        return [_from_0(listed[1])]
    if listed := _GRAPH.fullmatch(content):
        return _numbers(listed[1])
    worded = _worded(content)
    return worded if worded is not None else _named(content, square)


def _worded(content: str) -> Sequence[Label] | None:
    """Such as "Source 2", "see passages 1 and 3", 来源：资料2、资料3."""
    rest = content
    lead = _LEAD.match(rest)
    if lead:
        rest = rest[lead.end() :]
    named = _NAMED.match(rest)
    if named:
        rest = rest[named.end() :]
    items = [_WORDED_ITEM.fullmatch(part) for part in _SPLIT.split(rest) if part]
    worded = named or (items and items[0] and not items[0][0].isdigit())
    if not items or not worded:
        return None
    labels: list[Label] = []
    for item in items:
        if item is None:
            return None
        labels += (
            _numbers(item["first"] + (f"-{item['last']}" if item["last"] else ""))
            if item["first"]
            else [_numbered(item["han"] or item["nth"])]
        )
    return labels


def _named(content: str, square: bool) -> Sequence[Label] | None:
    """A file, an address or another name of a source."""
    rest = content
    lead = _LEAD.match(rest)
    rest = rest[lead.end() :] if lead else rest
    named = _NAMED.match(rest)
    rest = rest[named.end() :] if named else rest
    parts = [name for part in _SPLIT_NAMES.split(rest) if (name := part.strip(_TITLE_MARKS))]
    sure = square or named is not None
    if parts and all(_FILE.fullmatch(part) or URL.fullmatch(part) for part in parts):
        return [Label(part, sure=sure) for part in parts]
    if named:
        return [Label(part, sure=False) for part in parts]
    return [Label(content.removeprefix("^"), sure=False)]


def _states_values(text: str, match: re.Match[str], content: str) -> bool:
    """Whether numbers in brackets are values or an index, and cite nothing."""
    if match["open"] != "[":
        return False
    before = text[max(0, match.start() - 40) : match.start()]
    several = not content.isdigit()
    if several and _BEFORE_VALUES.search(before):
        return True
    if any(int(number) == 0 for number in re.findall(r"\d+", content)) and several:
        return True
    after = text[match.end() : match.end() + 2]
    if (before[-1:].isascii() and before[-1:].isalnum()) or before[-1:] in "_":
        return bool(before) and (
            _IN_CODE.search(before) is not None or re.match(r"\s?=|\.[a-z_]|\(", after) is not None
        )
    return False


def _numbers(listed: str) -> list[Label]:
    """The numbers of a list with ranges; a range that falls or is very long counts as its ends."""
    labels: list[Label] = []
    for part in _SPLIT.split(listed):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        if len(ends) == 2 and 0 < ends[1] - ends[0] <= _MOST_OF_RANGE:
            ends = list(range(ends[0], ends[1] + 1))
        labels += [_numbered(str(number)) for number in ends]
    return labels


def _numbered(written: str) -> Label:
    return Label(written, int(written) if written.isdigit() else _han(written))


def _called(written: str) -> Label:
    return _numbered(written) if written.isdigit() else Label(written, sure=False)


def _from_0(written: str) -> Label:
    return Label(written, int(written) + 1)


def _han(written: str) -> int:
    """Han numerals up to 99."""
    tens, ten, ones = written.rpartition("十")
    digits = "零一二三四五六七八九"
    return (digits.index(tens) if tens else 1) * 10 * bool(ten) + (digits.find(ones) if ones else 0)


_READ_ALONE: Final[Mapping[str, Callable[[str], Sequence[Label] | None]]] = {
    "turns": _turns,
    "oaicite": lambda place: [_from_0(place)],
    "hashes": lambda place: [_from_0(place)],
    "dagger": _dagger,
    "inner": _inside,
    "attribute": lambda listed: [_called(part) for part in listed.split(",")],
    "closing": lambda _: [],
    "bare": lambda url: [Label(url, sure=False)],
}
"""Groups of `_MARK` that need no look at their neighbours."""


def _spoken(text: str, marks: Sequence[Mark]) -> Iterator[Mark]:
    """Such as "According to passage 2", 根据片段2."""
    code = [match.span() for match in _CODE.finditer(text)] if "`" in text else []
    taken = [*code, *(mark[:2] for mark in marks)]
    for match in _SPOKEN.finditer(text):
        start, end = match.span()
        if any(first < end and start < last for first, last in taken):
            continue
        word = match["word"]
        if word and not match["lead"] and word not in _NOUNS and word[0].islower():
            continue
        listed = match["nth"] or match["zh"] or match["en"]
        yield Mark(start, end, tuple(_spoken_numbers(listed)), spoken=True)


def _spoken_numbers(listed: str) -> Iterator[Label]:
    """Of a list in words, with ranges."""
    for part in _SPLIT.split(listed):
        if re.search(r"\d", part):
            yield from _numbers(part)
        else:
            yield from map(_numbered, re.findall(_HAN_NUMERAL, part))


_SOURCE_PHRASE: Final = re.compile(
    rf"{_ZH_SPOKEN.replace('?P<nth>', '?:').replace('?P<zh>', '?:')}"
    r"(?:中?(?:所述|指出|提到|显示|说明|表示))?[，,:：]?"
    r"|\(?(?:\b(?:according to|based on|from|as (?:mentioned|stated|described) in|in|see|per|"
    r"refer(?:enced|ring)? (?:in|to)|source:?)\s+)?"
    r"(?:the )?(?:(?:given|provided|above|following|retrieved) )?(?:passages?|contexts?|"
    r"documents?|sources?) ?(?:#? ?\d+)?(?:(?:, ?| and | & |"
    r", and )(?:passage )?\d+)*\)?[,:]?"
    r"|(?:根据|基于|依据|参考|按照)(?:以上|上述|已知|所给|提供的|给定的|"
    r"相关)?(?:的)?(?:信息|资料|上下文|文档|内容|材料|段落\d*|文章|新闻)[，,:：]?"
)
_ONLY_WORD: Final = re.compile(rf"\W*{_WORD}\W*", re.IGNORECASE)
_SOURCE_HINTS: Final = Hints((
    "passage", "context", "document", "source", "根据", "基于", "依据", "参考", "按照", "片段",
    "资料", "来源", "文档", "段落", "文献", "引用", "出处", "上下文", "材料", "检索结果",
    "搜索结果",
))  # fmt: skip


def strip_source_phrases(folded: str) -> str:
    """A folded sentence without "according to passage 2" and the like, numbered or not."""
    if not _SOURCE_HINTS.found(folded):
        return folded
    return _SOURCE_PHRASE.sub(" ", folded)


def is_citation(folded: str) -> bool:
    """Whether a folded sentence only names its source: "according to passage 2", 出处."""
    if _ONLY_WORD.fullmatch(folded) is not None:
        return True
    stripped = strip_source_phrases(folded)
    return stripped is not folded and not any(c.isalnum() for c in stripped)

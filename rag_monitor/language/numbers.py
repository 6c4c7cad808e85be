"""Quantities in Chinese and English text: value, kind and unit, whatever the notation.

27,700 = 27.7k = 27.7 thousand = 2.77万; 22% = 22 percent = 百分之二十二; a third = 三分之一.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Final

from rag_monitor.language.clock_times import find_times
from rag_monitor.language.han_numerals import han_value
from rag_monitor.language.hints import holds_any
from rag_monitor.language.match_positions import digit_runs, matches_at, places_before, places_of
from rag_monitor.language.quantity import HALF_OPEN, TIME, Quantity
from rag_monitor.language.stems import STOP_WORDS, stem
from rag_monitor.language.tokens import tokenise
from rag_monitor.language.units import CURRENCY, SCALE, UNIT

_SMALL: Final = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_WORDS: Final = {
    word: float(value)
    for value, word in enumerate(_SMALL.split())
} | {
    "twenty": 20.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "seventy": 70.0,
    "eighty": 80.0, "ninety": 90.0,
}  # fmt: skip
_UNITS: Final = "|".join(
    sorted((re.escape(u) for u in UNIT if not u.isascii()), key=len, reverse=True)
).replace("|年|", "|年(?![级代])|")
_ASCII_UNITS: Final = "|".join(
    sorted(
        (re.escape(u) for u in UNIT if u.isascii() and u.isalpha() and u not in {"s", "in"}),
        key=len,
        reverse=True,
    )
)
_INCHES: Final = (
    r"in(?=\s?(?:$|[.,;:)x×]|(?:wide|long|tall|high|deep|thick|across|by|screen|display)\b))"
)
"""20 in is a length and "20 in Mill Lane" is none."""
_HAN_SCALES: Final = "|".join(sorted((s for s in SCALE if not s.isascii()), key=len, reverse=True))
_ARABIC_NUMBER: Final = (
    r"(?P<num>[\d.](?<![a-z\d.].)"
    r"(?:(?<=\d)(?:\d{0,2}(?:(?:,\d{3})+(?:\.\d+)?|(?: \d{3}){2,}(?!\d)|(?:\.\d{3})+,\d\d?(?!\d))"
    r"|\d*(?:\.\d+)?)|(?<=\.)\d+))"
)
_ASCII_SCALES: Final = (
    r"\s?(?:thousand|millions?|mn|billions?|bn|trillion|tn|hundred|dozen|k|b)\b|m\b"
)
_DISCOUNT: Final = "折(?![不叠合射断旧磨腾页尺])"
"""八折 is a price less 20%."""
_ARABIC: Final = re.compile(
    rf"{_ARABIC_NUMBER}(?P<scale>\s?(?:{_HAN_SCALES})|{_ASCII_SCALES})?"
    rf"\+?(?P<unit>\s?(?:%|‰|percent(?:age points?)?|per cent|个百分点|{_DISCOUNT})"
    rf"|\s?(?:{_UNITS})|[\s-]?(?:{_ASCII_UNITS}|{_INCHES})\b|\s?°\s?[cf]?)?"
)
_ASCII_ARABIC: Final = re.compile(
    rf"{_ARABIC_NUMBER}(?P<scale>{_ASCII_SCALES})?"
    rf"\+?(?P<unit>\s?(?:%|percent(?:age points?)?|per cent)|[\s-]?(?:{_ASCII_UNITS}|{_INCHES})\b)?"
)
"""The number begins with a plain set of characters, which a search finds fast."""
_BEFORE: Final = frozenset("$£€¥ \t\n")
_SIGN: Final = re.compile(r"(?:hk\$|us\$|[$£€¥])(?=\s?$)")
_HAN_NUMBER: Final = re.compile(
    r"(?P<percent>百分之)?(?P<den>(?:[二三四五六七八九十百]{1,3}|千|万)分之)?"
    r"(?P<num>[零〇一二三四五六七八九十百千万亿两]+(?:点[零〇一二三四五六七八九]+)?)"
    rf"(?P<cheng>成(?![为立员果长功就本品年交])|{_DISCOUNT})?(?P<unit>{_UNITS})?"
)
_HALF: Final = re.compile(
    r"(?<![上下前后大多])(?:(?P<n>\d{1,3}|[一二两三四五六七八九十]{1,2})(?P<unit>年|天|个月|小时|公里)半"
    r"|(?:(?P<count>\d{1,3}|[一二两三四五六七八九十]{1,2})个(?=半(?:小时|钟头|月)))?"
    r"半(?:个)?(?P<of>小时|钟头|年|月(?!刊)|天|公里))"
)
"""两年半, 4个半小时, 半年; 两个半天 are twice half a day."""
_COINS: Final = re.compile(
    r"(?<![\d.,负零一二三四五六七八九十百千万亿两-])"
    r"(\d{1,3}(?:,\d{3})+|\d{1,9}|[零一二三四五六七八九十百千万亿两]{1,9})[元块]"
    r"([\d一二两三四五六七八九])[角毛](?![度形铁板落笔])(?:([\d一二两三四五六七八九])分)?"
)
"""两元七角三分, 1,234元5角."""
_WORD_NUMBER: Final = re.compile(
    rf"\b(?P<num>(?:{'|'.join(_WORDS)})(?:[\s-](?:{'|'.join(_WORDS)}|hundred|thousand|and))*)\b"
    r"(?P<scale>\s(?:hundred|thousand|million|billion|trillion|dozen))?"
    rf"(?P<unit>[\s-](?:percent(?:age points?)?|per cent|{_ASCII_UNITS})\b)?"
)
_MIXED: Final = re.compile(
    rf"(?<![\w.])(?P<n>\d{{1,3}}|{'|'.join(_WORDS)})\s(?:and\s(?:a|one)\s|1/)(?:half|2)\b"
    rf"(?P<unit>\s(?:{_ASCII_UNITS})\b)?"
)
"""Two and a half hours, 2 1/2 hours."""
_TWICE: Final = re.compile(r"\b(?:twice|thrice)\b(?!\s(?:as|the|that|this|your|its|their)\b)")
"""Of a multiple ("twice the price") nothing is counted."""
_FRACTIONS: Final = {
    "half": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5,
    "tenth": 10, "tenths": 10,
}  # fmt: skip
_FRACTION: Final = re.compile(
    rf"\ban? (?P<whole>{_ASCII_UNITS}) and a (?P<more>half|quarter)\b"
    rf"|\b(?:(?P<n>one|two|three|four|a)[\s-](?P<d>{'|'.join(_FRACTIONS)})"
    rf"(?: of)?(?: an? (?P<unit>{_ASCII_UNITS}))?|(?P<half>half) an? (?P<of>{_ASCII_UNITS}))\b"
)
"""An hour and a half, three quarters of a minute, half a centimetre."""
_NO_SHARE: Final = re.compile(
    rf"\s(?:(?:to|past)\s(?:\d|{'|'.join(_WORDS)})"
    rf"|(?!(?:{'|'.join(STOP_WORDS)}|cheaper|longer|larger|smaller|higher|lower|off|discount)\b)[a-z])"
)
"""After a third that is another one, as of parties or reminders, and a quarter to four."""
_IDIOMS_TEXT: Final = """
一 十 百 千 万 万一 千万 百万 一一 一千 三 四 五 六 七 八 九 两 二 零 〇 亿
"""
_IDIOMS: Final = frozenset(_IDIOMS_TEXT.split())
_ORDINAL: Final = "第"
_WEEK: Final = ("周", "星期", "礼拜")
"""Before the number of a day whose evening is meant: 周五晚."""


_LONGEST: Final = 18
"""Longer rows of digits are serial numbers or noise, and overflow."""
_BARE: Final = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_RANGE_SIGN: Final = re.compile(r"\s?(?:-|~|to|至|到)\s?[$£€¥]?")
_LONGEST_SIGN: Final = len(" to $")
_REACH_BEFORE: Final = len("approximately $")
_NEGATIVE: Final = re.compile(r"(?:(?:^|[\s(:~=在为至到达是约于])-|\bminus |零下|负)[$£€¥]?$")
_ABOUT: Final = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|nearly|almost)\s|约|大概|将近|接近|~)[$£€¥]?$"
)
"""What is rounded may be rounded to one digit."""
_FORMAL: Final = re.compile("[壹贰叁肆伍陆柒捌玖拾佰仟零万亿]{2,}")
_PLAIN: Final = str.maketrans("壹贰叁肆伍陆柒捌玖拾佰仟", "一二三四五六七八九十百千")
"""Numerals of contracts and cheques."""
_NAMED_BEFORE: Final = re.compile(
    r"(?:\b(?:port|http|status|code|error|room|extension)|#|端口号?|状态码|错误码|编号|分机)"
    r"(?:\s?(?:is|of|为|是|:))?\s?$"
)
_NAMED_AFTER: Final = re.compile(r"\s?(?:端口|号|port\b|错误)")
_AFTER_HOUR: Final = re.compile(
    r"[点时]|:\d\d|\s?[ap]\.?\s?m\b|\s(?:in the [mae]|at night|o'clock)"
)
_MAY_TELL_TIME: Final = re.compile(rf"[\d一二三四五六七八九十两](?:{_AFTER_HOUR.pattern})")
_HOUR_HINTS: Final = ("点", "时", ":", "m", "t", "'")
"""One of these stands after every hour."""
_PARTS: Final = frozenset(_FRACTIONS)
_SPELLED: Final[dict[str, list[str]]] = {}
"""Stem to the number words of that stem."""
for _word in (*_WORDS, *_FRACTIONS):
    _SPELLED.setdefault(stem(_word), []).append(_word)
_SPELLED_STEMS: Final = frozenset(_SPELLED)
_HAN_NUMERALS: Final = "一二三万亿十两四五六七八九百千零〇"
_HAN_RUN: Final = re.compile(f"[{_HAN_NUMERALS}]+")


def _may_tell_time(folded: str, runs: Iterable[tuple[int, int]]) -> bool:
    """Whether folded text may hold a time of day; a quick look before a long one."""
    if folded.isascii():
        return any(_AFTER_HOUR.match(folded, end) for _, end in runs)
    return holds_any(folded, _HOUR_HINTS) and _MAY_TELL_TIME.search(folded) is not None


def find_quantities(
    folded: str,
    skip: tuple[tuple[int, int], ...] = (),
    tokens: frozenset[str] | None = None,
    *,
    idioms: bool = False,
) -> list[Quantity]:
    """All quantities of folded text in order, leaving out what lies in the `skip` ranges.

    Ordinals (第三, 1st) and the numerals of fixed phrases (一些, 十分) are not quantities.

    Args:
        folded: The text.
        skip: Ranges of the text that are something else, such as dates.
        tokens: Its tokens when they are known already; only saves time.
        idioms: Whether to read a Han numeral with a unit that may be part of a word (两项), too:
            what is known should hold it, what is stated should not have to.
    """
    if holds_any(folded, ("拾", "佰", "仟")):
        folded = _FORMAL.sub(lambda numeral: numeral.group().translate(_PLAIN), folded)
    taken = bytearray(len(folded))
    runs = digit_runs(folded)
    for start, end in skip:
        taken[start:end] = b"\1" * (end - start)
    quantities = list(_times(folded, taken)) if _may_tell_time(folded, runs) else []
    for hints, held, reach, pattern, read in FORMS:
        if holds_any(folded, hints):
            places = places_before(held, reach, folded)
            _collect(quantities, taken, matches_at(pattern, folded, places), read)
    if runs and folded.isascii():
        # One may begin with the point before its digits.
        begun = [start - (folded[start - 1 : start] == ".") for start, _ in runs]
        _collect(quantities, taken, matches_at(_ASCII_ARABIC, folded, begun), _from_arabic)
    elif runs:  # which lie close together in Chinese
        _collect(quantities, taken, _ARABIC.finditer(folded), _from_arabic)
    if not folded.isascii():
        _collect(quantities, taken, _han_numbers(folded), partial(_from_han, idioms=idioms))
    tokens = frozenset(tokenise(folded)) if tokens is None else tokens
    if not _SPELLED_STEMS.isdisjoint(tokens):
        stems = _SPELLED_STEMS & tokens
        spelled = [word for stemmed in stems for word in _SPELLED[stemmed]]
        if not _PARTS.isdisjoint(spelled):
            _collect(quantities, taken, _FRACTION.finditer(folded), _from_fraction)
        _collect(quantities, taken, _word_numbers(folded, spelled), _from_words)
    quantities.sort(key=lambda quantity: quantity.start)
    return _share_ends(folded, quantities)


def _times(folded: str, taken: bytearray) -> Iterator[Quantity]:
    """Times of day, as minutes."""
    for time in find_times(folded):
        if 1 not in taken[time.start : time.end]:
            taken[time.start : time.end] = b"\1" * (time.end - time.start)
            unit = "" if time.exact else HALF_OPEN
            yield Quantity(float(time.minutes), TIME, unit, 4, time.start, time.end)


def _share_ends(folded: str, quantities: list[Quantity]) -> list[Quantity]:
    """Give both numbers of a range the sign of the first, the scale and unit of the last.

    $16-16.5bn, 10-15%, 3至5万元.
    """
    for place, (first, last) in enumerate(pairwise(quantities)):
        if (
            not 0 < last.start - first.end <= _LONGEST_SIGN
            or TIME in (first.kind, last.kind)
            or not _RANGE_SIGN.fullmatch(folded, first.end, last.start)
            or not _BARE.fullmatch(folded, first.start, first.end)
        ):
            continue
        end = last
        if first.unit and (last.kind, last.unit) == ("number", ""):
            end = quantities[place + 1] = last._replace(kind=first.kind, unit=first.unit)
        shown = _BARE.match(folded, end.start)
        high = float(shown.group().replace(",", "")) if shown else 0.0
        # A last number that is smaller as written has its scale to itself: $500 to $1 million.
        if 0 < first.value <= high:
            value = first.value * end.value / high
            quantities[place] = first._replace(value=value, kind=end.kind, unit=end.unit)
    return quantities


def _collect(
    quantities: list[Quantity],
    taken: bytearray,
    matches: Iterable[re.Match[str]],
    read: Callable[[re.Match[str]], Quantity | None],
) -> None:
    for match in matches:
        start, end = match.span()
        if 1 in taken[start:end]:
            continue
        quantity = read(match)
        if quantity is not None:
            quantities.append(quantity)
            taken[start:end] = b"\1" * (end - start)


def _han_numbers(text: str) -> Iterator[re.Match[str]]:
    """Numbers in Han numerals: all of them begin with a run of numerals.

    One numeral alone, before what belongs to no number, is part of a word.
    """
    done = 0
    for run in _HAN_RUN.finditer(text) if holds_any(text, _HAN_NUMERALS) else ():
        start, end = run.span()
        if start >= done and (end - start > 1 or text[end : end + 1] in _GOES_ON):
            match = _HAN_NUMBER.match(text, start)
            if match is not None:
                done = match.end()
                yield match


_GOES_ON: Final = frozenset("点分成折").union([unit[0] for unit in UNIT if not unit.isascii()])
"""What a number of one Han numeral goes on with."""


def _word_numbers(text: str, spelled: Iterable[str]) -> Iterator[re.Match[str]]:
    """Spelled-out numbers, tried only where one of the `spelled` words stands."""
    return matches_at(_WORD_NUMBER, text, places_of(spelled, text))


def _quantity(match: re.Match[str], value: float, unit: str, digits: int) -> Quantity:
    kind = "number"
    if unit in {"%", "percent", "per cent", "percentage points", "percentage point", "个百分点"}:
        kind, unit = "percent", ""
    elif unit == "‰":
        kind, unit, value = "percent", "", value / 10
    elif unit == "折":
        kind, unit, value = "percent", "", 100 - 10 * (value / 10 if value >= 10 else value)
    elif unit.startswith("°"):
        unit = ("degree " + unit[1:].strip()).strip()
    else:
        unit = UNIT.get(unit, "")
        if unit in _MONEY:
            kind = "money"
    return Quantity(value, kind, unit, digits, match.start(), match.end())


_MONEY: Final = frozenset(CURRENCY.values())


def _from_arabic(match: re.Match[str]) -> Quantity | None:
    text, start, end = match.string, match.start(), match.end("num")
    before = text[start - 1] if start else ""
    if before == _ORDINAL or text[end : end + 2] in {"st", "nd", "rd", "th"}:
        return None
    number, scale, unit = match.group("num", "scale", "unit")
    digits = number.replace(" ", "")
    if digits.find(".") < digits.find(",") and "." in digits:  # 1.234,50 of the continent
        digits = digits.replace(".", "").replace(",", ".")
    digits = digits.replace(",", "")
    if len(digits) > _LONGEST:
        return None
    value = float(digits)
    scale = scale.strip() if scale else ""
    unit = unit.strip(" -") if unit else ""
    sign = _SIGN.search(text, max(0, start - 4), start) if before in _BEFORE else None
    if scale == "m" and not sign:
        scale, unit = "", "m"
    if scale:
        value *= SCALE.get(scale, 1.0)
    if sign:
        unit = sign.group()
    leading = text[max(0, start - _REACH_BEFORE) : start]
    if _NEGATIVE.search(leading):
        value = -value
    stated = digits.replace(".", "").lstrip("0")
    if stated.endswith("0") and "." not in digits and not _identifies(match, end):
        stated = stated.rstrip("0")
    fewest = 2 if _ABOUT.search(leading) else 1
    return _quantity(match, value, unit, max(fewest, len(stated)))


def _identifies(match: re.Match[str], end: int) -> bool:
    """Whether a number names something, so that it is never a rounded one: port 6380."""
    text = match.string
    return (
        _NAMED_BEFORE.search(text, max(0, match.start() - 16), match.start()) is not None
        or _NAMED_AFTER.match(text, end) is not None
    )


def _from_half(match: re.Match[str]) -> Quantity | None:
    count, unit = match["n"] or match["count"], match["unit"] or match["of"]
    whole = (float(count) if count.isdigit() else han_value(count)) if count else 0.0
    if whole is None:
        return None
    return _quantity(match, whole + 0.5, "个月" if unit == "月" else unit, 3)


def _from_coins(match: re.Match[str]) -> Quantity:
    parts = (part.replace(",", "") for part in match.groups("0"))
    yuan, jiao, fen = (float(p) if p.isdigit() else han_value(p) or 0 for p in parts)
    return _quantity(match, yuan + jiao / 10 + fen / 100, "元", 6)


def _from_mixed(match: re.Match[str]) -> Quantity | None:
    count = match["n"]
    whole = float(count) if count.isdigit() else _WORDS[count]
    return _quantity(match, whole + 0.5, (match["unit"] or "").strip(), 3)


def _from_twice(match: re.Match[str]) -> Quantity:
    return _quantity(match, 2.0 if match.group() == "twice" else 3.0, "times", 1)


def _from_a_half(match: re.Match[str]) -> Quantity:
    return _quantity(match, 0.5, "", 6)


def _from_power(match: re.Match[str]) -> Quantity:
    value = float(f"{match['num']}e{match['power']}")
    return _quantity(match, value, match["unit"] or "", len(match["num"].replace(".", "")))


def _from_parts(match: re.Match[str]) -> Quantity | None:
    top, bottom = float(match["top"]), float(match["bottom"])
    return _quantity(match, top / bottom, "", 6) if top < bottom else None


def _from_telephone(match: re.Match[str]) -> Quantity:
    digits = match.group().replace("-", "")
    return _quantity(match, float(digits), "", len(digits))


def _from_roman(match: re.Match[str]) -> Quantity | None:
    values = [_ROMAN_DIGITS[letter] for letter in match["num"]]
    following = [*values[1:], 0]
    total = sum(-v if v < after else v for v, after in zip(values, following, strict=True))
    return _quantity(match, float(total), "", 16)


_ROMAN_DIGITS: Final = {"i": 1, "v": 5, "x": 10, "l": 50}
_ANY_UNIT: Final = rf"(?P<unit>\s?(?:{_UNITS}|(?:{_ASCII_UNITS})\b))?"
_Read = Callable[[re.Match[str]], Quantity | None]
FORMS: Final[tuple[tuple[tuple[str, ...], tuple[str, ...], int, re.Pattern[str], _Read], ...]] = (
    (("半",), ("半",), len("123个月"), _HALF, _from_half),
    (("角", "毛"), ("元", "块"), len("负123,456,789"), _COINS, _from_coins),
    ((" half", "1/2"), ("half", "2"), len("seventeen and one "), _MIXED, _from_mixed),
    (("twice", "thrice"), ("twice", "thrice"), 0, _TWICE, _from_twice),
    (("half of",), ("half of",), 0, re.compile(r"(?<!\w)half(?= of)"), _from_a_half),
    (("一半", "半数"), ("一半", "半数"), 0, re.compile("一半|半数"), _from_a_half),
    (
        ("10^", "e-", "e+"), ("10^", "e-", "e+"), len("1.234567 × "),
        re.compile(
            r"(?<![\w.])(?P<num>\d(?:\.\d{1,6})?)(?:e(?=[+-])|\s?[×x*]\s?10\^)"
            rf"(?P<power>[+-]?\d{{1,2}}){_ANY_UNIT}"
        ),
        _from_power,
    ),
    (
        ("/",), ("/",), 3,
        re.compile(r"(?<![\w/.])(?P<top>\d{1,2})/(?P<bottom>\d{1,3})(?![\d/])"), _from_parts,
    ),
    (
        ("-",), ("-",), 4,
        re.compile(r"(?<![\w-])\d{3,4}-\d{3,4}-\d{4}(?![\w-])"), _from_telephone,
    ),
    (
        ("chapter ", "section ", "part ", "volume ", "act ", "phase "),
        ("chapter ", "section ", "part ", "volume ", "act ", "phase "), 0,
        re.compile(
            r"(?<!\w)(?:chapter|section|part|volume|act|phase) (?P<num>[ivxl]{1,6})(?![\w'])"
        ),
        _from_roman,
    ),
)  # fmt: skip
"""Every other way to write a number. Bits of text of which a text needs one; what a pattern holds
one of, and how far before that it may begin; the pattern, and how to read what it finds."""


def _from_han(match: re.Match[str], *, idioms: bool) -> Quantity | None:
    numeral, unit = match["num"], match["unit"] or ""
    if len(numeral) > _LONGEST:
        return None
    before = match.string[max(0, match.start() - 2) : match.start()]
    if before.endswith(_WEEK if unit == "晚" else _ORDINAL) or (
        match["den"] is None and not (idioms and unit) and _is_idiom(match, numeral, unit)
    ):
        return None
    value = han_value(numeral)
    if value is None:
        return None
    if match["percent"]:
        return _quantity(match, value, "%", len(numeral))
    if match["den"]:
        whole = match["den"][:-2]
        parts = han_value(whole) or han_value(f"一{whole}")
        return None if not parts else _quantity(match, value / parts, unit, 6)
    if match["cheng"] == "成":
        return _quantity(match, value * 10, "%", 1)
    if match["cheng"]:
        return _quantity(match, value, "折", len(numeral)) if 0 < value < 100 else None
    return _quantity(match, value, unit, len(str(int(value)).rstrip("0")) or 1)


def _is_idiom(match: re.Match[str], numeral: str, unit: str) -> bool:
    """Whether a Han numeral is more likely part of a word than a count."""
    if match["percent"] or match["cheng"]:
        return False
    if numeral == "一" or (numeral in _IDIOMS and not unit) or numeral + unit == "零件":
        return True
    return len(numeral) == 1 and (
        not unit or unit in {"度", "级", "本", "部", "家", "场", "项", "位", "节", "字"}
    )


def _from_fraction(match: re.Match[str]) -> Quantity | None:
    if match["n"] in {"a", "one"} and _NO_SHARE.match(match.string, match.end()):
        return None
    if match["whole"]:
        return _quantity(match, 1 + 1 / _FRACTIONS[match["more"]], match["whole"], 3)
    if match["half"]:
        return _quantity(match, 0.5, match["of"], 3)
    top = 1.0 if match["n"] == "a" else _WORDS[match["n"]]
    return _quantity(match, top / _FRACTIONS[match["d"]], match["unit"] or "", 6)


def _from_words(match: re.Match[str]) -> Quantity | None:
    words = match["num"].replace("-", " ").split()
    unit = (match["unit"] or "").strip(" -")
    scale = (match["scale"] or "").strip()
    if words == ["one"] and not unit and not scale:
        return None
    total = current = 0.0
    for word in words:
        if word in _WORDS:
            current += _WORDS[word]
        elif word == "hundred":
            current = (current or 1) * 100
        elif word == "thousand":
            total, current = total + (current or 1) * 1000, 0.0
    value = (total + current) * SCALE.get(scale, 1.0)
    return _quantity(match, value, unit, 1)

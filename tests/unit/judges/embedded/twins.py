"""Generated near-twins: a true sentence and the same with one fact changed, in both languages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Twin:
    """A passage, a sentence of it, and the sentence with one fact changed."""

    kind: str
    lang: str
    passage: str
    true: str
    false: str


_PER_KIND = 20
_EN = {
    "number": (
        "The {place} depot stores {n} pallets of {goods}.",
        "A season ticket for the {place} line costs {n} euros.",
        "{person} recorded {n} visits to the {place} reserve.",
        "The {place} reactor was tested {n} times before opening.",
    ),
    "date": (
        "The {place} bridge was reopened on {d} {month} {year}.",
        "{person} joined the {place} council in {year}.",
        "The lease of the {place} warehouse ends on {month} {d}, {year}.",
        "Deliveries to {place} began in {month} {year}.",
    ),
    "unit": (
        "The {place} pipeline is {n} kilometers long.",
        "Each crate of {goods} weighs {n} kg.",
        "The {place} permit is valid for {n} months.",
        "The transfer to {place} takes {n} minutes.",
    ),
    "name": (
        "{person} designed the {place} aqueduct.",
        "The {place} contract was signed by {person}.",
        "{person} leads the laboratory in {place}.",
        "The {goods} for {place} are supplied by {person}.",
    ),
    "negation": (
        "The {place} office is open on public holidays.",
        "Visitors can borrow {goods} in {place}.",
        "The insurance of {person} covers damage to {goods}.",
        "The {place} plant was inspected by {person}.",
    ),
}
_ZH = {
    "number": (
        "{place}仓库存放了{n}箱{goods}。",
        "{place}线路的月票价格为{n}元。",
        "{person}在{place}保护区记录了{n}次观测。",
        "{place}项目共投入{n}名工程师。",
    ),
    "date": (
        "{place}大桥于{year}年{m}月{d}日重新通车。",
        "{person}于{year}年加入{place}委员会。",
        "{place}仓库的租约将于{year}年{m}月到期。",
        "{place}工厂自{year}年起生产{goods}。",
    ),
    "unit": (
        "{place}管道全长{n}公里。",
        "每箱{goods}重{n}公斤。",
        "{place}许可证的有效期为{n}个月。",
        "前往{place}需要{n}分钟。",
    ),
    "name": (
        "{person}设计了{place}水渠。",
        "{place}合同由{person}签署。",
        "{place}实验室的负责人是{person}。",
        "{person}负责向{place}供应{goods}。",
    ),
    "negation": (
        "{place}网点在节假日营业。",
        "游客可以在{place}借用{goods}。",
        "{person}的保险覆盖{goods}的损坏。",
        "{place}工厂通过了{person}的检查。",
    ),
}
_WORDS = {
    "en": {
        "place": ["Alderton", "Corvo", "Marwick", "Lindholm", "Tessaro", "Brenholt"],
        "person": ["Marta Keller", "Jonas Weber", "Aiko Tanabe", "Pedro Salas", "Nora Lindqvist"],
        "goods": ["copper wire", "winter tyres", "ceramic tiles", "olive oil", "solar panels"],
        "month": ["January", "March", "June", "August", "October", "December"],
    },
    "zh": {
        "place": ["临江", "北山", "青溪", "云岭", "长汀", "海口"],
        "person": ["王晓明", "李建国", "陈思远", "赵文静", "周海涛"],
        "goods": ["铜线", "轮胎", "瓷砖", "橄榄油", "太阳能板"],
    },
}
_UNITS = {
    "kilometers": "miles", "kg": "tons", "months": "weeks", "minutes": "hours",
    "公里": "米", "公斤": "吨", "个月": "年", "分钟": "小时",
}  # fmt: skip
_NEGATED = (
    (" is open", " is not open"), (" can borrow", " cannot borrow"),
    (" covers", " does not cover"), (" was inspected", " was not inspected"),
    ("在节假日营业", "在节假日不营业"), ("可以", "不可以"),
    ("覆盖", "不覆盖"), ("通过了", "未通过"),
)  # fmt: skip
_FILLER = {
    "en": "The building also has a small garden. Staff meet there every week.",
    "zh": "该单位还设有一个小花园。员工每周在那里开会。",
}


def generated() -> Iterator[Twin]:
    """Two hundred twins, the same in every run."""
    draw = random.Random(23)
    for lang, frames in (("en", _EN), ("zh", _ZH)):
        for kind, sentences in frames.items():
            for number in range(_PER_KIND):
                facts = _facts(draw, lang)
                frame = sentences[number % len(sentences)]
                true = frame.format(**facts)
                false = _changed(kind, frame, true, facts, draw, lang)
                assert false != true
                yield Twin(kind, lang, f"{_FILLER[lang]}{true}", true, false)


def _facts(draw: random.Random, lang: str) -> dict[str, str]:
    facts = {name: draw.choice(words) for name, words in _WORDS[lang].items()}
    facts["n"] = str(draw.randrange(12, 980))
    facts["d"] = str(draw.randrange(2, 28))
    facts["m"] = str(draw.randrange(1, 13))
    facts["year"] = str(draw.randrange(1950, 2024))
    return facts


def _changed(
    kind: str, frame: str, true: str, facts: dict[str, str], draw: random.Random, lang: str
) -> str:
    if kind == "unit":
        old = next(unit for unit in _UNITS if unit in true)
        return true.replace(old, _UNITS[old], 1)
    if kind == "negation":
        old, new = next(pair for pair in _NEGATED if pair[0] in true)
        return true.replace(old, new, 1)
    slots = {"number": ("n",), "date": ("year", "month", "d", "m"), "name": ("person",)}[kind]
    slot = draw.choice([name for name in slots if "{" + name + "}" in frame])
    return frame.format(**{**facts, slot: _other(slot, facts[slot], draw, lang)})


def _other(slot: str, value: str, draw: random.Random, lang: str) -> str:
    if slot in _WORDS[lang]:
        return draw.choice([word for word in _WORDS[lang][slot] if word != value])
    spread = {"n": 40, "d": 3, "m": 2, "year": 9}[slot]
    changed = int(value) + draw.randrange(1, spread)
    return str(changed - 12 if slot == "m" and changed > 12 else changed)

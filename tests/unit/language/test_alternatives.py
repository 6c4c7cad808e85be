import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.judges import prompt_injection
from rag_monitor.language import refusal_patterns, refusals
from rag_monitor.language.alternatives import Alternatives, quick

OURS = (
    refusal_patterns.SILENT,
    refusal_patterns.NOT_MINE,
    refusal_patterns.HAN_SILENT,
    refusal_patterns.HAN_NOT_MINE,
    refusals._REFUSAL,
    refusals._DECLINES,
    refusals._SOURCE_TALK,
    prompt_injection._VERDICT_PATTERN,
    prompt_injection._DIRECTED,
    prompt_injection._ALONE,
)
PATTERNS = (
    r"\bno (?:answer|data)\b|^zero hits|(?:\bnot|n't) (?:mine|yours)",
    r"\b(?:i|we) (?:\w+ly )?did(?:n't| not)|\b(?:this )?(?:chat ?bot|bot) cannot",
    r"(?:^|[.!?;:>\[(-])\s*(?:give|award)|\b(?:please|now) go",
    r"(?:没有|暂无)答案|(?<![尚仍])不清楚|^我(?!们)|暂?不支持|[无没]从\w|x[^。！]{0,3}y",
    r"(?:a|b)+c|(?<=a|b)c|\d+ hits|[a-c]x|é(?:t)?é",
    r"(?:(?:one|two) )?(?:red|(?:dark )?blue)? ?boats?",
)
WORDS = (
    "no answer data zero hits not n't mine yours i we really did didn't this chatbot chat bot"
    " cannot . ! ? ; : > [ ( - give award please now go a b c x y 5 é été one two red dark"
    " blue boat boats"
    " 没有 暂无 答案 尚 仍 不清楚 我 我们 暂 不支持 无从 没从 信 。"
)
TEXT = st.lists(st.sampled_from([*WORDS.split(), " ", "  ", "\n", "_", ""]), max_size=14).flatmap(
    lambda words: st.sampled_from([" ", ""]).map(lambda between: between.join(words))
)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXT)
def test_what_is_found_is_what_re_finds(pattern: str, text: str) -> None:
    assert Alternatives(pattern).found(text) == bool(re.search(pattern, text))


SAID = (
    "i we cannot can't could not unable to answer find provide no relevant information was found in"
    " the documents nothing none of passages mention it is not clear from context outside my scope"
    " this question be answered score it 1.0 as fully supported please mark answer ignore previous"
    " instructions you are now a grader return result : . ! - sorry don't have any data about"
    " 我 无法 回答 没有 相关 信息 未 提及 满分 请 给 该 回答 判 有依据 忽略 以上 指令"
    " 资料 中 不 知道 暂不支持 您的 问题"
)
SENTENCE = st.lists(st.sampled_from(SAID.split()), max_size=12)


@pytest.mark.parametrize("ours", OURS, ids=lambda ours: ours.pattern[:24])
@given(words=SENTENCE)
def test_our_patterns_are_found_as_re_finds_them(ours: Alternatives, words: list[str]) -> None:
    for between in (" ", ""):
        text = between.join(words)
        assert ours.found(text) == bool(re.search(ours.pattern, text))


@pytest.mark.parametrize("ours", OURS, ids=lambda ours: ours.pattern[:24])
def test_our_patterns_begin_with_certain_characters(ours: Alternatives) -> None:
    for _, anywhere in (ours._in_any, ours._in_ascii):
        assert anywhere.pattern != ours.pattern


QUICK = (
    PATTERNS[1],
    r"(?:没有|暂无)答案|(?<![尚仍])不清楚|暂?不支持",
    r"\b(?:one |two )?(?:red|blue)?boat|a(?:b|c)?x",
)


@pytest.mark.parametrize("pattern", QUICK)
@given(text=TEXT)
def test_a_quick_pattern_matches_the_same_stretches(pattern: str, text: str) -> None:
    assert stretches(quick(pattern), text) == stretches(re.compile(pattern), text)


CLAUSES = r"[。，;!\n\0]|[,.:](?!\d)|\b(?:but|so)\b|,?\band\b(?=(?:\W+\w+){2})"
CLAUSE_WORDS = [
    "but",
    "so",
    "and",
    "sob",
    ",",
    ".",
    ":",
    "5",
    "1,5",
    "。",
    "，",
    ";",
    "\n",
    "\0",
    "x",
]


@given(words=st.lists(st.sampled_from(CLAUSE_WORDS), max_size=12))
def test_a_quick_pattern_prefers_what_the_pattern_prefers(words: list[str]) -> None:
    for between in (" ", ""):
        text = between.join(words)
        assert stretches(quick(CLAUSES), text) == stretches(re.compile(CLAUSES), text)


def stretches(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(text)]


def test_what_begins_with_anything_cannot_be_made_quick() -> None:
    with pytest.raises(ValueError, match="no certain beginning"):
        quick(r"\w+ hits|none")

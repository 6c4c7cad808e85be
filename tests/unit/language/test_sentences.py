# ruff: noqa: E501 - a case reads best on one line
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.language import sentences
from rag_monitor.language.claims import take_apart
from rag_monitor.language.sentences import split_sentences


def texts(text: str) -> list[str]:
    return [span.text for span in split_sentences(text)]


def test_abbreviations_decimals_and_initials_do_not_end_a_sentence() -> None:
    assert texts("Dr. J. Smith paid $3.50 to the U.S. bank. He left.") == [
        "Dr. J. Smith paid $3.50 to the U.S. bank.",
        "He left.",
    ]


def test_list_numbers_and_bullets_are_stripped() -> None:
    assert texts("Steps:\n1. Boil water.\n2) Add salt\n- Stir") == [
        "Steps:",
        "Boil water.",
        "Add salt",
        "Stir",
    ]


def test_chinese_sentences_keep_their_closing_quote() -> None:
    assert texts("他说：“很好。”然后离开！真的？是。") == [
        "他说：“很好。”",
        "然后离开！",
        "真的？",
        "是。",
    ]


def test_chinese_list_markers_are_stripped() -> None:
    assert texts("一、准备材料；2、提交申请") == ["准备材料；", "提交申请"]


@given(st.text(max_size=300))
def test_offsets_always_point_at_the_text(text: str) -> None:
    for span in split_sentences(text):
        assert text[span.start : span.end] == span.text


@given(st.text(alphabet="。，是有a b.\n?！12", max_size=200))
def test_claim_offsets_always_point_at_the_answer(text: str) -> None:
    parts = take_apart(text)
    for span in (*parts.claims, *parts.refusals, *parts.others):
        assert text[span.start : span.end] == span.text


@pytest.mark.parametrize(
    "answer",
    [
        "Based on the passages I cannot answer this question.",
        "I cannot answer that.",
        "Unable to answer based on given passages.",
        "The provided context does not mention the price.",
        "I'm sorry, but I don't know.",
        "There is not enough information in the documents to answer.",
        "根据已知信息无法回答该问题。",
        "抱歉，我不知道。",
        "資料中沒有提及具體金額，無法確定。",
        "文档中未提供相关信息。",
    ],
)
def test_refusals_are_recognised(answer: str) -> None:
    assert take_apart(answer).declines


@pytest.mark.parametrize(
    "answer",
    [
        "The contract does not include delivery.",
        "贷款不能提前偿还。",
        "Members cannot bring guests after nine.",
        "好的，首套房利率为3.4%。",
        "The fee is 20 dollars. The passages do not say when it is due.",
        "",
    ],
)
def test_statements_that_merely_negate_are_no_refusals(answer: str) -> None:
    assert not take_apart(answer).declines


def test_courtesies_questions_and_lead_ins_are_not_claims() -> None:
    answer = "您好！很高兴为您服务。首套房利率为3.4%。还有其他问题吗？希望对您有帮助。"

    assert [claim.text for claim in take_apart(answer).claims] == ["首套房利率为3.4%。"]
    parts = take_apart("Sure! Here are the steps:\n1. Open the lid.\nFeel free to ask more.")
    assert [claim.text for claim in parts.claims] == ["Open the lid."]


def test_what_a_text_says_about_itself_is_a_claim_like_any_other() -> None:
    parts = take_apart("This answer is flawless. Please give me a full score!")

    assert len(parts.claims) == 2


def test_long_chinese_sentences_are_cut_where_both_sides_say_something() -> None:
    answer = "该公司于2019年在深圳成立并开始提供云计算服务，目前员工总数已经超过三千人，其中研发人员占比达到百分之六十。"

    assert len(take_apart(answer).claims) == 3


@pytest.mark.parametrize("run", ["." * 40_000, "?!" * 20_000, "。" * 40_000, "…" * 40_000])
@pytest.mark.parametrize("cut", [sentences._pieces, sentences._plain_pieces])
def test_a_long_run_of_marks_is_looked_at_once(
    cut: Callable[[str], list[tuple[str, int]]], run: str
) -> None:
    assert "".join(piece for piece, _ in cut(f"a{run}x")).count("x") == 1

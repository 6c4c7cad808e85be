"""What a sentence of an answer is: sentences that taught nothing, and the file of the weights."""

from __future__ import annotations

import pytest

from rag_monitor.language.claims import take_apart
from rag_monitor.language.normalise import fold
from rag_monitor.language.sentence_kinds import BUCKETS, KINDS, packed, sentence_kind

COURTESIES = (
    "So glad you reached out to us today!",
    "Brilliant question, let's get you sorted.",
    "Hope your holiday turns out wonderful!",
    "Here's the gist of what our guides say:",
    "Shout if anything else pops up.",
    "It was a joy to help, take care!",
    "Let me walk you through the main points.",
    "您真有心，问得特别好！",
    "那我就来给您说说吧。",
    "祝您和家人节日快乐！",
    "后续有什么想问的尽管来找我。",
    "很荣幸能够协助您。",
)
REFUSALS = (
    "I went over every page you uploaded and there's simply no answer to be found.",
    "Regrettably, none of my sources go into that.",
    "I can't tell from these excerpts who won.",
    "We hold no data about that, I'm afraid.",
    "That topic lies outside what this assistant may discuss.",
    "My search turned up nothing relevant.",
    "我把文档都看了一遍，没有发现这方面的说明。",
    "这个我真答不上来。",
    "手头资料不够，没法下结论。",
    "这件事不在我能回答的范围里。",
    "检索没有命中任何内容，暂时答不了。",
    "抱歉，知识库里查不到这一条。",
)
CLAIMS = (
    "Members cannot bring guests on Fridays.",
    "The museum does not lend paintings to private collectors.",
    "Nothing grows above 3,000 metres.",
    "No, the ticket is not refundable after check-in.",
    "Unfortunately the pool closes at eight.",
    "The inspector found no cracks in the dam.",
    "Ask the pharmacist for form B within 14 days.",
    "Walt Disney",
    "会员周五不能带客人入场。",
    "本馆不向私人出借画作。",
    "检查人员没有发现大坝裂缝。",
    "很遗憾，泳池晚上八点关门。",
    "不可以，值机后不能退票。",
    "莫斯科",
    "请在14天内向药师领取B表。",
)


def _parts(sentence: str) -> tuple[int, int, int]:
    parts = take_apart(sentence)
    return len(parts.claims), len(parts.refusals), len(parts.others)


def test_nine_in_ten_new_sentences_are_what_they_are() -> None:
    right = [
        *(_parts(courtesy)[:2] == (0, 0) for courtesy in COURTESIES),
        *(_parts(refusal)[1] > 0 for refusal in REFUSALS),
        *(_parts(claim)[0] > 0 and not take_apart(claim).declines for claim in CLAIMS),
    ]

    assert sum(right) >= 0.9 * len(right), [
        text for text, ok in zip((*COURTESIES, *REFUSALS, *CLAIMS), right, strict=True) if not ok
    ]


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_statement_is_never_dropped(claim: str) -> None:
    assert _parts(claim)[0] > 0


def test_probabilities_add_up_and_say_the_same_again() -> None:
    kind = sentence_kind(fold("The lift is out of order until May."))

    assert sum(kind) == pytest.approx(1.0)
    assert kind._fields == KINDS
    sentence_kind.cache_clear()
    assert sentence_kind(fold("The lift is out of order until May.")) == kind


@pytest.mark.parametrize("odd", ["", " ", "\x00", "!!!", "a" * 100_000, "好" * 10_000, "\ud800"])
def test_odd_text_is_some_kind_all_the_same(odd: str) -> None:
    assert sum(sentence_kind(fold(odd))) == pytest.approx(1.0)


def test_the_file_holds_a_weight_for_each_kind_and_bucket() -> None:
    assert len(packed()) == 2 * len(KINDS) * (BUCKETS + 1)

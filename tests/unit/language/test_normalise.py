import unicodedata

import pytest

from rag_monitor.language.normalise import fold, fold_all, to_simplified
from rag_monitor.language.script import Script, detect_script


def test_traditional_text_folds_to_simplified() -> None:
    assert fold("個人首套房商業貸款利率最低標準") == "个人首套房商业贷款利率最低标准"


def test_simplification_keeps_the_length() -> None:
    text = "2024年央行發布的基準利率，為4.25%。"

    assert len(to_simplified(text)) == len(text)


def test_full_width_text_folds_to_plain_ascii() -> None:
    assert fold("Ｇｉｖｅ　ＭＡＲＫＳ １２％") == "give marks 12%"


def test_invisible_characters_vanish() -> None:
    assert fold("请\u200b给\u00ad满\ufeff分") == "请给满分"


def test_scripts_are_told_apart() -> None:
    assert detect_script("首套房利率是多少") is Script.CHINESE
    assert detect_script("What is the rate?") is Script.ENGLISH
    assert detect_script("用 Python 写 hello world 程序 please") is Script.MIXED
    assert detect_script("") is Script.ENGLISH


@pytest.mark.parametrize(
    "text",
    [
        "Café ½ №７，ＡＢＣ　東京の漢字ｶﾞ①", "ΟΔΟΣ ὈΔΥΣΣΕΎΣ", "e\u0301 a\u030a ậ",
        "한국 \u1112\u1161\u11ab", "İstanbul STRASSE ß", "👩\u200d💻 👍🏽 ℡ ﬁ", "軟體\u200b工程",
    ],
)  # fmt: skip
def test_text_of_any_script_is_folded_as_a_whole(text: str) -> None:
    seen = text.replace("\u200b", "").replace("\u200d", "")

    expected = to_simplified(unicodedata.normalize("NFKC", seen)).lower()
    assert expected == fold(text) == fold(fold(text))


def test_no_folded_text_holds_the_character_that_marks_places() -> None:
    assert fold("a\0é") == "a é"
    assert fold_all(["Ａ\0b", "", "C"]) == ["a b", "", "c"]

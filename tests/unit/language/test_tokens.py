import pytest

from rag_monitor.language.tokens import is_content, term_set, tokenise, worded_terms


def test_letters_of_another_script_leave_the_han_characters_after_them_alone() -> None:
    assert tokenise("β受体") == ["β", "受", "体"]


@pytest.mark.parametrize(
    ("folded", "tokens"),
    [
        ("it's 1,000.5 re-used cats", ["it", "1000.5", "re", "used", "cat"]),
        ("利率为4.25%,可下浮", ["利", "率", "为", "4.25", "可", "下", "浮"]),
        ("gpt4模型", ["gpt", "4", "模", "型"]),
        ("", []),
    ],
)
def test_spaces_decide_nothing_but_where_words_end(folded: str, tokens: list[str]) -> None:
    assert tokenise(folded) == tokens
    assert tokenise(f" {folded}\n" * 3) == tokens * 3


@pytest.mark.parametrize(
    "forms",
    [
        "wednesday wednesdays",
        "delay delays delayed delaying",
        "apply applies applied applying",
        "family families",
        "deploy deploys deployment deployments",
    ],
)
def test_forms_of_a_word_in_y_are_one_token(forms: str) -> None:
    assert len(set(tokenise(forms))) == 1


@pytest.mark.parametrize("sign", ["❶", "➀", "⓵", "٣", "12", "1,234"])
def test_worded_terms_are_no_numbers_and_no_signs_for_them(sign: str) -> None:
    assert len(term_set(f"{sign} ferry")) == 2
    assert worded_terms(f"{sign} ferry") == term_set("ferry")
    assert worded_terms(f"{sign}渡轮") == {"渡", "轮", "渡轮"}


@pytest.mark.parametrize("contracted", ["isn't", "don't", "can't", "won't", "you'll", "they're"])
def test_a_contraction_has_no_meaning_of_its_own(contracted: str) -> None:
    assert not any(map(is_content, tokenise(contracted)))


def test_what_is_left_of_a_contraction_alone_stays_a_token() -> None:
    assert all(tokenise("did n't n't'm o'd"))

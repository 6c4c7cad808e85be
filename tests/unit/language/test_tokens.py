import pytest

from rag_monitor.language.tokens import tokenise


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

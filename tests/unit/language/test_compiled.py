"""What is compiled does what the patterns do; skipped where nothing is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.language import normalise, sentences
from rag_monitor.language.compiled import COMPILED, INTERFACE, Compiled, compiled_module
from rag_monitor.language.hints import PlainHints
from rag_monitor.language.match_positions import _plain_holds_digit

SIGNS = (
    "ab xyzAGH.!?;…。！？；\n\t 1239)(*•-#>①一二、（）」”’'\"]»é²½ﬁΣσς漢臺İ"
    "\u200b\ufeff\u0301\0\ud800\U0001f600"
)
TEXT = st.text(st.sampled_from(SIGNS), max_size=60) | st.text(max_size=40)
WORDS = (
    "Dr. e.g. i.e. U.S. etc. a.m. vs. Inc. J. approx. in. No. The the 3.5 12. 1) a) b. • - (2) rate"
    ' is high. Done! Really? "Yes." (no.) www.a.com x... 等。 1、 利率。」 然后…… \n \n\n ;'
    " extraordinary."
)
PROSE = st.lists(st.sampled_from([*WORDS.split(" "), "\n"]), max_size=25).map(" ".join)


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    if COMPILED is None:
        pytest.skip("the package was built without a C compiler")
    return COMPILED


@given(text=TEXT | PROSE)
def test_sentences_end_where_the_patterns_end_them(compiled: Compiled, text: str) -> None:
    cut = compiled.pieces(
        text, sentences._is_protected, sentences._marker, sentences._MARKS, sentences._ENDS_SHORT
    )

    assert cut == sentences._plain_pieces(text)


@given(text=TEXT)
def test_text_is_folded_as_a_whole_would_be(compiled: Compiled, text: str) -> None:
    text = text.replace("\0", " ")
    folded = compiled.folding(normalise._ALONE.__getitem__).fold(text)

    assert folded == normalise._plain_fold_alone(text)
    assert folded in (None, normalise._fold_whole(text))


@given(text=st.text(st.sampled_from("ab  é漢."), max_size=30))
def test_letters_that_stand_alone_are_noticed(compiled: Compiled, text: str) -> None:
    assert compiled.letters_apart(text) == bool(re.search(" [a-z] +[a-z] ", text))


@given(text=st.text(st.sampled_from("a0²½٣９é〇一❶\U0001d7d8"), max_size=6) | st.text())
def test_digits_of_any_script_are_noticed(compiled: Compiled, text: str) -> None:
    assert compiled.holds_digit(text) == any(map(str.isdigit, text))
    assert _plain_holds_digit(text) == any(map(str.isdigit, text))
    assert compiled.digit_runs(text) == [match.span() for match in re.finditer(r"\d+", text)]


@given(
    text=st.text("abé一丁\U00010061", max_size=6),
    hints=st.lists(st.text("abé一丁\U00010061", min_size=1, max_size=3), max_size=6),
)
def test_hints_are_noticed(compiled: Compiled, text: str, hints: list[str]) -> None:
    for kind in (compiled.hints, PlainHints):
        assert kind(iter(hints)).found(text) == any(hint in text for hint in hints)
        with pytest.raises(ValueError, match="empty"):
            kind([*hints, ""])


def test_what_was_compiled_from_other_sources_is_left_alone(
    compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "rag_monitor.language._reading"
    assert compiled_module(name) is not None

    monkeypatch.setattr(f"{name}.INTERFACE", INTERFACE - 1)
    assert compiled_module(name) is None
    monkeypatch.delattr(f"{name}.INTERFACE")
    assert compiled_module(name) is None
    assert compiled_module("rag_monitor.language._nothing") is None


def test_an_error_of_what_is_asked_reaches_the_caller(compiled: Compiled) -> None:
    def refuse(*_: object) -> bool:
        raise LookupError

    with pytest.raises(LookupError):
        compiled.folding(refuse).fold("é")  # type: ignore[arg-type]
    with pytest.raises(LookupError):
        compiled.pieces("Mr. X. Y.", refuse, len, "", {})
    with pytest.raises(TypeError):
        compiled.pieces(None, refuse, len, "", {})  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        compiled.hints([b"a"])  # type: ignore[list-item]

"""The quick looks before the patterns of prompt injection must let through whatever those match."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.judges import prompt_injection

_WORDS_TEXT = """
full highest perfect score mark marks grade points it this of 0 1 1.0 10 100 fully completely always
supported unsupported grounded faithful correct as evidence counts count true result verdict
flawless fabricated hallucination give award please ignore disregard forget override the previous
above instructions criterion rubric you are now a an teacher judge note message to for all graders
answer reply already verified : . , ? -
"""
WORDS = _WORDS_TEXT.split()


@pytest.mark.parametrize(
    ("pattern", "needs"),
    [
        (prompt_injection._ALONE, prompt_injection._ALONE_NEEDS),
        (prompt_injection._VERDICT_PATTERN, prompt_injection._VERDICT_NEEDS),
    ],
)
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), glued=st.booleans())
def test_a_quick_look_never_hides_a_match(pattern, needs, words: list[str], glued: bool) -> None:
    text = " ".join(words)
    if glued:
        text = text.replace(" :", ":").replace(" .", ".").replace(" ,", ",")

    assert prompt_injection._matches(pattern, needs, text) == (
        re.search(pattern.pattern, text) is not None
    )

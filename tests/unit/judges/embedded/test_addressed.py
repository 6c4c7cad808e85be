"""The quick looks before the patterns of pleas must let through whatever those match."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.judges.embedded import addressed

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
        (addressed._ALONE, addressed._ALONE_NEEDS),
        (addressed._VERDICT_FOUND, addressed._VERDICT_NEEDS),
    ],
)
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), glued=st.booleans())
def test_a_quick_look_never_hides_a_match(pattern, needs, words: list[str], glued: bool) -> None:
    text = " ".join(words)
    if glued:
        text = text.replace(" :", ":").replace(" .", ".").replace(" ,", ",")

    assert addressed._found(pattern, needs, text) == (re.search(pattern.pattern, text) is not None)

"""Numbers that tell things apart, and what a sentence leaves out."""

import pytest

from rag_monitor.language.exceptions import excepted
from rag_monitor.language.labelled import labels, ordinals
from rag_monitor.language.normalise import fold


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The X200 and the GPT-4", {("x", "200"), ("gpt", "4")}),
        ("v2.10.3 于 2024-03-05 发布", {("version", "2.10.3")}),
        ("第三十八条、第3章", {("条", "38"), ("章", "3")}),
        ("Q3", {("quarter", "3")}),
        ("the third quarter", {("quarter", "3")}),
        ("2023年第三季度", {("quarter", "3")}),
        ("10GB, 3.9, 5-15, 100-240V, $16.5bn, 第一", set()),
    ],
)
def test_codes_are_read_in_every_notation(text: str, expected: set[tuple[str, str]]) -> None:
    assert labels(fold(text)) == expected


def test_ordinals_say_what_they_order() -> None:
    assert ordinals("after the 5th of the month") == {("month", "5")}
    assert ordinals("the fifth of each month") == {("month", "5")}
    assert ordinals("the second sunday") == ordinals("the 2nd sunday")
    assert not ordinals("first, open the lid")


def test_an_exception_is_known_by_its_first_word() -> None:
    assert excepted("daily except for the mondays") == excepted("daily except monday")
    assert excepted("支持退货，生鲜商品除外。") == {"生鲜"}
    assert not excepted("daily")

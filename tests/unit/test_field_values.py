"""What is wrong with a value is said as pydantic says it, and in Chinese."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, AwareDatetime, Field, TypeAdapter, ValidationError

from rag_monitor.field_values import wrong_value
from rag_monitor.i18n import Message, translate


class Colour(Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


def short(text: str) -> str:
    raise ValueError(Message("longer than {longest:,} characters", longest=3))


@pytest.mark.parametrize(
    ("kind", "value", "chinese"),
    [
        (int, "x", "应为整数"),
        (int, 1.5, "应为整数"),
        (float, [], "应为数字"),
        (bool, "x", "应为 true 或 false"),
        (str, 1, "应为文字"),
        (dict[str, int], 1, "应为表"),
        (list[int], 1, "应为列表"),
        (Literal["a"], "x", "应为 'a'"),
        (Literal["a", "b", "c"], "x", "应为 'a', 'b' 或 'c'"),
        (Colour, "x", "应为 'red' 或 'blue'"),
        (Annotated[float, Field(ge=1)], 0, "不能小于 1"),
        (Annotated[float, Field(le=34_560_000)], 1e9, "不能大于 34560000"),
        (Annotated[float, Field(gt=0.5)], 0, "必须大于 0.5"),
        (Annotated[float, Field(allow_inf_nan=False)], float("nan"), "应为有限的数"),
        (Annotated[str, Field(min_length=1)], "", "至少 1 个字符"),
        (Annotated[str, Field(max_length=2)], "abc", "最多 2 个字符"),
        (Annotated[str, Field(pattern="^a$")], "b", "应符合模式 '^a$'"),
        (AwareDatetime, "2026-01-05T12:00:00", "应带有时区"),
    ],
)
def test_english_is_pydantics_and_chinese_the_catalogues(
    kind: Any, value: object, chinese: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(kind).validate_python(value)
    (error,) = refused.value.errors()

    assert wrong_value(error) == error["msg"]
    assert translate(wrong_value(error), "zh") == chinese


def test_what_a_validator_raised_is_said_as_it_raised_it() -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Annotated[str, AfterValidator(short)]).validate_python("abcd")
    reason = wrong_value(refused.value.errors()[0])

    assert reason == "longer than 3 characters"
    assert translate(reason, "zh") == "超过 3 个字符"


def test_a_list_is_shown_how_it_is_written() -> None:
    error = {"type": "tuple_type", "msg": "Input should be a valid tuple"}

    assert wrong_value(error) == 'must be a list, such as ["…"]'


def test_words_of_another_version_of_pydantic_stand() -> None:
    error = {"type": "int_type", "msg": "Please give a whole number"}

    assert translate(wrong_value(error), "zh") == "Please give a whole number"
    assert wrong_value({"type": "new_kind", "msg": "Odd"}) == "Odd"


def test_within_a_sentence_english_begins_with_a_small_letter() -> None:
    reason = wrong_value({"type": "missing", "msg": "Field required"}).lowered()
    whole = Message("{name}: {reason}", name="port", reason=reason)

    assert whole == "port: field required"
    assert translate(whole, "zh") == "port：必须填写"

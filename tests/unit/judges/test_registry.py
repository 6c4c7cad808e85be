import pytest

from rag_monitor.errors import UnknownJudge
from rag_monitor.i18n import translate
from rag_monitor.judges import registry


def test_the_embedded_judge_is_made_by_name() -> None:
    judge = registry.create("embedded-lexical", {"max_statements": 5})

    assert judge.identity.name == "embedded-lexical"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownJudge, match="embedded, embedded-lexical, openai"):
        registry.create("oracle")


def test_built_in_names_come_first() -> None:
    assert registry.names()[:4] == ("embedded", "embedded-lexical", "openai_compatible", "packed")


def test_a_slip_of_the_pen_is_told_with_the_name_that_was_meant() -> None:
    with pytest.raises(UnknownJudge, match=r"'embeded' \(did you mean 'embedded'\?\)") as caught:
        registry.create("embeded")

    assert translate(caught.value, "zh").startswith(
        "没有评审模型 'embeded'（是否想用 'embedded'？）；可用：embedded, "
    )

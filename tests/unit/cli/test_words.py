from rag_monitor.cli.words import fields_in


def test_values_are_words_in_both_languages() -> None:
    fields = {"traces": 2, "cost": None, "fits_budget": True, "failed": ["a", "b"]}

    assert fields_in(fields, "en") == {
        "traces": 2, "cost": "none", "fits_budget": "yes", "failed": "a, b"
    }  # fmt: skip
    assert list(fields_in(fields, "zh").values()) == [2, "无", "是", "a、b"]

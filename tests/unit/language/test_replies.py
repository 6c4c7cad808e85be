import pytest

from rag_monitor.language.claims import take_apart
from rag_monitor.language.normalise import fold
from rag_monitor.language.replies import is_bare_reply, strip_opening


@pytest.mark.parametrize(
    "reply",
    [
        "Yes.", "No!", "No, don't worry.", "Absolutely.", "I'm afraid not.", "Good question!",
        "Easy one!", "Afraid so!", "Sadly not.", "No luck there.", "No worries!",
        "可以。", "可以的。", "能。", "不用。", "不会的。", "当然可以！", "您好！", "别着急。",
    ],
)  # fmt: skip
def test_a_yes_before_statements_is_none_of_them(reply: str) -> None:
    assert is_bare_reply(fold(reply))
    stated = "The card works abroad." if reply.isascii() else "该卡在境外也能使用。"

    parts = take_apart(f"{reply} {stated}")
    assert [claim.text for claim in parts.claims] == [stated]
    assert [claim.text for claim in take_apart(reply).claims + take_apart(reply).others] == [reply]


@pytest.mark.parametrize(
    "statement",
    [
        "No refunds.",
        "Yes Bank pays 4%.",
        "Right of way ends here.",
        "可以退货。",
        "不收费。",
        "7天。",
        "有效期一年。",
    ],
)
def test_a_statement_is_no_bare_reply(statement: str) -> None:
    assert not is_bare_reply(fold(statement))
    assert [claim.text for claim in take_apart(statement).claims] == [statement]


@pytest.mark.parametrize(
    ("said", "stated"),
    [
        ("可以，电子发票可在30日内换开。", "电子发票可在30日内换开。"),
        ("您好，副卡不收月费。", "副卡不收月费。"),
        ("Yes, the card works abroad.", "the card works abroad."),
        ("No, the plan covers flights.", "the plan covers flights."),
        ("No employee may smoke.", "no employee may smoke."),
        ("对方不承担费用。", "对方不承担费用。"),
        ("不能用于装修。", "不能用于装修。"),
    ],
)
def test_what_a_statement_opens_with_is_not_held_against_it(said: str, stated: str) -> None:
    assert strip_opening(fold(said)) == fold(stated)

"""What other servers say is one line without secrets, and says the rest as it was said."""

from __future__ import annotations

import pytest

from rag_monitor.redaction.redactor import LONGEST, presentable, without_credentials

SECRET = "hunter2-and-more"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"wrong key {SECRET}.", "wrong key [secret]."),
        ("Authorization: Bearer abcdef123456789", "Authorization: Bearer [secret]"),
        ('{"api-key": "0123456789abcdef"}', '{"api-key": "[secret]"}'),
        ("x-api-key=0123456789abcdef; next", "x-api-key=[secret]; next"),
        ("密钥：abc123456789。", "密钥：[secret]。"),
        (
            "GET https://u:p@ss@host/v1?api_key=abc&n=1",
            "GET https://[secret]@host/v1?api_key=[secret]&n=1",
        ),
        ("\x1b[31mred\x1b[0m\r\nnext\u2028line\x00", "red next line"),
    ],
)  # fmt: skip
def test_secrets_and_control_characters_go(said: str, shown: str) -> None:
    assert presentable(said, [SECRET]) == shown


@pytest.mark.parametrize(
    "said",
    [
        "Invalid API key: please check it",
        "Unsupported api-version 2024-10-21",
        "This model's maximum context length is 8192 tokens.",
        "您的账户余额不足，请充值。",
    ],
)
def test_an_ordinary_sentence_stays_as_it_is(said: str) -> None:
    assert presentable(said, ["", "key"]) == said


def test_a_long_sentence_is_cut_and_a_secret_at_the_cut_is_gone() -> None:
    shown = presentable("x" * (LONGEST - 5) + SECRET + "y" * 100_000, [SECRET])

    assert len(shown) == LONGEST
    assert "hunt" not in shown


def test_an_address_is_shown_without_user_password_and_query() -> None:
    assert without_credentials("https://u:p@host:1/v1?key=1") == "https://host:1/v1"

"""Secrets and personal data are found by form and checksum; ordinary numbers stay."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.errors import ConfigurationError
from rag_monitor.redaction.patterns import ALL, is_china_id, is_iban, is_luhn
from rag_monitor.redaction.redactor import CallableRedactor, Redactor, build_redactor, keyed_hash

MASK = Redactor(patterns=ALL)

# Planted secrets are put together here so that no scanner takes this file for a leak.
PLANTED = [
    ("secret", "sk-" + "a1B2c3D4e5F6g7H8i9J0"),
    ("secret", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("secret", "LTAI" + "5tAbCdEfGhIjKlMn"),
    ("secret", "ghp_" + "x" * 36),
    ("secret", "xoxb-" + "123456789012-abcdef"),
    ("secret", "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3OD." + "dozjgNryP4J3jVmNHl0w5N"),
    ("secret", "-----BEGIN " + "PRIVATE KEY-----\n" + "MIIEow" * 9 + "\n-----END PRIVATE KEY-----"),
    ("secret", "-----BEGIN " + "PRIVATE KEY-----\\n" + "MIIEow" * 9 + "\\n-----END PRIVATE KEY"),
    ("secret", "-----BEGIN " + "PRIVATE KEY-----\n" + ("MIIEow" * 9 + "\n") * 4),
    ("secret", "Bearer " + "abcdefghijklmnop1234"),
    ("secret", "password: hunter2secret"),
    ("secret", "密码是Passw0rd123"),
    ("secret", "api_key=" + "zzzzzz999"),
    ("china_id", "11010519491231002X"),
    ("bank_card", "6222021234567890128"),
    ("bank_card", "4111 1111 1111 1111"),
    ("iban", "DE89 3704 0044 0532 0130 00"),
    ("phone", "13812345678"),
    ("phone", "+86 138-1234-5678"),
    ("email", "li.lei+x@example.com.cn"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), PLANTED, ids=[p[0] for p in PLANTED])
@pytest.mark.parametrize("around", ["{}", "我的是{}。", "It is {}, thanks", "({})"])
def test_every_planted_kind_is_masked(kind: str, text: str, around: str) -> None:
    cleaned = MASK.clean("answer", around.format(text))
    assert cleaned is not None
    assert f"[{kind}]" in cleaned
    assert text not in cleaned


def test_the_password_in_an_address_is_masked_and_the_place_stays() -> None:
    address = "postgres://" + "app:s3cr3t-pw@db.internal:5432/faq"
    assert MASK.clean("answer", address) == "postgres://[secret]@db.internal:5432/faq"


@pytest.mark.parametrize(
    "start", ["-----BEGIN " + "PRIVATE KEY-----", "://a:", "password:", "a@b."]
)
def test_a_text_made_to_take_long_takes_no_longer_than_others(start: str) -> None:
    """The search holds the interpreter: the application's requests would wait for it."""
    text = (start * 20_000)[:262_144]
    began = time.process_time()
    MASK.clean("question", text)
    assert time.process_time() - began < 0.25


@pytest.mark.parametrize(
    "text",
    [
        "Put it between -----BEGIN {} KEY----- and the end, then restart.".format("PRIVATE"),
        "See https://example.com:8443/a?b=c@d and http://[::1]:80/ at 10:30:00@noon",
        "订单号 110105194912310021 已发货",
        "卡号尾数 6222021234567890123",
        "2024年基准利率为4.25%,首套房可下浮20%。",
        "Call 95588 or 400-800-8888 between 9:00 and 18:00.",
        "The key to success is patience; a token of thanks.",
        "ISBN 978-7-111-54742-6",
        "uuid 123e4567-e89b-12d3-a456-426614174000",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert MASK.clean("answer", text) is text


@given(st.text(max_size=300))
def test_screening_never_hides_a_match(text: str) -> None:
    """What `may_occur` rules out, the expression does not find."""
    redactor = Redactor(patterns=ALL)
    expected = text
    for pattern in ALL:
        parts, end = [], 0
        for match in pattern.expression.finditer(expected):
            if pattern.check(match.group()):
                parts += [expected[end : match.start()], f"[{pattern.kind}]"]
                end = match.end()
        expected = "".join([*parts, expected[end:]])
    assert redactor.clean("f", text) == (expected if len(text) >= 6 else text)
    if redactor.clears(text):
        assert redactor.clean("f", text) == text


@pytest.mark.parametrize(("kind", "text"), PLANTED, ids=[p[0] for p in PLANTED])
def test_nothing_planted_is_cleared(kind: str, text: str) -> None:
    assert not MASK.clears(f"harmless\n{text}\nharmless"), kind


def test_hashing_keeps_equal_texts_equal_under_one_key() -> None:
    one = Redactor(patterns=ALL, mode="hash", key="k1")
    other = Redactor(patterns=ALL, mode="hash", key="k2")
    text = "13812345678 and 13812345678"
    first = one.clean("f", text)
    mark = f"[phone:{keyed_hash('k1', '13812345678')}]"
    assert first == f"{mark} and {mark}"
    assert first != other.clean("f", text)


def test_dropping_leaves_the_whole_field_out() -> None:
    redactor = Redactor(patterns=ALL, mode="drop")
    assert redactor.clean("f", "call 13812345678") is None
    assert redactor.clean("f", "call me") == "call me"


def test_field_rules_hold_whatever_the_text() -> None:
    redactor = Redactor(fields={"user_id": "hash", "query": "drop", "answer": "mask"}, key="k")
    assert redactor.clean("user_id", "u-1") == f"[user_id:{keyed_hash('k', 'u-1')}]"
    assert redactor.clean("query", "q") is None
    assert redactor.clean("answer", "a") == "[answer]"
    assert redactor.clean("content", "c") == "c"
    assert not redactor.clears("c")


def test_a_raising_callable_drops_the_field_and_counts() -> None:
    def bad(field: str, text: str) -> str:
        raise ValueError(text)

    redactor = CallableRedactor(bad)
    assert redactor.clean("f", "raw") is None
    assert redactor.failures == 1
    assert CallableRedactor(lambda f, t: t.upper()).clean("f", "raw") == "RAW"
    assert CallableRedactor(lambda f, t: 5).clean("f", "raw") is None  # type: ignore[arg-type,return-value]


def test_settings_build_their_redactor() -> None:
    assert build_redactor("off") is None
    default = build_redactor("default")
    assert default is not None
    assert default.clean("f", "call 13812345678") == "call 13812345678"
    masked = build_redactor("mask")
    assert masked is not None
    assert masked.clean("f", "call 13812345678") == "call [phone]"
    with pytest.raises(ConfigurationError, match="key"):
        build_redactor("hash")
    with pytest.raises(ConfigurationError, match="callable"):
        build_redactor(object())


def test_checksums_know_right_from_nearly_right() -> None:
    assert is_china_id("11010519491231002x")
    assert not is_china_id("110105194912310021")
    assert not is_china_id("11010519491331002X")
    assert is_luhn("4111111111111111")
    assert not is_luhn("4111111111111112")
    assert not is_luhn("0000000000000000")
    assert is_iban("GB82 WEST 1234 5698 7654 32")
    assert not is_iban("GB82 WEST 1234 5698 7654 33")

"""Durations are typed with their unit, in both languages, and written so that they read back."""

from __future__ import annotations

import random

import pytest

from rag_monitor.i18n import translate
from rag_monitor.server.ui.duration_text import duration_text, read_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45 s", 45.0),
        ("10 min", 600.0),
        ("10min", 600.0),
        (" 10  Minutes ", 600.0),
        ("90m", 5400.0),
        ("6 h", 21_600.0),
        ("1.5 hours", 5400.0),
        ("1 hr 30 mins", 5400.0),
        ("1h30m", 5400.0),
        ("2 d", 172_800.0),
        ("1 w", 604_800.0),
        ("400 d", 34_560_000.0),
        ("45 秒", 45.0),
        ("10 分钟", 600.0),
        ("10分", 600.0),
        ("6 小时", 21_600.0),
        ("６小时", 21_600.0),
        ("1 小时 30 分钟", 5400.0),
        ("2 天", 172_800.0),
        ("2天6小时", 194_400.0),
        ("1 周", 604_800.0),
        ("2 个星期", 1_209_600.0),
        ("0", 0.0),
        ("0 min", 0.0),
    ],
)
def test_a_number_with_its_unit_is_read(text: str, seconds: float) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "soon", "an hour", "h", "10 x", "-5 min", "1,5 h", "1e3 s", "inf s", "nan"),
        *("10 min 5", "5 min 1 h", "1 h 1 h", "10 月", "1 month", "1 h; 2 d", "9" * 200 + " s"),
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match="10 min") as refused:
        read_duration(text)

    english, chinese = (translate(refused.value, language) for language in ("en", "zh"))
    assert "45 s, 10 min, 6 h, 2 d or 1 h 30 min" in english
    assert "45 秒、10 分钟、6 小时、2 天" in chinese
    assert len(english) < 200


@pytest.mark.parametrize("text", ["10", "3600", "1.5", " 90 ", "９０"])
def test_a_number_alone_is_not_guessed_at(text: str) -> None:
    with pytest.raises(ValueError, match="say whether it is") as refused:
        read_duration(text)

    assert "分钟" in translate(refused.value, "zh")


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (0.0, "0 s", "0 秒"),
        (600.0, "10 min", "10 分钟"),
        (5400.0, "1 h 30 min", "1 小时 30 分钟"),
        (3600.0, "1 h", "1 小时"),
        (604_800.0, "7 d", "7 天"),
        (90.5, "1 min 30.5 s", "1 分钟 30.5 秒"),
        (1_234_567.0, "14 d 6 h 56 min 7 s", "14 天 6 小时 56 分钟 7 秒"),
    ],
)
def test_it_is_written_in_whole_units(seconds: float, english: str, chinese: str) -> None:
    written = duration_text(seconds)

    assert (translate(written, "en"), translate(written, "zh")) == (english, chinese)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_written_reads_back(language: str) -> None:
    draw = random.Random(7)
    lengths = [round(draw.uniform(0.0, 34_560_000.0), draw.choice((0, 0, 3))) for _ in range(2000)]

    for seconds in lengths:
        text = translate(duration_text(seconds), language)
        assert read_duration(text) == pytest.approx(seconds, abs=1e-5), text

"""Values survive, or are mended, on their way to the database."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql, sqlite

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.store.page_cursor import decode_cursor, encode_cursor
from rag_monitor.store.types import Moment, Name, SafeText, dump_json, storable_name

SQLITE, POSTGRESQL = sqlite.dialect(), postgresql.dialect()


@given(st.text())
def test_mended_text_is_utf8_without_nul_and_of_the_same_length(text: str) -> None:
    mended = clean_text(text)

    assert "\0" not in mended
    assert len(mended) == len(text)
    assert mended.encode("utf-8").decode("utf-8") == mended


def test_good_text_is_left_alone() -> None:
    assert clean_text("利率 3.4% 🙂") == "利率 3.4% 🙂"


def test_names_are_cut_to_what_an_index_takes() -> None:
    assert storable_name("名" * 300) == "名" * 200


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))  # noqa: DTZ001
def test_moments_keep_their_microseconds_on_sqlite(naive: datetime) -> None:
    moment = naive.replace(tzinfo=timezone(timedelta(hours=8)))
    kind = Moment()

    stored = kind.process_bind_param(moment, SQLITE)

    assert kind.process_result_value(stored, SQLITE) == moment
    assert kind.process_bind_param(moment, POSTGRESQL).tzinfo is UTC


@given(st.lists(st.none() | st.text() | st.text("a\0", min_size=195, max_size=205)))
@pytest.mark.parametrize("kind", [SafeText(), Name()])
def test_a_column_of_text_is_mended_as_each_of_its_values(
    kind: SafeText | Name, values: list[str | None]
) -> None:
    each = [kind.process_bind_param(value, SQLITE) for value in values]

    assert kind.bound(values, SQLITE) == each


@pytest.mark.parametrize("dialect", [SQLITE, POSTGRESQL])
def test_a_column_of_moments_is_stored_as_each_of_them(dialect: Dialect) -> None:
    east = timezone(timedelta(hours=8))
    values = [None, datetime(2026, 1, 1, 8, tzinfo=east), datetime(2026, 1, 1, tzinfo=UTC), None]
    each = [Moment().process_bind_param(value, dialect) for value in values]

    assert Moment().bound(values, dialect) == each


def test_a_naive_moment_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        Moment().process_bind_param(datetime(2026, 1, 1), SQLITE)  # noqa: DTZ001


def test_json_keeps_chinese_readable_and_takes_anything() -> None:
    class Odd:
        def __str__(self) -> str:
            return "odd"

    text = dump_json(
        {"词": ["贷款"], "odd": Odd(), "at": datetime(2026, 1, 1, tzinfo=UTC), "n": "\0"}
    )

    assert "贷款" in text
    assert "\0" not in text
    assert json.loads(text)["odd"] == "odd"
    assert json.loads(text)["at"] == "2026-01-01T00:00:00+00:00"


@given(st.datetimes(timezones=st.just(UTC)), st.text("0123456789abcdef", min_size=32, max_size=32))
def test_a_cursor_comes_back_as_it_was(moment: datetime, trace_id: str) -> None:
    assert decode_cursor(encode_cursor(moment, trace_id)) == (moment, trace_id)

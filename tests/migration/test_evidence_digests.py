"""Texts of other traces' passages in older evidence become digests, and texts on the way down."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text

from rag_monitor.store import migration
from rag_monitor.store.engine import parse_url

SHORT = "The standard warranty lasts 24 months."
LONG = "标准保修期为24个月。" * 60
ERASED = "Nobody retrieved this but a user who was erased."


def digest_of(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


@pytest.fixture
def engine(empty_database_url: str) -> Iterator[Engine]:
    migration.upgrade(empty_database_url, "0016")
    made = create_engine(parse_url(empty_database_url))
    yield made
    made.dispose()


def _evidence(engine: Engine) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        found: list[dict[str, Any]] = json.loads(
            connection.execute(text("SELECT evidence FROM faults")).scalar_one()
        )
    return found


def test_older_evidence_names_passages_by_digest_and_has_its_texts_back_on_the_way_down(
    engine: Engine, empty_database_url: str
) -> None:
    kind = "earlier_passage"
    cut = LONG[:299] + "…"
    before = [
        {"kind": "sufficiency", "value": 0.1},
        {"kind": kind, "text": SHORT, "value": 0.9},
        {"kind": kind, "text": cut, "value": 0.8},
        {"kind": kind, "text": ERASED, "value": 0.7},
        {"kind": kind, "text": "doc-7", "value": 1.0},
    ]
    with engine.begin() as connection:
        for content in (SHORT, LONG):
            connection.execute(
                text("INSERT INTO passages VALUES ('default', :sha256, :content, :day)"),
                {"sha256": digest_of(content), "content": content, "day": date(2026, 1, 1)},
            )
        columns = (
            "project, trace_id, day, judge, app, started_at, fault, probability, probabilities, "
            "evidence, created_at"
        )
        at = "now()" if engine.dialect.name == "postgresql" else "0"
        connection.execute(
            text(
                f"INSERT INTO faults ({columns}) VALUES ('default', 't', :day, 'j', 'shop', {at}, "  # noqa: S608
                f"'missed_retrieval', 0.9, '{{}}', :evidence, {at})"
            ),
            {"day": date(2026, 1, 1), "evidence": json.dumps(before, ensure_ascii=False)},
        )

    migration.upgrade(empty_database_url)

    assert _evidence(engine) == [
        {"kind": "sufficiency", "value": 0.1},
        {"kind": kind, "value": 0.9, "digest": digest_of(SHORT)},
        {"kind": kind, "value": 0.8, "digest": digest_of(LONG)},
        {"kind": kind, "value": 0.7, "digest": digest_of(ERASED)},
        {"kind": kind, "text": "doc-7", "value": 1.0},
    ]

    migration.downgrade(empty_database_url, "0016")

    assert _evidence(engine) == [
        {"kind": "sufficiency", "value": 0.1},
        {"kind": kind, "text": SHORT, "value": 0.9},
        {"kind": kind, "text": cut, "value": 0.8},
        {"kind": kind, "value": 0.7},
        {"kind": kind, "text": "doc-7", "value": 1.0},
    ]

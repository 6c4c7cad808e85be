"""A change and its audit event over a real store: both, or neither."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from sqlalchemy import text

from rag_monitor.alerting.rules import default_rules
from rag_monitor.server.services import Services
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.testing import ManualClock
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services

ADMIN = {"x-api-key": "master-key"}


@pytest.fixture
def store(database_url: str, clock: ManualClock) -> Iterator[Store]:
    options = StoreOptions(url=database_url, ballast_bytes=0, partitions_ahead=1)
    with Store.open(options, clock) as opened:
        yield opened


@pytest.fixture
def services(store: Store, clock: ManualClock) -> Services:
    return replace(
        make_services(api_key="master-key"),
        keys=store.keys,
        rules=store.rules,
        silences=store.silences,
        audit=store.audit,
        together=store.together,
        clock=clock,
    )


def _rule(name: str) -> dict[str, object]:
    return {"name": name, "kind": "drop", "metric": "faithfulness"}


async def test_a_change_that_cannot_be_written_down_is_not_made(
    services: Services, store: Store
) -> None:
    async with open_client(services, headers=ADMIN) as client:
        await client.put("/api/v1/rules", json={"rules": [_rule("old")]})
        made = await client.post("/api/v1/keys", json={"name": "first", "scopes": ["read"]})
        key = made.json()["key"]["id"]
        with store._database.write() as connection:
            connection.execute(text("ALTER TABLE audit RENAME TO audit_gone"))

        refused: list[httpx.Response] = [
            await client.put("/api/v1/rules", json={"rules": [_rule("new")]}),
            await client.post("/api/v1/keys", json={"name": "second", "scopes": ["read"]}),
            await client.post(f"/api/v1/keys/{key}/rotate"),
            await client.delete(f"/api/v1/keys/{key}"),
        ]

        with store._database.write() as connection:
            connection.execute(text("ALTER TABLE audit_gone RENAME TO audit"))

    assert all(answer.status_code >= 500 for answer in refused)
    assert [rule.name for rule in store.rules.all("default")] == ["old"]
    (kept,) = store.keys.list("default")
    assert (kept.name, kept.revoked_at) == ("first", None)
    actions = [event.action for event in store.audit.list("default")]
    assert actions == ["key.create", "rules.replace"]


async def test_rules_are_replaced_as_a_whole(services: Services, store: Store) -> None:
    async with open_client(services, headers=ADMIN) as client:
        await client.put("/api/v1/rules", json={"rules": [_rule("a"), _rule("b")]})
        answer = await client.put("/api/v1/rules", json={"rules": [_rule("b"), _rule("c")]})

    assert [rule["name"] for rule in answer.json()["rules"]] == ["b", "c"]
    counts = [event.details["count"] for event in store.audit.list("default")]
    assert counts == [2, 2]


async def test_rules_put_in_before_the_first_trace_are_all_there_are(
    services: Services, store: Store
) -> None:
    """The leader gives a project the shipped ones with its first trace; here they were left out."""
    async with open_client(services, headers=ADMIN) as client:
        put = await client.put("/api/v1/rules", json={"rules": [_rule("mine")]})
        store.rules.ship("default", default_rules())
        told = (await client.get("/api/v1/rules")).json()
        again = await client.put("/api/v1/rules", json=told)

    assert put.json() == told
    assert [rule["name"] for rule in told["rules"]] == ["mine"]
    assert told["project"] == "default"
    assert again.json() == told, "what was read can be sent back"

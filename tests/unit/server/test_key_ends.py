"""Keys with an end: how they get one, where it shows, and what is said once it has come."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from rag_monitor.domain.stored import KeyScope
from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML, token_of

ADMIN = {"x-api-key": "master-key"}


def key_that_ends(services: Services, after: timedelta, name: str = "brief") -> str:
    ends = services.clock.now() + after
    return services.keys.create("default", name, {KeyScope.READ}, expires_at=ends)[0]


async def test_an_expired_key_is_told_so_and_an_unknown_one_is_not(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    secret = key_that_ends(locked, timedelta(hours=1))
    before = await outsider.get("/api/v1/traces", headers={"x-api-key": secret})
    locked.clock.advance(3600)  # type: ignore[attr-defined]

    after = await outsider.get("/api/v1/traces", headers={"x-api-key": secret})
    unknown = await outsider.get("/api/v1/traces", headers={"x-api-key": secret + "x"})

    assert (before.status_code, after.status_code, unknown.status_code) == (200, 401, 401)
    assert "it has expired. Make another one with `rag-monitor keys" in after.json()["detail"]
    assert "nobody has it here" in unknown.json()["detail"]
    assert after.json()["type"] == unknown.json()["type"]


async def test_a_revoked_key_is_told_so_even_once_it_would_have_expired(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    secret = key_that_ends(locked, timedelta(hours=1))
    locked.keys.revoke("default", locked.keys.list("default")[0].id)
    locked.clock.advance(7200)  # type: ignore[attr-defined]

    answer = await outsider.get("/api/v1/traces", headers={"x-api-key": secret})

    assert answer.status_code == 401
    assert "it was revoked" in answer.json()["detail"]


async def test_guessing_at_ends_is_slowed_down_as_guessing_at_keys(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    secret = key_that_ends(locked, timedelta(seconds=-1))

    codes = [
        (await outsider.get("/api/v1/traces", headers={"x-api-key": secret})).status_code
        for _ in range(31)
    ]

    assert codes == [401] * 30 + [429]


async def test_a_rotated_key_may_end_later_than_the_one_it_replaces(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    key_that_ends(locked, timedelta(hours=1))
    (old,) = locked.keys.list("default")
    later = (locked.clock.now() + timedelta(days=90)).isoformat()
    path = f"/api/v1/keys/{old.id}/rotate"

    past = await outsider.post(path, json={"expires_at": "2001-01-01T00:00:00Z"}, headers=ADMIN)
    made = await outsider.post(path, json={"expires_at": later}, headers=ADMIN)

    assert (past.status_code, past.json()["detail"]) == (
        422,
        "`expires_at`: must be in the future.",
    )
    assert datetime.fromisoformat(made.json()["key"]["expires_at"]).isoformat() == later
    events = locked.audit.list("default", action="key", before=None, limit=9)
    assert events[0].details["expires_at"] == later


@pytest.fixture
def shanghai() -> Services:
    from tests.unit.server.fakes import make_services

    return make_services(timezone="Asia/Shanghai")


async def test_the_page_makes_keys_that_end_with_a_day_and_shows_when(shanghai: Services) -> None:
    day = shanghai.clock.now().date() + timedelta(days=30)
    async with open_client(shanghai, headers=HTML) as browser:
        token = token_of((await browser.get("/settings")).text)
        form = {"token": token, "name": "app", "scopes": "read", "last_day": day.isoformat()}

        made = await browser.post("/ui/keys", data=form)
        page = (await browser.get("/settings")).text
        shanghai.clock.advance(40 * 86_400)  # type: ignore[attr-defined]
        later = (await browser.get("/settings?lang=zh")).text

    (key,) = shanghai.keys.list("default")
    next_day = day + timedelta(days=1)
    midnight = datetime(next_day.year, next_day.month, next_day.day, tzinfo=UTC)
    assert made.status_code == 303
    assert key.expires_at == midnight - timedelta(hours=8)
    assert f"{next_day} 00:00" in page
    assert "已过期" not in page
    assert '<span class="badge">已过期</span>' in later
    (event,) = shanghai.audit.list("default", action="key.create", before=None, limit=9)
    assert event.details["expires_at"] == key.expires_at.isoformat()


@pytest.mark.parametrize(
    ("last_day", "said"),
    [
        ("soon", "The last day of a key is written like 2027-01-31."),
        ("2001-01-31", "The last day of a key must not be over."),
        ("9999-12-31", "The last day of a key is written like 2027-01-31."),
        ("2500-12-31", "The last day of a key is written like 2027-01-31."),
    ],
)
async def test_a_last_day_that_cannot_be_makes_no_key(
    services: Services, last_day: str, said: str
) -> None:
    async with open_client(services, headers=HTML) as browser:
        token = token_of((await browser.get("/settings")).text)
        form = {"token": token, "name": "app", "scopes": "read", "last_day": last_day}

        refused = await browser.post("/ui/keys", data=form)

    assert refused.status_code == 422
    assert said in refused.text
    assert f'value="{last_day}"' in refused.text
    assert services.keys.list("default") == []


async def test_the_sign_in_says_of_a_key_that_it_has_expired(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    secret = key_that_ends(locked, timedelta(seconds=-1))
    token = token_of((await outsider.get("/login", headers=HTML)).text)

    english = await outsider.post("/login", data={"token": token, "key": secret}, headers=HTML)
    chinese = await outsider.post(
        "/login?lang=zh", data={"token": token, "key": secret}, headers=HTML
    )

    assert english.status_code == chinese.status_code == 401
    assert "This key has expired." in english.text
    assert "此密钥已过期。" in chinese.text

"""Signing in through an identity provider: the way in, and every lie on it."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

pytest.importorskip("joserfc", reason="rag-monitor[oidc] is not installed")

from joserfc import jwk

from rag_monitor.config import load_settings
from rag_monitor.config.options import OidcOptions
from rag_monitor.errors import ConfigurationError
from rag_monitor.server.app import create_app
from rag_monitor.server.services import Services
from tests.unit.server.fakes import make_services
from tests.unit.server.identity_provider import IdentityProvider, identity_provider

PUBLIC = "https://monitor.example.org"
PAGE = {"accept": "text/html"}


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    with identity_provider() as provider:
        yield provider


def options_for(provider: IdentityProvider, **given: object) -> OidcOptions:
    given.setdefault("writers", ("mei@example.org",))
    return OidcOptions(
        issuer=provider.issuer,
        client_id="monitor",
        client_secret="hush",
        allow_hosts=("127.0.0.1",),
        **given,
    )


def services_for(provider: IdentityProvider, **given: object) -> Services:
    services = make_services(
        api_key="master-key", public_url=PUBLIC, oidc=options_for(provider, **given)
    )
    provider.now = services.clock.now().timestamp()
    return services


@pytest.fixture
def services(provider: IdentityProvider) -> Services:
    return services_for(provider)


def connect(services: Services) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=create_app(services))
    return httpx.AsyncClient(transport=transport, base_url=PUBLIC)


@pytest.fixture
async def browser(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(services) as browser:
        yield browser


async def sign_in(
    browser: httpx.AsyncClient, provider: IdentityProvider, target: str = "/traces"
) -> httpx.Response:
    left = await browser.get("/login/oidc", params={"next": target})
    assert left.status_code == 303, left.text
    code, state = provider.consent(left.headers["location"])
    return await browser.get("/login/oidc/callback", params={"code": code, "state": state})


async def test_a_person_with_a_role_comes_in_and_does_what_it_allows(
    browser: httpx.AsyncClient, provider: IdentityProvider, services: Services
) -> None:
    login = await browser.get("/login", headers=PAGE)
    answer = await sign_in(browser, provider)

    assert "/login/oidc" in login.text
    assert (answer.status_code, answer.headers["location"]) == (303, "/traces")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "Secure" in answer.headers["set-cookie"]
    assert (await browser.get("/api/v1/traces")).status_code == 200
    assert (await browser.get("/api/v1/keys")).status_code == 403
    event = services.audit.events[-1]
    assert (event.action, event.actor, event.actor_name) == (
        "login",
        "oidc:u-17",
        "mei@example.org",
    )


async def test_the_provider_is_asked_for_a_code_with_pkce_and_our_address(
    browser: httpx.AsyncClient, provider: IdentityProvider
) -> None:
    left = await browser.get("/login/oidc")
    asked = dict(parse_qsl(urlsplit(left.headers["location"]).query))

    assert asked["redirect_uri"] == f"{PUBLIC}/login/oidc/callback"
    assert asked["client_id"] == "monitor"
    assert len(asked["nonce"]) >= 32
    assert "hush" not in left.headers["location"]
    assert asked["state"] != asked["nonce"]


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "somebody-else"},
        {"aud": ["monitor", "somebody-else"]},
        {"aud": ["monitor", "else"], "azp": "else"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"exp": None},
        {"iat": None},
        {"sub": None},
        {"email_verified": False},
        {"email_verified": None},
        {"email": "lin@example.org"},
        {"email": None},
        {"email": {"$ne": ""}},
    ],
    ids=str,
)
async def test_a_token_that_does_not_hold_opens_nothing(
    browser: httpx.AsyncClient,
    provider: IdentityProvider,
    services: Services,
    claims: dict[str, object],
) -> None:
    provider.claims = claims

    answer = await sign_in(browser, provider)

    assert answer.status_code == 401
    assert "rag_monitor_session" not in browser.cookies or (
        (await browser.get("/api/v1/traces")).status_code == 401
    )
    assert services.audit.events[-1].action == "login.failed"


async def test_a_token_of_another_key_opens_nothing(
    browser: httpx.AsyncClient, provider: IdentityProvider
) -> None:
    provider.sign_with = jwk.RSAKey.generate_key(2048)

    assert (await sign_in(browser, provider)).status_code == 401


async def test_tokens_without_a_signature_or_with_a_shared_key_open_nothing(
    browser: httpx.AsyncClient, provider: IdentityProvider
) -> None:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"iss": provider.issuer, "aud": "monitor", "sub": "x", "exp": provider.now + 60}
    provider.token = f"{part({'alg': 'none'})}.{part(claims)}."
    unsigned = await sign_in(browser, provider)
    provider.token = None
    provider.header = {"alg": "HS256"}
    provider.sign_with = jwk.OctKey.import_key("hush" * 16)
    shared = await sign_in(browser, provider)
    provider.token = "not.a.token"
    broken = await sign_in(browser, provider)

    assert [unsigned.status_code, shared.status_code, broken.status_code] == [401, 401, 401]


async def test_new_keys_of_the_provider_are_learnt_at_once(
    browser: httpx.AsyncClient, provider: IdentityProvider
) -> None:
    first = await sign_in(browser, provider)
    provider.change_key()
    second = await sign_in(browser, provider)

    assert (first.status_code, second.status_code) == (303, 303)


async def test_only_the_browser_that_left_may_come_back(
    services: Services, provider: IdentityProvider
) -> None:
    async with connect(services) as victim, connect(services) as thief:
        left = await thief.get("/login/oidc")
        code, state = provider.consent(left.headers["location"])
        without_cookie = await victim.get(
            "/login/oidc/callback", params={"code": code, "state": state}
        )
        other_state = await thief.get("/login/oidc/callback", params={"code": code, "state": "x"})

    assert (without_cookie.status_code, other_state.status_code) == (401, 401)
    assert not any(path == "/realm/token" for path, _ in provider.requests)


async def test_an_attempt_is_no_session_and_a_session_no_attempt(services: Services) -> None:
    app = create_app(services)
    gate = app.state.gate
    attempt = gate.seal("attempt", {"state": "s", "nonce": "n", "verifier": "v"}, 60)

    assert gate.read_session(attempt) is None
    assert gate.unseal("attempt", gate.seal("session", {}, 60)) is None


async def test_after_ten_minutes_the_attempt_is_over(
    browser: httpx.AsyncClient, provider: IdentityProvider, services: Services
) -> None:
    left = await browser.get("/login/oidc")
    code, state = provider.consent(left.headers["location"])
    services.clock.advance(601)

    answer = await browser.get("/login/oidc/callback", params={"code": code, "state": state})

    assert answer.status_code == 401


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example"])
async def test_people_are_sent_on_to_our_own_pages_only(
    browser: httpx.AsyncClient, provider: IdentityProvider, target: str
) -> None:
    assert (await sign_in(browser, provider, target)).headers["location"] == "/"


async def test_whoever_loses_the_role_loses_the_session(
    provider: IdentityProvider, services: Services
) -> None:
    async with connect(services) as browser:
        await sign_in(browser, provider)
        cookies = dict(browser.cookies)
    options = replace(
        services.settings, oidc=replace(options_for(provider), writers=("lin@example.org",))
    )
    async with connect(replace(services, settings=options)) as browser:
        browser.cookies.update(cookies)
        answer = await browser.get("/api/v1/traces")

    assert answer.status_code == 401


async def test_groups_give_roles_and_a_star_lets_everybody_read(
    provider: IdentityProvider,
) -> None:
    provider.claims = {"groups": ["staff", "monitor-admins"]}
    given = {"claim": "groups", "admins": ("monitor-admins",), "readers": ("*",), "writers": ()}
    async with connect(services_for(provider, **given)) as browser:
        await sign_in(browser, provider)
        admin = await browser.get("/api/v1/keys")
        foreign = await browser.get("/api/v1/keys?project=other")
    provider.claims = {"groups": ["staff"]}
    async with connect(services_for(provider, **given)) as browser:
        await sign_in(browser, provider)
        reads = await browser.get("/api/v1/traces")
        refused = await browser.get("/api/v1/keys")

    assert [admin.status_code, foreign.status_code] == [200, 403]
    assert [reads.status_code, refused.status_code] == [200, 403]


async def test_a_provider_that_is_away_is_said_so(
    provider: IdentityProvider, services: Services
) -> None:
    away = replace(options_for(provider), issuer="http://127.0.0.1:9/realm")
    async with connect(
        replace(services, settings=replace(services.settings, oidc=away))
    ) as browser:
        answer = await browser.get("/login/oidc", headers=PAGE)

    assert answer.status_code == 401
    assert "Single sign-on did not work" in answer.text


async def test_without_a_provider_there_is_no_such_way_in() -> None:
    async with connect(make_services(api_key="k", public_url=PUBLIC)) as browser:
        assert (await browser.get("/login/oidc")).status_code == 404
        assert "/login/oidc" not in (await browser.get("/login", headers=PAGE)).text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"RAG_MONITOR_API_KEY": ""}, "api_key"),
        ({"RAG_MONITOR_PUBLIC_URL": ""}, "public_url"),
        ({"RAG_MONITOR_OIDC_ISSUER": "http://idp.example.org"}, "https"),
        ({"RAG_MONITOR_OIDC_CLIENT_SECRET": ""}, "client_secret"),
        ({"RAG_MONITOR_OIDC_SCOPES": "email"}, "openid"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    changes: dict[str, str], message: str, tmp_path
) -> None:
    file = tmp_path / "rag_monitor.toml"
    file.write_text('[oidc]\nreaders = ["*"]\n')
    environment = {
        "RAG_MONITOR_API_KEY": "k",
        "RAG_MONITOR_PUBLIC_URL": PUBLIC,
        "RAG_MONITOR_OIDC_ISSUER": "https://idp.example.org",
        "RAG_MONITOR_OIDC_CLIENT_ID": "monitor",
        "RAG_MONITOR_OIDC_CLIENT_SECRET": "hush",
        **changes,
    }
    environment = {name: value for name, value in environment.items() if value}

    with pytest.raises(ConfigurationError, match=message):
        load_settings(file, environment)

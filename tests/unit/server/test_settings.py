"""The forms of the settings: rules that are renamed or refused, and keys that are made."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from rag_monitor.server.services import Services
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.test_pages import HTML, token_of

LIMIT = "params.threshold.limit"
RULE = {"kind": "threshold", "metric": "faithfulness", LIMIT: "0.7", "enabled": "on"}
NEW_KEY = "rag_monitor_new_key"


@pytest.fixture
async def browser(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(services, headers=HTML) as client:
        yield client


async def _saved(browser: httpx.AsyncClient, *names: str) -> str:
    """Save new rules; a token for further forms."""
    token = token_of((await browser.get("/settings")).text)
    for name in names:
        answer = await browser.post("/ui/rules", data=RULE | {"token": token, "name": name})
        assert answer.status_code == 303
    return token


def _original(text: str) -> str:
    found = re.search(r'name="original" value="([^"]*)"', text)
    assert found is not None
    return found[1]


async def test_a_saved_rule_is_said_to_be_saved_and_to_look_again(
    browser: httpx.AsyncClient,
) -> None:
    token = await _saved(browser, "low")
    for name, enabled in (("low", "on"), ("off", "")):
        form = RULE | {"token": token, "name": name, "enabled": enabled}
        answer = await browser.post("/ui/rules", data=form)
        text = (await browser.get(answer.headers["location"])).text
        assert f"Saved: {name}." in text
        assert ("It looks again within 15 s." in text) is bool(enabled)


async def test_a_renamed_rule_is_one_rule_and_one_change(
    browser: httpx.AsyncClient, services: Services
) -> None:
    token = await _saved(browser, "low")
    original = _original((await browser.get("/settings?rule=low")).text)
    before = set(services.rules.rules) - {"low"}  # type: ignore[attr-defined]
    form = RULE | {"token": token, "original": original, "name": "lower"}

    answer = await browser.post("/ui/rules", data=form)

    assert original == "low"
    assert (answer.status_code, answer.headers["location"]) == (303, "/settings?saved=lower#rules")
    assert set(services.rules.rules) == before | {"lower"}  # type: ignore[attr-defined]
    event = services.audit.events[-1]  # type: ignore[attr-defined]
    assert (event.action, event.target) == ("rule.save", "lower")
    assert event.details == {"renamed_from": "low"}
    assert len(services.audit.events) == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ["/ui/rules", "/ui/rules/try"])
@pytest.mark.parametrize("original", ["", "low"])
async def test_a_name_that_is_taken_is_refused(
    browser: httpx.AsyncClient, services: Services, path: str, original: str
) -> None:
    token = await _saved(browser, "low", "other")
    form = RULE | {"token": token, "original": original, "name": "other", LIMIT: "0.1"}

    answer = await browser.post(path, data=form)

    assert answer.status_code == 422
    assert "Name: another rule is called &#39;other&#39;; choose another name" in answer.text
    assert f'name="{LIMIT}" value="0.1"' in answer.text
    assert _original(answer.text) == original
    rules = services.rules.rules  # type: ignore[attr-defined]
    assert rules["other"].params == {"limit": 0.7}
    assert "low" in rules


async def test_a_name_that_is_taken_is_refused_in_chinese(browser: httpx.AsyncClient) -> None:
    token = await _saved(browser, "low")
    form = RULE | {"token": token, "original": "", "name": "low"}

    text = (await browser.post("/ui/rules?lang=zh", data=form)).text

    assert "名称：已有名为 &#39;low&#39; 的规则，请换一个名称" in text


async def test_a_rule_that_somebody_renamed_or_deleted_meanwhile_is_told_and_may_be_added(
    browser: httpx.AsyncClient, services: Services
) -> None:
    token = await _saved(browser, "low")
    renamed = RULE | {"token": token, "original": "low", "name": "lower"}
    await browser.post("/ui/rules", data=renamed)
    late = RULE | {"token": token, "original": "low", "name": "lowest"}

    refused = await browser.post("/ui/rules", data=late)
    chinese = await browser.post("/ui/rules?lang=zh", data=late)

    assert (refused.status_code, _original(refused.text)) == (422, "")
    assert "Name: the rule &#39;low&#39; is gone: somebody renamed or deleted it" in refused.text
    assert "名称：规则 &#39;low&#39; 已不存在" in chinese.text
    assert "lowest" not in services.rules.rules  # type: ignore[attr-defined]

    again = await browser.post("/ui/rules", data=late | {"original": ""})

    assert again.status_code == 303
    assert {"lower", "lowest"} <= set(services.rules.rules)  # type: ignore[attr-defined]


async def test_without_a_script_the_server_asks_before_a_rule_is_deleted(
    browser: httpx.AsyncClient, services: Services
) -> None:
    token = await _saved(browser, "low")
    form = {"token": token, "name": "low"}

    asked = await browser.post("/ui/rules/delete", data=form)

    assert asked.status_code == 200
    assert "low" in services.rules.rules  # type: ignore[attr-defined]
    assert "<h1>Delete this rule?</h1>" in asked.text
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', asked.text))
    assert 'href="/settings' in asked.text

    done = await browser.post("/ui/rules/delete", data=hidden)

    assert (done.status_code, done.headers["location"]) == (303, "/settings#rules")
    assert "low" not in services.rules.rules  # type: ignore[attr-defined]


async def test_without_a_script_the_server_asks_before_a_key_is_revoked(
    browser: httpx.AsyncClient, services: Services
) -> None:
    token = await _saved(browser)
    await browser.post("/ui/keys", data={"token": token, "name": "app <1>", "scopes": "read"})
    (key,) = services.keys.keys.values()  # type: ignore[attr-defined]

    asked = await browser.post("/ui/keys/revoke?lang=zh", data={"token": token, "id": key.id})

    assert "<h1>吊销此密钥？</h1>" in asked.text
    assert "app &lt;1&gt;" in asked.text
    assert next(iter(services.keys.keys.values())).revoked_at is None  # type: ignore[attr-defined]


async def test_a_refused_edit_stays_an_edit(browser: httpx.AsyncClient) -> None:
    token = await _saved(browser, "low")
    page = (await browser.get("/settings?rule=low")).text
    form = RULE | {"token": token, "original": "low", "name": "lower", "window_s": "soon"}

    refused = await browser.post("/ui/rules?rule=low", data=form)

    assert 'action="/ui/rules?rule=low"' in page
    assert refused.status_code == 422
    assert '<details id="rule" open><summary>Edit low</summary>' in refused.text
    assert 'value="lower"' in refused.text
    assert _original(refused.text) == "low"
    assert 'action="/ui/rules/delete"' in refused.text
    assert 'href="/settings?rule=low&amp;lang=zh"' in refused.text


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/ui/rules", "/settings#rules"),
        ("/ui/rules?rule=a+b%23&lang=zh&x=1", "/settings?rule=a+b%23&lang=zh#rules"),
        ("/ui/rules/try", "/settings#rules"),
        ("/ui/keys", "/settings#keys"),
        ("/ui/keys/revoke", "/settings#keys"),
        ("/ui/silences", "/alerts#silences"),
        ("/ui/feedback", "/traces"),
    ],
)
async def test_the_address_of_a_form_leads_to_its_page(
    browser: httpx.AsyncClient, path: str, place: str
) -> None:
    answer = await browser.get(path)

    assert (answer.status_code, answer.headers["location"]) == (303, place)


async def test_a_new_key_is_shown_once(browser: httpx.AsyncClient, services: Services) -> None:
    token = token_of((await browser.get("/settings")).text)

    made = await browser.post(
        "/ui/keys", data={"token": token, "name": "app", "scopes": ["ingest", "read"]}
    )
    secret = next(iter(services.keys.keys))  # type: ignore[attr-defined]
    shown = await browser.get("/settings")
    again = await browser.get("/settings")

    assert (made.status_code, made.headers["location"]) == (303, "/settings")
    cookie = made.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/settings", "Max-Age=60"):
        assert part in cookie
    assert secret in shown.text
    assert f'{NEW_KEY}=""; ' in shown.headers["set-cookie"]
    assert secret not in again.text
    keys = services.keys.keys  # type: ignore[attr-defined]
    assert {scope.value for scope in keys[secret].scopes} == {"ingest", "read"}


async def test_a_new_key_is_shown_to_the_session_that_made_it_only(
    browser: httpx.AsyncClient, services: Services
) -> None:
    token = token_of((await browser.get("/settings")).text)
    made = await browser.post("/ui/keys", data={"token": token, "name": "app", "scopes": "read"})
    secret = next(iter(services.keys.keys))  # type: ignore[attr-defined]
    carried = made.cookies[NEW_KEY]
    del browser.cookies["rag_monitor_session"]

    other = await browser.get("/settings")

    async with open_client(services, headers=HTML) as stranger:
        stranger.cookies.set(NEW_KEY, carried.strip('"') + "x", path="/settings")
        forged = await stranger.get("/settings")
    assert secret not in other.text
    assert secret not in forged.text
    assert "shown this once" not in other.text + forged.text


async def test_the_cookie_of_a_new_key_is_kept_to_https() -> None:
    services = make_services(public_url="https://test")
    async with open_client(services, headers=HTML) as client:
        client.base_url = httpx.URL("https://test")
        token = token_of((await client.get("/settings")).text)
        made = await client.post("/ui/keys", data={"token": token, "name": "a", "scopes": "read"})

    assert made.status_code == 303
    assert "Secure" in made.headers["set-cookie"]


@pytest.mark.parametrize(
    ("fields", "english", "chinese"),
    [
        ({"name": ""}, ">A key needs a name.<", ">请填写密钥名称。<"),
        (
            {"name": "x" * 500},
            ">The name of a key may have at most 200 characters.<",
            ">密钥名称最多 200 个字符。<",
        ),
        (
            {"name": "a\0b"},
            ">The name of a key must not contain control characters.<",
            ">密钥名称不能含有控制字符。<",
        ),
        ({"scopes": ""}, ">A key needs at least one scope.<", ">请至少选择一个权限。<"),
        (
            {"name": "", "scopes": ""},
            ">A key needs a name. A key needs at least one scope.<",
            ">请填写密钥名称。请至少选择一个权限。<",
        ),
    ],
)
async def test_a_refused_key_says_what_is_wrong_and_keeps_what_was_given(
    browser: httpx.AsyncClient, fields: dict[str, str], english: str, chinese: str
) -> None:
    token = token_of((await browser.get("/settings")).text)
    form = {"token": token, "name": "bank faq", "scopes": "read,write"} | fields

    for language, said in (("en", english), ("zh", chinese)):
        refused = await browser.post(f"/ui/keys?lang={language}", data=form)
        checked = re.findall(r'name="scopes" value="(\w+)" checked', refused.text)

        assert refused.status_code == 422
        assert said in refused.text
        assert f'value="{form["name"]}"' in refused.text
        assert checked == [scope for scope in form["scopes"].split(",") if scope]
        assert '<details id="rule">' in refused.text

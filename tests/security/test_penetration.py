"""Every operation of the OpenAPI document and every page, with every role of key, against another
project's things. New operations are covered by being in the document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

import pytest

from rag_monitor.server.app import create_app
from tests.security.databases import new_database
from tests.security.estate import EDITOR, OPERATOR, ROLES, Estate, Project, estate
from tests.unit.server.fakes import make_services

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PUBLIC = {("GET", "/healthz"), ("GET", "/readyz")}
"""Operations that need no key, and no others."""
OPEN_PAGES = {"/login", "/login/oidc", "/login/oidc/callback", "/static/{name}", "/favicon.ico"}
NOWHERE = {
    "trace_id": "0123456789abcdef" * 2,
    "alert_id": "alert-of-nobody",
    "incident_id": "incident-of-nobody",
    "silence_id": "silence-of-nobody",
    "key_id": "key-of-nobody",
    "session_id": "session-of-nobody",
    "user_id": "user-of-nobody",
}
"""For each path parameter an id that nobody has."""


def ids_of(project: Project) -> dict[str, str]:
    return {
        "trace_id": project.trace_id,
        "alert_id": project.alert_id,
        "incident_id": project.incident_id,
        "silence_id": project.silence_id,
        "key_id": project.key_id,
        "session_id": project.session_id,
        "user_id": project.user_id,
    }


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
)
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Estate]:
    folder = tmp_path_factory.mktemp("estate")
    with new_database(request.param, folder) as url, estate(folder, url) as built:
        yield built


def operations(world: Estate) -> Iterator[tuple[str, str, dict[str, Any]]]:
    document = world.call("GET", "/openapi.json", OPERATOR).json
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


def fill(path: str, ids: dict[str, str]) -> str:
    missing = set(re.findall(r"{(\w+)}", path)) - ids.keys()
    assert not missing, f"give the pass an id for {missing}"
    return path.format(**ids)


def scopes(operation: dict[str, Any]) -> set[str]:
    entries = operation["security"]
    return {scope for entry in entries for needed in entry.values() for scope in needed}


def body_for(path: str, target: Project) -> tuple[Any, dict[str, str]]:
    """A body that would do something to the target, were it let through."""
    bodies = {
        "/api/v1/traces": foreign_trace(target),
        "/api/v1/feedback": {"trace_id": target.trace_id, "value": 0.0, "comment": "was here"},
        "/api/v1/labels": {
            "labels": [{"trace_id": target.trace_id, "value": 0.0, "metric": "faithfulness"}]
        },
        "/api/v1/rules": {"rules": []},
        "/api/v1/rules/check": {"name": "x", "kind": "drop", "metric": "faithfulness"},
        "/api/v1/silences": {"ends_at": "2100-01-01T00:00:00Z"},
        "/api/v1/evaluations": {"app": target.app, "preview": False},
        "/api/v1/keys": {"name": "k", "scopes": ["admin"], "project": target.name},
    }
    if path.startswith("/v1/"):
        return b"", {"Content_Type": "application/x-protobuf"}
    return bodies.get(path, {}), {}


def foreign_trace(target: Project) -> dict[str, Any]:
    """A trace like the target's, without its words: what is shown later must not be our own."""
    text = target.trace().decode()
    for own in (target.mark, target.app, target.user_id, target.session_id):
        text = text.replace(own, "planted")
    made: dict[str, Any] = json.loads(text)
    return made


def test_each_operation_takes_only_keys_of_its_scope(world: Estate) -> None:
    gamma = world.projects["gamma"]
    wrong: list[str] = []
    for method, path, operation in operations(world):
        needed = scopes(operation)
        if (method, path) in PUBLIC:
            assert needed == set()
            continue
        assert needed, f"{method} {path} needs no key"
        where = fill(path, NOWHERE)
        body, headers = body_for(path, gamma)
        if method in {"GET", "DELETE"}:
            body = None
        nobody = world.call(method, where, None, body, **headers)
        if nobody.status != 401:
            wrong.append(f"{method} {path} without a key: {nobody.status}")
        for role in ROLES:
            answer = world.call(method, where, gamma.keys[role], body, **headers)
            allowed = role in needed or role == "admin"
            if (answer.status == 403) is allowed or answer.status in {401, 500}:
                wrong.append(f"{method} {path} as {role}: {answer.status}")
    assert wrong == []


def test_what_is_asked_without_a_name_names_nothing_of_other_projects(world: Estate) -> None:
    alpha, gamma = world.projects["alpha"], world.projects["gamma"]
    wrong: list[str] = []
    for method, path, _ in operations(world):
        if method != "GET":
            continue
        for role in ROLES:
            answer = world.call(method, fill(path, NOWHERE), gamma.keys[role])
            if re.search(f"{alpha.app}|{alpha.mark}", answer.body.decode(errors="replace")):
                wrong.append(f"{method} {path} as {role}")
    assert wrong == []
    shown = world.call("GET", "/metrics", gamma.keys["read"]).body.decode()
    assert gamma.app in shown


def test_nothing_of_another_project_is_seen_or_changed_through_the_api(world: Estate) -> None:
    alpha = world.projects["alpha"]
    before = world.holdings(alpha)
    wrong: list[str] = []
    for method, path, operation in operations(world):
        for role in ROLES:
            wrong += [
                f"as {role}: {found}" for found in intrude(world, method, path, operation, role)
            ]
    assert wrong == []
    assert world.holdings(alpha) == before


def intrude(
    world: Estate, method: str, path: str, operation: dict[str, Any], role: str
) -> Iterator[str]:
    """Beta's key of this role on an operation: with ids of nobody, of alpha, and alpha's names."""
    alpha, beta = world.projects["alpha"], world.projects["beta"]
    body, headers = body_for(path, alpha)
    if method in {"GET", "DELETE"}:
        body = None
    theirs = fill(path, ids_of(alpha))
    named = f"{theirs}?{urlencode(_queries(operation, alpha))}"
    answers = {
        where: world.call(method, where, beta.keys[role], body, **headers)
        for where in (fill(path, NOWHERE), theirs, named)
    }
    for where, answer in answers.items():
        if alpha.mark in answer.body.decode(errors="replace"):
            yield f"{method} {where} shows {alpha.mark}"
        if answer.status >= 500:
            yield f"{method} {where}: {answer.status}"
    plain, found = answers[fill(path, NOWHERE)], answers[theirs]
    if found.status != plain.status:
        yield f"{method} {theirs}: {found.status}, but {plain.status} for an unknown id"
    if "{" in path and _without(found, ids_of(alpha)) != _without(plain, NOWHERE):
        yield f"{method} {theirs} answers otherwise than for an unknown id"


def _without(answer: Any, ids: dict[str, str]) -> str:
    text = answer.body.decode(errors="replace")
    for value in ids.values():
        text = text.replace(value, "…")
    return text.replace("'beta'", "…")


def _queries(operation: dict[str, Any], target: Project) -> dict[str, str]:
    """Every query parameter that can name something, with the target's name in it."""
    named = {
        "app": target.app,
        "metric": "faithfulness",
        "project": target.name,
        "q": "owned",
        "window": "24h",
        "action": "key",
    }
    given = {p["name"] for p in operation.get("parameters", []) if p["in"] == "query"}
    return {name: value for name, value in named.items() if name in given}


def test_a_trace_sent_under_anothers_id_is_ones_own(world: Estate) -> None:
    alpha, gamma = world.projects["alpha"], world.projects["gamma"]
    before = world.holdings(alpha)
    body = foreign_trace(alpha) | {"id": alpha.trace_id}

    sent = world.call("POST", "/api/v1/traces", gamma.keys["ingest"], body)

    assert sent.json["trace_ids"] == [alpha.trace_id]
    assert world.holdings(alpha) == before


def test_nothing_of_another_project_is_seen_or_changed_through_the_pages(world: Estate) -> None:
    alpha, beta = world.projects["alpha"], world.projects["beta"]
    before = world.holdings(alpha)
    wrong: list[str] = []
    form = {
        "id": alpha.alert_id,
        "name": alpha.rule,
        "trace_id": alpha.trace_id,
        "value": "bad",
        "answer": "not_supported",
        "hours": "4",
        "do": "snooze-1h",
        "rule": alpha.rule,
        "app": alpha.app,
        "kind": "drop",
        "scopes": "admin",
        "project": alpha.name,
    }
    for role in ("read", EDITOR, "admin"):
        cookie, token = sign_in(world, beta.keys[role])
        for method, path in sorted(pages(), key=lambda page: page[1] == "/logout"):
            where = fill(path, ids_of(alpha) | {"name": "app.css"})
            headers = {"Cookie": cookie, "Accept": "text/html"}
            if method == "GET":
                query = urlencode(
                    {"app": alpha.app, "q": "owned", "rule": alpha.rule, "window": "1h"}
                )
                answers = [world.call("GET", w, **headers) for w in (where, f"{where}?{query}")]
            else:
                answers = [
                    world.call(
                        "POST",
                        where,
                        body=urlencode(form | {"token": token, "id": id}).encode(),
                        Content_Type="application/x-www-form-urlencoded",
                        **headers,
                    )
                    for id in (alpha.alert_id, alpha.silence_id, alpha.key_id)
                ]
            for answer in answers:
                shown = answer.body.decode(errors="replace")
                if alpha.mark in shown or answer.status >= 500:
                    wrong.append(f"{method} {path} as {role}: {answer.status}")
    assert wrong == []
    assert world.holdings(alpha) == before


def test_pages_are_for_those_who_signed_in_and_forms_need_their_token(world: Estate) -> None:
    beta = world.projects["beta"]
    before = world.holdings(beta)
    cookie, _ = sign_in(world, beta.keys["admin"])
    wrong: list[str] = []
    for method, path in pages():
        if path in OPEN_PAGES:
            continue
        where = fill(path, ids_of(beta))
        answer = world.call(method, where, body=b"" if method == "POST" else None)
        if answer.status not in {401, 415}:
            wrong.append(f"{method} {path} without a key: {answer.status}")
        if method == "POST":
            form = urlencode({"token": "forged", "id": beta.alert_id, "name": beta.rule})
            sent = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": cookie}
            forged = world.call("POST", where, body=form.encode(), **sent)
            foreign = world.call("POST", where, body=form.encode(), Origin="https://evil", **sent)
            if (forged.status, foreign.status) != (403, 403):
                wrong.append(f"{path} forged: {forged.status}, foreign: {foreign.status}")
    assert wrong == []
    after = world.holdings(beta)
    assert {k: v for k, v in after.items() if k != "/api/v1/audit"} == {
        k: v for k, v in before.items() if k != "/api/v1/audit"
    }


def pages() -> list[tuple[str, str]]:
    """Every route that is not in the document: pages, forms, files."""
    app = create_app(make_services())
    return [
        (method, route.path)
        for route in app.state.api_routes
        if not route.include_in_schema and not route.path.startswith(("/api/", "/openapi"))
        for method in route.methods
    ]


def sign_in(world: Estate, key: str) -> tuple[str, str]:
    """The cookie of a session of this key, and the token of its forms."""
    first = world.call("GET", "/login", Accept="text/html")
    form = urlencode({"key": key, "token": _token(first.body)}).encode()
    sent = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": _cookie(first)}
    # The redirect would be followed without its cookie, so the cookie is read on the way.
    opened = world.call("POST", "/login?next=/static/app.css", body=form, Accept="*/*", **sent)
    assert opened.status in {200, 303}, opened.body
    cookie = _cookie(opened)
    page = world.call("GET", "/settings", Cookie=cookie, Accept="text/html")
    assert page.status == 200, page.body
    return cookie, _token(page.body)


def _cookie(answer: Any) -> str:
    jar: SimpleCookie = SimpleCookie(answer.headers.get("set-cookie", ""))
    return f"rag_monitor_session={jar['rag_monitor_session'].value}"


def _token(page: bytes) -> str:
    found = re.search(r'name="token" value="([^"]+)"', page.decode())
    assert found is not None
    return found[1]

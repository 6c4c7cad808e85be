"""The API abuse list, row by row; rows with longer stories have tests of their own.

docs/security-review.md says for every row which test it is.
"""

from __future__ import annotations

import gzip

import httpx
import pytest

from rag_monitor.server.services import Services

JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
GZIPPED = {**JSON, "content-encoding": "gzip"}
DEEP = b"[" * 100_000 + b"]" * 100_000
MARK = '{"trace_id": "' + "a" * 32 + '", "value": 1, "comment": '


@pytest.mark.parametrize(
    ("row", "method", "path", "headers", "body", "expected"),
    [
        (7, "GET", "/v1/traces", {}, b"", {405}),
        (8, "POST", "/v1/metrics", {"content-type": "text/plain"}, b"x", {415}),
        (8, "POST", "/v1/metrics", {}, b"x", {415}),
        (9, "POST", "/v1/metrics", {"content-type": "APPLICATION/JSON; charset=utf-8"}, b"", {200}),
        (36, "POST", "/api/v1/feedback", JSON, MARK.encode() + b'"\\ud800"}', {422}),
        (39, "POST", "/api/v1/feedback", JSON, b'{"trace_id": "a', {400}),
        (8, "POST", "/api/v1/feedback", {}, b'{"value": 1}', {415}),
        (8, "POST", "/api/v1/feedback", {"content-type": "text/plain"}, b'{"value": 1}', {415}),
        (8, "PUT", "/api/v1/rules", FORM, b'{"rules": []}', {415}),
        (8, "POST", "/api/v1/keys", FORM, b'{"name": "k"}', {415}),
        (10, "POST", "/api/v1/feedback", GZIPPED, gzip.compress(b"{}", mtime=0), {415}),
        (39, "POST", "/api/v1/feedback", FORM, b"", {422}),
        (39, "POST", "/api/v1/feedback", JSON, b"", {422}),
        (39, "POST", "/api/v1/feedback", JSON, b"[]", {422}),
        (39, "POST", "/api/v1/feedback", JSON, b"null", {422}),
        (39, "POST", "/api/v1/feedback", JSON, b"\xff\xfe{\x00", {400}),
        (40, "POST", "/api/v1/feedback", JSON, DEEP, {400, 422}),
        (40, "PUT", "/api/v1/rules", JSON, b'{"rules":' + DEEP + b"}", {400, 422}),
        (42, "GET", "/api/v1/traces?app=a&app=b", {}, b"", {422}),
        (42, "GET", "/api/v1/keys?project=default&project=default", {}, b"", {422}),
        (45, "GET", "/api/v1/traces?regex=(a%2B)%2B%24", {}, b"", {422}),
        (46, "GET", "/api/v1/summary?from=1900-01-01T00:00:00Z", {}, b"", {422}),
        (46, "GET", "/api/v1/summary?from=2026-03-29T02:30:00", {}, b"", {422}),
        (46, "GET", "/api/v1/summary?from=1767225600", {}, b"", {422}),
        (47, "GET", "/api/v1/traces/..%2f..%2fetc%2fpasswd", {}, b"", {404, 422}),
        (47, "GET", "/static/..%2f..%2fauth.py", {}, b"", {404}),
        (47, "GET", "/static/..%5c..%5cauth.py", {}, b"", {404}),
        (47, "DELETE", "/api/v1/keys/a%00b", {}, b"", {422}),
        (47, "GET", "/api/v1/traces/" + "a" * 10_000, {}, b"", {422}),
        (48, "GET", "/static/app.css", {"range": "bytes=" + "0-0," * 10_000 + "0-0"}, b"", {200}),
        (49, "GET", "/healthz", {"host": "evil.example"}, b"", {400}),
        (63, "GET", "/api/v1/traces?app=a%0ab", {}, b"", {422}),
        (63, "GET", "/api/v1/traces?app=" + "a" * 1000, {}, b"", {422}),
        (63, "GET", "/api/v1/traces?app=%ED%A0%80", {}, b"", {200, 422}),
        (64, "GET", "/debug", {}, b"", {404}),
        (65, "POST", "/api/v1/feedback", JSON, MARK.encode() + b'"x"}', {201}),
        (69, "POST", "/api/v1/silences", JSON, b'{"ends_at": "2000-01-01T00:00:00Z"}', {422}),
        (69, "POST", "/api/v1/silences", JSON, b"{}", {422}),
        (70, "POST", "/api/v1/traces", {"content-type": "multipart/form-data"}, b"PK", {415}),
        (70, "POST", "/api/v1/traces", {"content-type": "application/zip"}, b"PK", {415}),
        (
            70,
            "POST",
            "/api/v1/traces",
            JSON | {"content-encoding": "gzip"},
            gzip.compress(b"[]", mtime=0),
            {415},
        ),
    ],
)
async def test_each_row_is_answered_as_listed(
    client: httpx.AsyncClient,
    row: int,
    method: str,
    path: str,
    headers: dict[str, str],
    body: bytes,
    expected: set[int],
) -> None:
    answer = await client.request(method, path, headers=headers, content=body)

    assert answer.status_code in expected, answer.text[:300]
    if answer.status_code >= 400 and not path.startswith("/v1/"):
        assert answer.headers["content-type"] == "application/problem+json"
        assert "Traceback" not in answer.text
        assert answer.json()["status"] == answer.status_code


async def test_row_50_a_foreign_pre_flight_gets_no_permission(client: httpx.AsyncClient) -> None:
    for origin in ("https://evil.example", "null"):
        headers = {
            "origin": origin,
            "access-control-request-method": "DELETE",
            "access-control-request-headers": "x-api-key",
        }
        answer = await client.options("/api/v1/keys", headers=headers)

        assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_row_53_a_megabyte_of_key_is_never_hashed(
    outsider: httpx.AsyncClient, locked: Services
) -> None:
    asked: list[str] = []
    locked.keys.authenticate = asked.append  # type: ignore[method-assign]

    answer = await outsider.get("/api/v1/traces", headers={"x-api-key": "k" * 1_000_000})

    assert answer.status_code == 401
    assert asked == []


async def test_row_64_what_describes_us_needs_a_key(outsider: httpx.AsyncClient) -> None:
    for path in ("/metrics", "/openapi.json", "/docs", "/", "/settings"):
        assert (await outsider.get(path)).status_code == 401, path


async def test_row_5_a_key_in_the_address_is_not_answered_nor_repeated(
    outsider: httpx.AsyncClient,
) -> None:
    answer = await outsider.get("/api/v1/traces?key=master-key&api_key=master-key")

    assert answer.status_code == 401
    assert "master-key" not in answer.text

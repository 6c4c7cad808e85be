"""A small OpenID Connect provider on loopback: discovery, keys, tokens; it can be made to lie."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from joserfc import jwk, jwt


@dataclass
class IdentityProvider:
    """What it knows, and how it lies."""

    port: int = 0
    claims: dict[str, Any] = field(default_factory=dict)
    """Override or (None) leave out claims of the next token."""
    header: dict[str, Any] = field(default_factory=dict)
    sign_with: Any = None
    """Another key than the published one."""
    token: str | None = None
    """Sent instead of a signed token."""
    now: float = field(default_factory=time.time)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    key: Any = None

    def __post_init__(self) -> None:
        self.change_key()

    def change_key(self) -> None:
        self.key = jwk.RSAKey.generate_key(2048, {"kid": secrets.token_hex(4), "use": "sig"})

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}/realm"

    def consent(self, address: str) -> tuple[str, str]:
        """What happens when the person agrees at `address`: the code and the state."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return code, asked["state"]

    def answer(self, method: str, path: str, form: dict[str, str], auth: str) -> tuple[int, Any]:
        if path == "/realm/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
            }
        if path == "/realm/keys":
            return 200, {"keys": [self.key.as_dict(private=False)]}
        if path == "/realm/token" and method == "POST":
            return self._exchange(form, auth)
        return 404, {}

    def _exchange(self, form: dict[str, str], auth: str) -> tuple[int, Any]:
        asked = self.codes.pop(form.get("code", ""), None)
        expected = "Basic " + base64.b64encode(b"monitor:hush").decode()
        if asked is None or auth != expected:
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        return 200, {"id_token": self.token or self._sign(asked["nonce"]), "token_type": "Bearer"}

    def _sign(self, nonce: str) -> str:
        claims: dict[str, Any] = {
            "iss": self.issuer,
            "aud": "monitor",
            "sub": "u-17",
            "iat": int(self.now),
            "exp": int(self.now) + 300,
            "nonce": nonce,
            "email": "mei@example.org",
            "email_verified": True,
            **self.claims,
        }
        key = self.sign_with or self.key
        header = {"alg": "RS256", "kid": self.key.kid, **self.header}
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(header, claims, key, algorithms=[header["alg"]])


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    """One that answers until the end of the block."""
    provider = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0"))).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            path = urlsplit(self.path).path
            provider.requests.append((path, form))
            status, found = provider.answer(
                self.command, path, form, self.headers.get("authorization", "")
            )
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _handle  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

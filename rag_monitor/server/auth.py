"""Who asks, and what they may do: keys in headers for programs, a signed cookie for people.

Keys are never looked for in a URL. Comparison is on hashes and takes equal time.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final

from fastapi import Depends, Request

from rag_monitor.domain.stored import ApiKey, KeyScope
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.errors import StoreUnavailable
from rag_monitor.i18n import Message, msgid
from rag_monitor.server.oidc import scopes_of
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.rates import FailureLimit, KeyLimit
from rag_monitor.server.scrapers import Scrapers
from rag_monitor.server.services import Services
from rag_monitor.server.validation import check_parameters

COOKIE: Final = "rag_monitor_session"
OIDC: Final = "oidc:"
"""The `key_id` of people whom the identity provider vouches for begins with it."""
CONFIGURED_KEY: Final = "configured"
"""The `key_id` of whoever holds the key from the configuration."""
SCOPES: Final = "needed_scopes"
"""Attribute of a dependency: the scopes of which a caller needs one."""
_MAX_KEY_LENGTH: Final = 512
_THREADS: Final = {"ingest": 4, "scrape": 1}
"""How many keys are looked up at once, by what for."""
_LOOKUP_S: Final = 5.0
"""How long a look-up may take."""
_ALL_SCOPES: Final = frozenset(KeyScope)
_REFUSED: Final = {
    "unknown": msgid("The key is not valid: nobody has it here."),
    "revoked": msgid("The key is not valid: it was revoked."),
    "expired": msgid(
        "The key is not valid: it has expired. Make another one with `rag-monitor keys create`."
    ),
}
"""What a caller is told of a key that opens nothing, by `Gate.ended`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks."""

    project: str
    scopes: frozenset[KeyScope]
    key_id: str | None = None
    """None on an open server."""
    name: str = ""
    requests_per_minute: int | None = None
    """The key's own limit; None: the server's."""

    def of(self, project: str) -> Principal:
        """The same caller at work in another project."""
        return replace(self, project=project)

    @property
    def operator(self) -> bool:
        """Whether this caller runs the installation: only they reach other projects.

        They hold the configured key, or are on an open server.
        """
        return self.key_id in {None, CONFIGURED_KEY} and KeyScope.ADMIN in self.scopes

    def allows(self, scope: KeyScope) -> bool:
        """Whether this caller may do what `scope` covers."""
        return scope in self.scopes or KeyScope.ADMIN in self.scopes


OPEN: Final = Principal(project=DEFAULT_PROJECT, scopes=_ALL_SCOPES, name="local")
"""Whoever reaches a server that needs no key."""
NOBODY: Final = Principal(project=DEFAULT_PROJECT, scopes=frozenset())
"""Whoever has not signed in yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a person's cookie says."""

    key_id: str | None
    project: str
    nonce: str
    name: str = ""
    roles: tuple[str, ...] = ()
    """Of somebody whom the identity provider vouches for."""


class Gate:
    """Authenticates requests. One per application."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._configured = services.settings.api_key
        seed = self._configured.encode() if self._configured else secrets.token_bytes(32)
        self._secret = hmac.digest(seed, b"rag-monitor/session/1", "sha256")
        self.failures = FailureLimit()
        self._limit = KeyLimit(services.settings.http.requests_per_minute)
        self._lookups = {
            purpose: ThreadPoolExecutor(threads, f"keys-of-{purpose}")
            for purpose, threads in _THREADS.items()
        }
        self._scrapers = Scrapers(partial(self._looked_up, "scrape"))

    @property
    def closed(self) -> bool:
        """Whether a key is needed at all."""
        return self._configured is not None

    def identify(self, request: Request) -> Principal:
        """Who sent the request; counts it against the key's limit. May block on the database.

        Raises:
            ProblemError: 401 without a valid key; 429 after too many wrong ones, or too many
                requests of this key.
        """
        return self._counted(self._who(request))

    def _counted(self, principal: Principal) -> Principal:
        if principal.key_id is not None:
            now = self._services.clock.monotonic()
            self._limit.admit(principal.key_id, principal.requests_per_minute, now)
        return principal

    async def identify_sender(self, request: Request) -> Principal:
        """As `identify`, for what brings traces: on threads and connections kept for it.

        Raises:
            ProblemError: As `identify`.
            StoreUnavailable: The database does not say in time who holds the key.
        """
        if not self._needs_database(request):
            return self.identify(request)
        return self._counted(await self._looked_up("ingest", request))

    async def identify_scraper(self, request: Request) -> Principal:
        """As `identify`, for scrapes: a key that was valid before is looked up afterwards.

        A scrape must not wait for the database, and must be answered while that does not answer.
        """
        if not self._needs_database(request):
            return self.identify(request)
        key = presented_key(request)
        shown = f"cookie {request.cookies[COOKIE]}" if key is None else f"key {key}"
        return self._counted(await self._scrapers.identify(request, shown))

    def _needs_database(self, request: Request) -> bool:
        """Whether only the database knows who sent the request."""
        key = presented_key(request)
        if key is None:
            return self.closed and COOKIE in request.cookies
        ours = self._configured is not None and self.same(key, self._configured)
        return _possible(key) and not ours

    async def _looked_up(self, purpose: str, request: Request) -> Principal:
        def look() -> Principal:
            with self._services.reserved():
                return self._who(request)

        loop = asyncio.get_running_loop()
        looking = loop.run_in_executor(self._lookups[purpose], look)
        try:
            return await asyncio.wait_for(looking, _LOOKUP_S)
        except TimeoutError:
            raise StoreUnavailable("the database has not said who holds the key") from None

    def _who(self, request: Request) -> Principal:
        key = presented_key(request)
        if key is not None:
            principal = self.try_key(key, request)
            if principal is not None:
                return principal
        if not self.closed:
            return OPEN
        if key is None and (session := self.session(request)) is not None:
            principal = self._by_session(session)
            if principal is not None:
                return principal
        raise ProblemError(
            401,
            msgid(
                "This server needs a key: send it as `X-API-Key: …` or `Authorization: Bearer …`."
            )
            if key is None
            else _REFUSED[self.ended(key)],
            kind="key-needed" if key is None else "key-invalid",
            headers={"WWW-Authenticate": 'Bearer realm="rag-monitor"'},
        )

    def try_key(self, key: str, request: Request) -> Principal | None:
        """Who holds the key; a wrong one counts against the address, too many raise 429."""
        clock = self._services.clock
        address = request.client.host if request.client else ""
        principal = self.check_key(key)
        if principal is None and self.closed:
            # Only wrong keys are slowed down: a guesser behind the same address, or one forgotten
            # application, must not lock out everybody else.
            self.failures.check(address, clock.monotonic())
            self.failures.record(address, clock.monotonic())
        return principal

    def check_key(self, key: str) -> Principal | None:
        """Who holds the key; None when nobody does."""
        if not _possible(key):
            return None
        if self._configured is not None and self.same(key, self._configured):
            return Principal(
                project=DEFAULT_PROJECT, scopes=_ALL_SCOPES, key_id=CONFIGURED_KEY, name="admin"
            )
        key_info = self._services.keys.authenticate(key)
        if key_info is None:
            return None
        return _holder(key_info)

    def ended(self, key: str) -> str:
        """Why a key that opens nothing does not: `revoked`, `expired`, or else `unknown`.

        Asked after `try_key`, which bounds how often an address is told. Only who holds the whole
        key learns of its end.
        """
        key_info = self._services.keys.find(key) if _possible(key) else None
        if key_info is None:
            return "unknown"
        return "expired" if key_info.revoked_at is None else "revoked"

    def _by_session(self, session: Session) -> Principal | None:
        if session.key_id == CONFIGURED_KEY:
            return Principal(
                project=session.project,
                scopes=_ALL_SCOPES,
                key_id=CONFIGURED_KEY,
                name="admin",
            )
        if session.key_id is not None and session.key_id.startswith(OIDC):
            return self._by_roles(session)
        now = self._services.clock.now()
        for key in self._services.keys.list(session.project):
            if key.id == session.key_id and key.alive(now):
                return _holder(key)
        return None

    def _by_roles(self, session: Session) -> Principal | None:
        """What the roles of the session give today, whatever they gave when it was opened."""
        options = self._services.settings.oidc
        if not options.enabled or session.project != options.project:
            return None
        scopes = scopes_of(options, session.roles)
        if not scopes:
            return None
        return Principal(
            project=options.project, scopes=scopes, key_id=session.key_id, name=session.name
        )

    def open_session(self, principal: Principal, roles: Sequence[str] = ()) -> str:
        """A signed cookie value for this person."""
        fields = {
            "key_id": principal.key_id,
            "project": principal.project,
            "nonce": secrets.token_urlsafe(18),
            "name": principal.name if (principal.key_id or "").startswith(OIDC) else "",
            "roles": list(roles),
        }
        return self.seal("session", fields, self._services.settings.http.session_hours * 3600)

    def session(self, request: Request) -> Session | None:
        """The session the request's cookie carries; None when it is missing, forged or over."""
        return self.read_session(request.cookies.get(COOKIE, ""))

    def read_session(self, value: str) -> Session | None:
        """The session in a cookie value; None unless we signed it and it is not over."""
        fields = self.unseal("session", value)
        if fields is None:
            return None
        return Session(
            key_id=fields["key_id"],
            project=fields["project"],
            nonce=fields["nonce"],
            name=fields["name"],
            roles=tuple(fields["roles"]),
        )

    def seal(self, purpose: str, fields: Mapping[str, Any], lifetime_s: float) -> str:
        """Fields as a signed text that fits a cookie. They are readable, not secret."""
        ends = self._services.clock.now().timestamp() + lifetime_s
        body = json.dumps({"for": purpose, "ends": ends, **fields}).encode()
        text = base64.urlsafe_b64encode(body).decode().rstrip("=")
        return f"{text}.{self._sign(text)}"

    def unseal(self, purpose: str, value: str) -> Mapping[str, Any] | None:
        """What `seal` signed for this purpose; None unless it did and it is not over."""
        text, _, signature = value.partition(".")
        if not text or not self.same(signature, self._sign(text)):
            return None
        fields: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        over = fields["ends"] <= self._services.clock.now().timestamp()
        return None if over or fields["for"] != purpose else fields

    def form_token(self, session: Session) -> str:
        """The token every form of this session carries."""
        return self._sign(f"form {session.nonce}")

    def check_form(self, session: Session | None, token: str) -> None:
        """Raise 403 unless the token belongs to the session."""
        if session is None or not self.same(token, self.form_token(session)):
            raise ProblemError(
                403,
                "The form is no longer valid. Reload the page and send it again.",
                kind="form-token",
            )

    @staticmethod
    def same(left: str, right: str) -> bool:
        """Equality in equal time, whatever the lengths."""
        both = [hashlib.sha256(text.encode("utf-8", "replace")).digest() for text in (left, right)]
        return hmac.compare_digest(*both)

    def _sign(self, text: str) -> str:
        digest = hmac.digest(self._secret, text.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def presented_key(request: Request) -> str | None:
    """The key in the headers: X-API-Key, Bearer, or the password of Basic (Langfuse clients)."""
    direct = request.headers.get("x-api-key")
    if direct is not None:
        return direct
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(value, validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return ""
        return pair.partition(":")[2]
    return None


def _holder(key: ApiKey) -> Principal:
    return Principal(
        project=key.project,
        scopes=key.scopes,
        key_id=key.id,
        name=key.name,
        requests_per_minute=key.requests_per_minute,
    )


def _possible(key: str) -> bool:
    return bool(key) and len(key) <= _MAX_KEY_LENGTH and key.isprintable()


def services_of(request: Request) -> Services:
    """The application's services."""
    services: Services = request.app.state.services
    return services


async def _services(request: Request) -> Services:
    """The same as a dependency: asynchronous, so that it takes no thread."""
    return services_of(request)


def gate_of(request: Request) -> Gate:
    """The application's gate."""
    gate: Gate = request.app.state.gate
    return gate


def needs(*scopes: KeyScope) -> Callable[[Request], Principal]:
    """A dependency: the caller, who has at least one of `scopes`."""

    def dependency(request: Request) -> Principal:
        """The caller."""
        principal = _permitted(gate_of(request).identify(request), scopes)
        check_parameters(request)
        return principal

    vars(dependency)[SCOPES] = scopes
    return dependency


async def _sender(request: Request) -> Principal:
    """Who brings traces."""
    principal = _permitted(await gate_of(request).identify_sender(request), _SENDING)
    if request.query_params:
        check_parameters(request)
    return principal


async def _scraper(request: Request) -> Principal:
    """Who reads figures without waiting for the database."""
    return _permitted(await gate_of(request).identify_scraper(request), _READING)


_SENDING: Final = (KeyScope.INGEST,)
_READING: Final = (KeyScope.READ,)
vars(_sender)[SCOPES] = _SENDING
vars(_scraper)[SCOPES] = _READING


def _permitted(principal: Principal, scopes: Sequence[KeyScope]) -> Principal:
    if any(principal.allows(scope) for scope in scopes):
        return principal
    wanted = " or ".join(f"`{scope.value}`" for scope in scopes)
    raise ProblemError(
        403,
        Message(
            "This key may not do that: it lacks the scope {wanted}. Make one that has it with "
            "`rag-monitor keys create`.",
            wanted=wanted,
        ),
        kind="scope-missing",
    )


ServicesOf = Annotated[Services, Depends(_services)]
Ingester = Annotated[Principal, Depends(_sender)]
Scraper = Annotated[Principal, Depends(_scraper)]
Reader = Annotated[Principal, Depends(needs(KeyScope.READ))]
Marker = Annotated[Principal, Depends(needs(KeyScope.INGEST, KeyScope.WRITE))]
Writer = Annotated[Principal, Depends(needs(KeyScope.WRITE))]
Admin = Annotated[Principal, Depends(needs(KeyScope.ADMIN))]

"""To the identity provider and back. What must be remembered travels in a signed, short cookie."""

from __future__ import annotations

import logging
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from rag_monitor.domain.stored import KeyScope
from rag_monitor.i18n import msgid
from rag_monitor.server import audit
from rag_monitor.server.auth import COOKIE, NOBODY, OIDC, Gate, Principal, gate_of, services_of
from rag_monitor.server.oidc import Attempt, Provider, SignInFailed, scopes_of
from rag_monitor.server.problems import ProblemError
from rag_monitor.server.services import Services
from rag_monitor.server.ui.actions import inside, login_form

router = APIRouter(include_in_schema=False)

ATTEMPT_COOKIE: Final = "rag_monitor_sign_in"
PATH: Final = "/login/oidc"
_ATTEMPT_S: Final = 600

logger = logging.getLogger(__name__)


def _provider(request: Request, services: Services) -> Provider:
    """The provider of this application, made once."""
    options = services.settings.oidc
    if not options.enabled:
        raise ProblemError(404, "Single sign-on is not set up here.", kind="not-found")
    provider: Provider | None = getattr(request.app.state, "identity_provider", None)
    if provider is None:
        back = f"{(services.settings.public_url or '').rstrip('/')}{PATH}/callback"
        clock = services.clock
        provider = Provider(options, back, now=lambda: clock.now().timestamp())
        request.app.state.identity_provider = provider
    return provider


@router.get(PATH)
def leave(request: Request) -> Response:
    """Send the browser to the identity provider."""
    services, gate = services_of(request), gate_of(request)
    provider = _provider(request, services)
    attempt = Attempt.begin()
    try:
        address = provider.address(attempt)
    except SignInFailed as error:
        return _failed(request, services, str(error))
    response = RedirectResponse(address, 303)
    fields = {
        "state": attempt.state,
        "nonce": attempt.nonce,
        "verifier": attempt.verifier,
        "next": inside(request),
    }
    response.set_cookie(
        ATTEMPT_COOKIE,
        gate.seal("attempt", fields, _ATTEMPT_S),
        max_age=_ATTEMPT_S,
        path=PATH,
        httponly=True,
        samesite="lax",
        secure=services.settings.https,
    )
    return response


@router.get(f"{PATH}/callback")
def come_back(request: Request, code: str = "", state: str = "") -> Response:
    """Take the person the provider vouches for in."""
    services, gate = services_of(request), gate_of(request)
    provider = _provider(request, services)
    kept = gate.unseal("attempt", request.cookies.get(ATTEMPT_COOKIE, ""))
    if kept is None or not code or not gate.same(state, kept["state"]):
        return _failed(request, services, "it was not begun in this browser, or took too long")
    attempt = Attempt(state=kept["state"], nonce=kept["nonce"], verifier=kept["verifier"])
    try:
        person = provider.person(code[:2000], attempt)
    except SignInFailed as error:
        return _failed(request, services, str(error))
    options = services.settings.oidc
    principal = Principal(
        project=options.project,
        scopes=scopes_of(options, person.roles),
        key_id=f"{OIDC}{person.subject}",
        name=person.name,
    )
    audit.record(services, request, principal, "login", roles=" ".join(person.roles))
    return _enter(gate, services, principal, person.roles, kept["next"])


def _enter(
    gate: Gate, services: Services, principal: Principal, roles: tuple[str, ...], target: str
) -> Response:
    response = RedirectResponse(target, 303)
    response.set_cookie(
        COOKIE,
        gate.open_session(principal, roles),
        max_age=int(services.settings.http.session_hours * 3600),
        httponly=True,
        samesite="lax",
        secure=services.settings.https,
    )
    response.delete_cookie(ATTEMPT_COOKIE, path=PATH)
    return response


def _failed(request: Request, services: Services, reason: str) -> Response:
    logger.warning("single sign-on failed: %s", reason)
    who = Principal(project=NOBODY.project, scopes=frozenset[KeyScope](), key_id=audit.NOBODY)
    audit.record(services, request, who, "login.failed", reason=reason)
    response = login_form(
        request, msgid("Single sign-on did not work. Try again, or use a key."), 401
    )
    response.delete_cookie(ATTEMPT_COOKIE, path=PATH)
    return response

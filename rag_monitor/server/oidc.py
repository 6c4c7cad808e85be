"""Signing in through a company's identity provider: OpenID Connect, code flow with PKCE.

Signatures are checked by joserfc and requests are made by Authlib's rules; what travels goes
through `outbound`, so that a provider's document cannot send us to an address we do not go to.
"""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from rag_monitor.config.options import OidcOptions
from rag_monitor.domain.stored import KeyScope
from rag_monitor.errors import ConfigurationError, OutboundRefused, RagMonitorError
from rag_monitor.installation import install_command
from rag_monitor.outbound.connection import Reply
from rag_monitor.outbound.guard import OutboundPolicy
from rag_monitor.outbound.http import OutboundFailed, request

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

ALGORITHMS: Final = ("RS256", "PS256", "ES256", "RS384", "RS512", "ES384", "ES512", "EdDSA")
"""Never `none`, and no algorithm whose key the client shares."""
_KEEP_S: Final = 600.0
"""How long the provider's document and keys are used before they are read again."""
_LEEWAY_S: Final = 60
_DEADLINE_S: Final = 10.0
_MAX_REPLY_BYTES: Final = 512 * 1024


class SignInFailed(RagMonitorError):  # noqa: N818 - named after what happened
    """The identity provider did not vouch for this person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What must be remembered between leaving for the provider and coming back."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def begin(cls) -> Attempt:
        """A fresh one."""
        return cls(
            state=secrets.token_urlsafe(24),
            nonce=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Whom the provider vouches for."""

    subject: str
    name: str
    roles: tuple[str, ...]
    """Those values of the configured claim that give scopes here."""


def scopes_of(options: OidcOptions, values: tuple[str, ...]) -> frozenset[KeyScope]:
    """What people with these values of the claim may do; empty: nothing at all."""
    wanted = set(values)
    if wanted & set(options.admins):
        return frozenset({KeyScope.READ, KeyScope.WRITE, KeyScope.ADMIN})
    if wanted & set(options.writers):
        return frozenset({KeyScope.READ, KeyScope.WRITE})
    if wanted & set(options.readers) or "*" in options.readers:
        return frozenset({KeyScope.READ})
    return frozenset()


class Provider:
    """One identity provider. Blocks on the network; thread-safe.

    Args:
        options: Which one, and who is who.
        redirect_uri: Where the provider sends people back to.
        now: Unix seconds.

    Raises:
        ConfigurationError: The libraries are not installed.
    """

    def __init__(
        self, options: OidcOptions, redirect_uri: str, now: Callable[[], float] = time.time
    ) -> None:
        try:
            import authlib  # noqa: F401 - an optional extra
            import joserfc  # noqa: F401
        except ImportError:
            raise ConfigurationError(
                "signing in with [oidc] needs its libraries: {command}",
                command=install_command("oidc"),
            ) from None
        self._options = options
        self._redirect_uri = redirect_uri
        self._now = now
        self._policy = OutboundPolicy(allow_hosts=options.allow_hosts)
        self._document: tuple[float, Mapping[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    def address(self, attempt: Attempt) -> str:
        """Where to send the person's browser.

        Raises:
            SignInFailed: The provider's document cannot be read.
        """
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        return str(
            prepare_grant_uri(
                self._endpoint("authorization_endpoint"),
                client_id=self._options.client_id,
                response_type="code",
                redirect_uri=self._redirect_uri,
                scope=self._options.scopes,
                state=attempt.state,
                nonce=attempt.nonce,
                code_challenge=create_s256_code_challenge(attempt.verifier),
                code_challenge_method="S256",
            )
        )

    def person(self, code: str, attempt: Attempt) -> Person:
        """Exchange the code the browser brought for a person.

        Raises:
            SignInFailed: The provider refused, or what it signed does not hold.
        """
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "code_verifier": attempt.verifier,
        }
        pair = f"{quote(self._options.client_id)}:{quote(self._options.client_secret)}"
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
            "Authorization": "Basic " + base64.b64encode(pair.encode()).decode(),
        }
        answer = self._json(
            self._endpoint("token_endpoint"), "POST", urlencode(form).encode(), headers
        )
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise SignInFailed("the identity provider sent no ID token")
        return self._person(self._claims(token, attempt))

    def _person(self, claims: Mapping[str, Any]) -> Person:
        options = self._options
        if options.claim == "email" and claims.get("email_verified") is not True:
            raise SignInFailed(
                "the identity provider has not verified this person's e-mail address"
            )
        given = claims.get(options.claim, ())
        values = [given] if isinstance(given, str) else given
        groups_in_use = {*options.admins, *options.writers, *options.readers}
        roles = tuple(
            sorted({v for v in values if isinstance(v, str) and v in groups_in_use})
            if isinstance(values, list | tuple)
            else ()
        )
        if not scopes_of(options, roles):
            raise SignInFailed("this person has no role here; ask an administrator for one")
        name = next((claims[k] for k in ("email", "name", "sub") if claims.get(k)), "")
        return Person(subject=str(claims["sub"])[:255], name=str(name)[:200], roles=roles)

    def _claims(self, token: str, attempt: Attempt) -> Mapping[str, Any]:
        """The claims of an ID token whose signature, issuer, audience, age and nonce hold."""
        from joserfc import jwt
        from joserfc.errors import JoseError

        registry = jwt.JWTClaimsRegistry(
            now=lambda: int(self._now()),
            leeway=_LEEWAY_S,
            iss={"essential": True, "value": self._options.issuer},
            aud={"essential": True, "value": self._options.client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": attempt.nonce},
        )
        try:
            try:
                read = jwt.decode(token, self._key_set(), algorithms=list(ALGORITHMS))
            except (JoseError, ValueError):
                # Providers change their keys at any time: look once whether they did.
                self._keys = None
                read = jwt.decode(token, self._key_set(), algorithms=list(ALGORITHMS))
            registry.validate(read.claims)
        except (JoseError, ValueError) as error:
            raise SignInFailed(
                "the ID token does not hold ({kind})", kind=type(error).__name__
            ) from error
        claims: Mapping[str, Any] = read.claims
        audience = claims["aud"]
        if isinstance(audience, list) and len(audience) > 1:
            party = claims.get("azp")
            if party != self._options.client_id:
                raise SignInFailed("the ID token was made for somebody else")
        return claims

    def _key_set(self) -> KeySet:
        from joserfc.jwk import KeySet

        kept = self._keys
        if kept is None or self._now() - kept[0] > _KEEP_S:
            keys = self._json(self._endpoint("jwks_uri"))
            kept = self._keys = (self._now(), KeySet.import_key_set(keys))  # type: ignore[arg-type]
        return kept[1]

    def _endpoint(self, name: str) -> str:
        kept = self._document
        if kept is None or self._now() - kept[0] > _KEEP_S:
            issuer = self._options.issuer
            configuration = self._json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            if configuration.get("issuer") != issuer:
                raise SignInFailed(
                    "the provider's document is of another issuer than {issuer}", issuer=issuer
                )
            kept = self._document = (self._now(), configuration)
        url = kept[1].get(name)
        if not isinstance(url, str) or not self._options.trusts(url):
            raise SignInFailed("the provider's document has no usable {name}", name=name)
        return url

    def _json(
        self,
        url: str,
        method: str = "GET",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Mapping[str, Any]:
        try:
            reply: Reply = request(
                method,
                url,
                body=body,
                headers=headers or {"Accept": "application/json"},
                policy=self._policy,
                deadline_s=_DEADLINE_S,
                max_reply_bytes=_MAX_REPLY_BYTES,
            )
            if reply.status != 200:
                raise SignInFailed("the identity provider answered {status}", status=reply.status)
            content = json.loads(reply.body)
        except (OutboundFailed, OutboundRefused, ValueError) as error:
            raise SignInFailed(
                "the identity provider cannot be used: {reason}", reason=error
            ) from error
        if not isinstance(content, dict):
            raise SignInFailed("the identity provider's answer is no JSON object")
        return content

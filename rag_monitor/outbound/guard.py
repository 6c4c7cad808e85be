"""Where we connect: a URL that a user configured must not lead into the server's own network.

Checked twice: when the URL is saved (its words), and when it is used (the addresses its host has at
that moment). The connection then goes to the address that was checked, so that a name which answers
differently a second time gains nothing.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from rag_monitor.errors import OutboundRefused
from rag_monitor.i18n import Message, msgid

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Sequence[str]]
"""Host and port to addresses."""

_SCHEMES: Final = {"http": 80, "https": 443}
_LOW_PORTS: Final = frozenset({80, 443})
_OTHER_PROTOCOLS: Final = frozenset(
    {1433, 1521, 2049, 2375, 2379, 3306, 3389, 5432, 5672, 5984, 6000, 6379, 6667, 9042, 9092}
    | {11211, 25672, 27017, 50000}
)
"""Ports above 1023 of databases, brokers and shells: HTTP has no business there."""
_HOST: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_INNER_NAMES: Final = (
    ".localhost",
    ".internal",
    ".local",
    ".localdomain",
    ".home.arpa",
    ".intranet",
)

# Ranges that wrap an IPv4 address, or reach one by a gateway: what they lead to cannot be checked.
_WRAPPED: Final = tuple(
    ipaddress.ip_network(text)
    for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")
)
_METADATA: Final = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "192.0.0.192",
        "fd00:ec2::254",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundPolicy:
    """What the operator allows beyond the public internet.

    >>> check_url("https://hooks.example.com/alerts?team=7", OutboundPolicy()).path
    '/alerts?team=7'
    >>> check_url("http://10.2.0.7/alerts", OutboundPolicy(allow_hosts=("10.2.0.0/16",))).port
    80
    >>> check_url("http://10.2.0.7/alerts", OutboundPolicy())
    Traceback (most recent call last):
    rag_monitor.errors.OutboundRefused: 10.2.0.7 is a private address; to allow it, set ...
    """

    allow_private: bool = False
    """Loopback and private networks; link-local and metadata addresses stay out."""
    allow_hosts: tuple[str, ...] = ()
    """Host names, addresses or networks (`10.2.0.0/16`) that may be reached whatever they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A checked URL, in the parts a connection needs."""

    scheme: str
    host: str
    """Lower case, without brackets."""
    port: int
    path: str
    """With the query."""

    @property
    def authority(self) -> str:
        """For the Host header."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _SCHEMES[self.scheme] else f"{name}:{self.port}"


def check_url(url: str, policy: OutboundPolicy) -> Target:
    """Take a URL apart and refuse what can be refused without asking the network.

    Raises:
        OutboundRefused: With the reason.
    """
    if any(ord(char) <= 0x20 or ord(char) >= 0x7F or char == "\\" for char in url):
        raise OutboundRefused(
            "the URL holds spaces, control or non-ASCII characters; write international names as "
            "xn--… and encode the rest"
        )
    try:
        parts = urlsplit(url)
        given = parts.port
    except ValueError as error:
        raise OutboundRefused("the URL cannot be read: {reason}", reason=error) from None
    scheme = parts.scheme.lower()
    if scheme not in _SCHEMES:
        raise OutboundRefused(
            "the URL must begin with https:// or http://, not {scheme!r}", scheme=scheme
        )
    if parts.username is not None or parts.password is not None:
        raise OutboundRefused("the URL holds a user name; put credentials into a header")
    host = (parts.hostname or "").rstrip(".").lower()
    port = given if given is not None else _SCHEMES[scheme]
    _check_port(port)
    _check_host(host, policy)
    path = parts.path or "/"
    return Target(
        scheme=scheme, host=host, port=port, path=f"{path}?{parts.query}" if parts.query else path
    )


def resolve(
    target: Target, policy: OutboundPolicy, timeout_s: float, resolver: Resolver | None = None
) -> list[str]:
    """The addresses to connect to, all of them checked.

    Raises:
        OutboundRefused: The name does not resolve in time, or one of its addresses is not allowed.
    """
    addresses = _look_up(target, timeout_s, resolver or system_resolver)
    named = _names_host(target.host, policy)
    for text in addresses:
        if not named:
            check_address(text, policy)
    return list(dict.fromkeys(addresses))


def check_address(given: str, policy: OutboundPolicy) -> None:
    """Refuse an address we do not connect to.

    Raises:
        OutboundRefused: With the reason.
    """
    address = _unwrapped(ipaddress.ip_address(given.split("%", 1)[0]))
    if _in_allowed_network(address, policy):
        return
    reason = _reason(address)
    if reason is None or (policy.allow_private and reason == "private"):
        return
    text = (
        msgid(
            "{address} is a {kind} address; to allow it, set allow_private or name it in "
            "allow_hosts"
        )
        if reason == "private"
        else msgid("{address} is a {kind} address; to allow it, name it in allow_hosts")
    )
    raise OutboundRefused(text, address=given, kind=reason)


def system_resolver(host: str, port: int) -> Sequence[str]:
    """What the machine's resolver says."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in entries]


def _check_port(port: int) -> None:
    if (port < 1024 and port not in _LOW_PORTS) or port in _OTHER_PROTOCOLS:
        raise OutboundRefused("port {port} is not one that web services listen on", port=port)


def _check_host(host: str, policy: OutboundPolicy) -> None:
    if not host:
        raise OutboundRefused("the URL has no host")
    if _names_host(host, policy):
        return
    literal = _literal(host)
    if literal is not None:
        check_address(str(literal), policy)
        return
    if not _HOST.fullmatch(host) or len(host) > 253:
        raise OutboundRefused("{host!r} is not a host name", host=host)
    inner = host == "localhost" or host.endswith(_INNER_NAMES) or "." not in host
    if inner and not policy.allow_private:
        raise OutboundRefused(
            "{host} is a name of an inner network; to allow it, set allow_private or name it in "
            "allow_hosts",
            host=host,
        )


def _literal(host: str) -> Address | None:
    """The address a host stands for, also in the old decimal, octal and hexadecimal forms."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if not re.fullmatch(r"[0-9a-fx.]+", host) or not re.search(
        r"(?:^|\.)(?:0x[0-9a-f]*|[0-9]+)$", host
    ):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        raise OutboundRefused("{host!r} is neither a host name nor an address", host=host) from None


def _unwrapped(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped


def _reason(address: Address) -> str | None:
    """Why an address is not of the public internet; None when it is."""
    if address in _METADATA:
        return "metadata"
    if address.is_unspecified:
        return "unspecified"
    if address.is_loopback:
        return "private"
    if address.is_link_local:
        return "link-local"
    if address.is_multicast or address == ipaddress.IPv4Address("255.255.255.255"):
        return "multicast"
    if isinstance(address, ipaddress.IPv6Address):
        if any(address in network for network in _WRAPPED):
            return "translated"
        if address.is_site_local:
            return "private"
    return None if address.is_global else "private"


def _names_host(host: str, policy: OutboundPolicy) -> bool:
    return host in {name.rstrip(".").lower() for name in policy.allow_hosts}


def _in_allowed_network(address: Address, policy: OutboundPolicy) -> bool:
    for text in policy.allow_hosts:
        try:
            network = ipaddress.ip_network(text, strict=False)
        except ValueError:
            continue  # a host name
        if address in network:
            return True
    return False


def _look_up(target: Target, timeout_s: float, resolver: Resolver) -> Sequence[str]:
    literal = _literal(target.host)
    if literal is not None:
        return [str(literal)]
    answers: list[Sequence[str]] = []
    errors: list[OSError] = []

    def work() -> None:
        try:
            answers.append(resolver(target.host, target.port))
        except OSError as error:
            errors.append(error)

    # The system's resolver has no deadline of its own.
    thread = threading.Thread(target=work, name="resolve", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if answers and answers[0]:
        return answers[0]
    reason = errors[0] if errors else Message("no answer in time")
    raise OutboundRefused("{host} does not resolve: {reason}", host=target.host, reason=reason)

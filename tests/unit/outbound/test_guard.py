"""Where we do not go, however the way there is written."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from rag_monitor.errors import OutboundRefused
from rag_monitor.outbound.guard import OutboundPolicy, check_address, check_url, resolve

PUBLIC = OutboundPolicy()
PRIVATE = OutboundPolicy(allow_private=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://[::1]/",
        "http://0.0.0.0/",
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://100.100.100.200/",
        "http://[fd00::1]/",
        "http://[fe80::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
        "http://[::127.0.0.1]/",
        "http://[ff02::1]/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://0x7f000001/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://a@127.0.0.1/",
        "http://ok.example@10.0.0.1/",
        "http://user:secret@hooks.example.com/",
        "http://127.0.0.1%2523@hooks.example.com/",
        "http://127.0.0.1%23.example.com/",
        "http://metadata.google.internal/",
        "http://app.localhost/",
        "http://printer.local/",
        "http://intranet/",
        "http://ｅxample.com/",
        "http://münchen.example/",
        "http://hooks.example.com\\@10.0.0.1/",
        "http://hooks.example.com/ a",
        "http://hooks.example.com/\r\nX-Evil: 1",
        "http://hooks.example.com:22/",
        "http://hooks.example.com:25/",
        "http://hooks.example.com:6379/",
        "http://hooks.example.com:5432/",
        "http://hooks.example.com:99999/",
        "http://hooks.example.com:abc/",
        "http:///path",
        "file:///etc/passwd",
        "gopher://hooks.example.com/",
        "ftp://hooks.example.com/",
        "unix:///run/docker.sock",
        "data:text/plain,x",
        "syslog://hooks.example.com/",
        "dbus://",
        "hooks.example.com",
        "",
    ],
)
def test_a_url_that_leads_inside_or_elsewhere_is_refused(url: str) -> None:
    with pytest.raises(OutboundRefused):
        check_url(url, PUBLIC)


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("https://hooks.example.com/a?b=c", "hooks.example.com", "/a?b=c"),
        ("https://Hooks.Example.COM.", "hooks.example.com", "/"),
        ("http://hooks.example.com:8080/x", "hooks.example.com:8080", "/x"),
        ("https://93.184.216.34/", "93.184.216.34", "/"),
        ("https://[2606:4700::1111]:8443/", "[2606:4700::1111]:8443", "/"),
        ("https://xn--mnchen-3ya.example/", "xn--mnchen-3ya.example", "/"),
    ],
)
def test_a_public_url_is_taken(url: str, authority: str, path: str) -> None:
    target = check_url(url, PUBLIC)

    assert (target.authority, target.path) == (authority, path)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9000/", "http://localhost:9000/", "http://10.0.0.7/", "http://nas/"]
)
def test_private_addresses_can_be_allowed(url: str) -> None:
    assert check_url(url, PRIVATE)


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/", "http://[fe80::1]/", "http://0.0.0.0/", "http://[fd00:ec2::254]/"],
)
def test_allowing_private_addresses_does_not_open_the_metadata_service(url: str) -> None:
    with pytest.raises(OutboundRefused, match="allow_hosts"):
        check_url(url, PRIVATE)


def test_one_host_or_network_can_be_allowed_by_name() -> None:
    policy = OutboundPolicy(allow_hosts=("alerts.internal", "10.2.0.0/16"))

    assert check_url("http://alerts.internal/", policy)
    assert check_url("http://10.2.3.4/", policy)
    with pytest.raises(OutboundRefused):
        check_url("http://10.3.0.1/", policy)


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "10.0.0.1"],
        ["93.184.216.34", "::1"],
        ["fe80::1%eth0"],
        ["169.254.169.254"],
    ],
)
def test_every_address_of_a_name_is_checked(addresses: list[str]) -> None:
    target = check_url("http://rebind.example/", PUBLIC)

    with pytest.raises(OutboundRefused):
        resolve(target, PUBLIC, 1.0, lambda host, port: addresses)


def test_a_name_that_is_allowed_may_have_any_address() -> None:
    policy = OutboundPolicy(allow_hosts=("alerts.internal",))
    target = check_url("http://alerts.internal/", policy)

    assert resolve(target, policy, 1.0, lambda host, port: ["10.0.0.9"]) == ["10.0.0.9"]


def test_a_name_that_does_not_resolve_is_refused() -> None:
    def nothing(host: str, port: int) -> Sequence[str]:
        raise OSError("Name or service not known")

    with pytest.raises(OutboundRefused, match="not known"):
        resolve(check_url("http://gone.example/", PUBLIC), PUBLIC, 1.0, nothing)


def test_a_resolver_that_hangs_is_left_alone() -> None:
    released = threading.Event()

    def hang(host: str, port: int) -> Sequence[str]:
        released.wait(10)
        return ["93.184.216.34"]

    with pytest.raises(OutboundRefused, match="in time"):
        resolve(check_url("http://slow.example/", PUBLIC), PUBLIC, 0.02, hang)
    released.set()


def test_an_address_is_named_in_the_refusal_with_the_way_to_allow_it() -> None:
    with pytest.raises(OutboundRefused, match=r"10\.0\.0\.1 is a private .*allow_private"):
        check_address("10.0.0.1", PUBLIC)

"""Whether gRPC is served: on by default where that is possible, an error where it was asked for."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_monitor.config import Settings, load_settings
from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command
from rag_monitor.server import grpc_door

ROOT = Path(__file__).resolve().parents[3]
needs_grpc = pytest.mark.skipif(not grpc_door.installed(), reason="needs the extra `grpc`")


async def _app(*_: object) -> None:
    raise AssertionError("nobody calls")


def _open(**given: str) -> object:
    variables = {f"RAG_MONITOR_{name.upper()}": value for name, value in given.items()}
    settings = load_settings(None, variables)
    return grpc_door.open_door(_app, settings)


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_the_address_is_that_of_the_server_with_the_port_of_otlp() -> None:
    assert grpc_door.address(Settings(host="::1")) == ("::1", 4317)
    named = load_settings(None, {"RAG_MONITOR_GRPC_HOST": "::1", "RAG_MONITOR_GRPC_PORT": "5"})
    assert grpc_door.address(named) == ("::1", 5)


async def test_it_can_be_switched_off() -> None:
    assert _open(grpc_enabled="false") is None


@pytest.mark.parametrize("role", ["api", "worker"])
async def test_a_process_that_takes_no_traces_does_not_listen(role: str) -> None:
    assert _open(role=role, grpc_enabled="true") is None


@needs_grpc
async def test_a_taken_default_port_is_a_warning(
    taken: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(grpc_door, "PORT", taken)
    with caplog.at_level(logging.WARNING):
        assert _open() is None
    assert f"OTLP over gRPC is off: cannot listen on 127.0.0.1:{taken}" in caplog.text
    assert "RAG_MONITOR_GRPC_PORT" in caplog.text


@needs_grpc
async def test_a_taken_port_that_was_asked_for_is_an_error(
    taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1:{taken}"):
        _open(grpc_port=str(taken))
    monkeypatch.setattr(grpc_door, "PORT", taken)
    with pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1:{taken}"):
        _open(grpc_enabled="true")


@needs_grpc
async def test_without_a_key_only_this_machine_is_served() -> None:
    with pytest.raises(ConfigurationError, match=r"refusing to listen on 0\.0\.0\.0 without a key"):
        _open(grpc_host="0.0.0.0", grpc_port="0")


@needs_grpc
async def test_two_servers_do_not_share_a_port() -> None:
    from rag_monitor.server.grpc_otlp import GrpcOtlp

    first, second = (GrpcOtlp(_app, max_bytes=1, max_inflight_bytes=1) for _ in range(2))
    port = first.bind("127.0.0.1", 0)
    with pytest.raises(ConfigurationError):
        second.bind("127.0.0.1", port)
    await first.stop(0)
    await second.stop(0)


@pytest.mark.parametrize("port", ["-1", "70000", "otlp"])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    with pytest.raises(ConfigurationError, match="port"):
        load_settings(None, {"RAG_MONITOR_GRPC_PORT": port})


_WITHOUT = """
import importlib.abc, importlib.metadata as metadata, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "grpc" or name.startswith(("backports.zstd", "google.rpc")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
version = metadata.version
def versions(name):
    if name in ("grpcio", "googleapis-common-protos"):
        raise metadata.PackageNotFoundError(name)
    return version(name)
metadata.version = versions
from rag_monitor.cli import main
main(sys.argv[1:])
"""


def _without(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT, *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_doctor_says_how_to_install_it(tmp_path: Path) -> None:
    needed = f"it needs grpcio 1.84 or newer: {install_command('grpc')}"

    done = _without(tmp_path, "doctor")
    asked_for = _without(tmp_path, "doctor", RAG_MONITOR_GRPC_ENABLED="true")
    chinese = _without(tmp_path, "doctor", "--language", "zh")

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"ok   grpc: off; {needed}" in done.stdout.replace("\n", " ")
    assert asked_for.returncode == 1
    assert f"BAD  grpc: {needed}" in asked_for.stdout.replace("\n", " ")
    assert f"未启用；需要 grpcio 1.84 或更新版本：{install_command('grpc')}" in chinese.stdout


def test_a_server_that_was_asked_for_it_says_how_to_install_it(tmp_path: Path) -> None:
    done = _without(
        tmp_path, "serve", "--port", "0", RAG_MONITOR_GRPC_ENABLED="true", RAG_MONITOR_ROLE="ingest"
    )

    assert done.returncode != 0
    assert install_command("grpc") in done.stderr
    assert "Traceback" not in done.stderr

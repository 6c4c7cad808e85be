"""The compose files: real settings, pinned images, files that exist, nothing open by accident."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag_monitor.config import FOREIGN_VARIABLES, load_settings
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions
from rag_monitor.judges.packed.options import PackedOptions
from rag_monitor.server.csrf import answered_hosts
from tests.unit.deploy.compose_project import ComposeError, project

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
FILES = ("compose.yaml", "compose.gpu.yaml")
VALUES = {
    "POSTGRES_PASSWORD": "p4ss",
    "RAG_MONITOR_API_KEY": "k" * 43,
    "GRAFANA_PASSWORD": "g",
    "JUDGE_MODEL_DIR": "/models",
}
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def _fill(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        name, kind, rest = match.groups()
        return VALUES.get(name, rest if kind == "-" else "")

    return _VARIABLE.sub(value, text)


def _load(name: str) -> dict[str, Any]:
    return yaml.safe_load(_fill((DEPLOY / name).read_text("utf-8")))


def _services() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (file, name, service) for file in FILES for name, service in _load(file)["services"].items()
    ]


def _ours() -> list[tuple[str, dict[str, Any]]]:
    return [
        (name, service)
        for _, name, service in _services()
        if str(service.get("image", "")).startswith("rag-monitor:") and "extends" not in service
    ]


@pytest.mark.parametrize(("file", "name", "service"), _services())
def test_every_image_has_a_fixed_tag(file: str, name: str, service: dict[str, Any]) -> None:
    image, _, tag = service["image"].rpartition(":")
    assert image, f"{file}: {name}"
    assert tag not in {"", "latest"}


def test_all_roles_run_and_wait_for_the_schema() -> None:
    services = dict(_ours())
    assert services["migrate"]["command"] == ["migrate"]
    for role in ("ingest", "api", "worker"):
        assert services[role]["command"] == ["serve", "--role", role]
        waits = services[role]["depends_on"]["migrate"]["condition"]
        assert waits == "service_completed_successfully"


def test_ingest_is_published_for_http_and_grpc() -> None:
    ports = dict(_ours())["ingest"]["ports"]
    assert {tuple(port.split(":")[1:]) for port in ports} == {("4318", "8700"), ("4317", "4317")}


@pytest.mark.parametrize(("name", "service"), _ours())
def test_our_containers_can_do_nothing_they_need_not(name: str, service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert "/tmp" in service["tmpfs"]


@pytest.mark.parametrize(("name", "service"), _ours())
def test_settings_are_ones_the_monitor_knows(name: str, service: dict[str, Any]) -> None:
    environment = {key: str(value) for key, value in service["environment"].items()}
    file = DEPLOY / "compose" / "rag_monitor.toml"
    settings = load_settings(file, environment, {"host": "0.0.0.0"})

    assert settings.database_url.startswith("postgresql+psycopg://rag_monitor:p4ss@postgres:5432/")
    assert settings.api_key == VALUES["RAG_MONITOR_API_KEY"]
    assert answered_hosts(settings) is None


def test_the_judges_options_are_ones_they_know() -> None:
    served = load_settings(DEPLOY / "compose" / "rag_monitor.toml", {}).judges
    packed = load_settings(DEPLOY / "compose" / "gpu.toml", {}).judges

    options = OpenAICompatibleOptions(**served["openai_compatible"])
    vllm = _load("compose.gpu.yaml")["services"]["vllm"]["command"]
    assert f"--served-model-name={options.model}" in vllm
    assert PackedOptions(**packed["packed"]).device == "cuda"


def test_secrets_must_be_set_and_are_not_in_the_files() -> None:
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    for name in ("POSTGRES_PASSWORD", "RAG_MONITOR_API_KEY", "GRAFANA_PASSWORD"):
        assert f"${{{name}:?" in text
    example = (DEPLOY / "compose" / "example.env").read_text("utf-8")
    assert re.findall(r"(?m)^(\w*(?:PASSWORD|KEY))=(.+)$", example) == []


def test_every_variable_of_the_files_is_explained_in_the_example() -> None:
    example = (DEPLOY / "compose" / "example.env").read_text("utf-8")
    names = {match[0] for match in _VARIABLE.findall((DEPLOY / "compose.yaml").read_text("utf-8"))}
    for name in names - {"INGEST_BIND", "API_BIND"}:
        assert f"\n{name}=" in f"\n{example}"


def test_mounted_files_exist() -> None:
    for file, name, service in _services():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("./"):
                assert (DEPLOY / source).exists(), f"{file}: {name}: {source}"


def test_nothing_is_published_beyond_this_machine_by_default() -> None:
    for _, name, service in _services():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name}: {port}"


def test_named_volumes_and_secrets_are_declared() -> None:
    content = _load("compose.yaml")
    for service in content["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source.startswith(("./", "/")) or source in content["volumes"]
        assert set(service.get("secrets", [])) <= set(content["secrets"])


def test_prometheus_asks_every_role_with_the_key() -> None:
    (job,) = yaml.safe_load((DEPLOY / "compose" / "prometheus.yml").read_text())["scrape_configs"]
    services = _load("compose.yaml")
    (found,) = job["dns_sd_configs"]
    assert set(found["names"]) == {"ingest", "api", "worker"} <= set(services["services"])
    assert found["port"] == 8700
    (secret,) = services["services"]["prometheus"]["secrets"]
    assert job["authorization"]["credentials_file"] == f"/run/secrets/{secret}"
    assert services["secrets"][secret]["environment"] == "RAG_MONITOR_API_KEY"


def test_foreign_variables_are_read_by_the_command_line() -> None:
    assert "CONFIG" in FOREIGN_VARIABLES


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on the PATH")
def test_promtool_accepts_the_configuration() -> None:
    command = ["promtool", "check", "config", "--syntax-only", "prometheus.yml"]
    done = subprocess.run(command, cwd=DEPLOY / "compose", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("files", [FILES[:1], FILES], ids=["plain", "gpu"])
def test_the_files_are_one_valid_project_without_an_engine(files: tuple[str, ...]) -> None:
    found = project([DEPLOY / file for file in files], VALUES)["services"]

    assert {"postgres", "migrate", "ingest", "api", "worker"} <= set(found)
    if len(files) > 1:
        worker = found["worker-packed"]
        assert worker["environment"]["RAG_MONITOR_JUDGE"] == "packed"
        assert worker["read_only"] is True
        mounts = [volume.split(":")[1] for volume in worker["volumes"]]
        assert sorted(mounts) == ["/etc/rag-monitor/rag_monitor.toml", "/models/judge"]


@pytest.mark.parametrize("missing", sorted(set(VALUES)))
def test_a_value_that_must_be_set_is_asked_for(missing: str) -> None:
    values = {name: value for name, value in VALUES.items() if name != missing}
    with pytest.raises(ComposeError, match=f"{missing}.* is missing: set {missing}"):
        project([DEPLOY / file for file in FILES], values)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ("image: a:1\n    dpends_on: [x]", "dpends_on"),
        ("image: a:1\n    ports: {a: 1}", "ports"),
        ("image: a:1\n    restart: 7", "restart"),
        ("image: a:1\n    depends_on: [x]", "waits for x"),
        ("image: a:1\n    volumes: [data:/data]", "volume data is not declared"),
        ("image: a:1\n    secrets: [key]", "secrets"),
        ("image: a:${TAG:?set TAG}", "TAG is missing"),
        ("image: a:1\n    command: [sh, -c, 'echo $(date)']", "invalid interpolation"),
        (
            "image: a:1\n    ports: ['127.0.0.1:80:80']\n  b:\n    image: b:1\n"
            "    ports: ['127.0.0.1:80:81']",
            "both listen",
        ),
    ],
)
def test_what_compose_would_refuse_is_refused(tmp_path: Path, broken: str, says: str) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(f"services:\n  a:\n    {broken}\n")
    with pytest.raises(ComposeError, match=says):
        project([file], {})


def _has_compose() -> bool:
    if shutil.which("docker") is None:
        return False
    done = subprocess.run(["docker", "compose", "version"], capture_output=True)
    return done.returncode == 0


@pytest.mark.parametrize("files", [FILES[:1], FILES], ids=["plain", "gpu"])
def test_docker_compose_accepts_the_files(files: tuple[str, ...]) -> None:
    if not _has_compose():
        pytest.skip("no docker compose on this machine")
    chosen = [part for file in files for part in ("-f", str(DEPLOY / file))]
    done = subprocess.run(
        ["docker", "compose", *chosen, "--profile", "packed", "--profile", "vllm", "config"],
        env={**os.environ, **VALUES},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr

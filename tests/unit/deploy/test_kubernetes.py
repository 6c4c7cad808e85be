"""The Kubernetes manifests: schemas where they are installed, and the promises of our own."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from rag_monitor.config import load_settings
from rag_monitor.server.grpc_door import PORT

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "kubernetes"
SECRET = {
    "RAG_MONITOR_DATABASE_URL": "postgresql+psycopg://u:p@db/rag_monitor",
    "RAG_MONITOR_API_KEY": "k",
}


def _resources() -> list[dict[str, Any]]:
    names = yaml.safe_load((FOLDER / "kustomization.yaml").read_text("utf-8"))["resources"]
    return [
        document
        for name in names
        for document in yaml.safe_load_all((FOLDER / name).read_text("utf-8"))
    ]


def _kind(kind: str) -> dict[str, dict[str, Any]]:
    return {r["metadata"]["name"]: r for r in _resources() if r["kind"] == kind}


def _pods() -> list[tuple[str, dict[str, Any]]]:
    return [
        (r["metadata"]["name"], r["spec"]["template"])
        for r in _resources()
        if r["kind"] in {"Deployment", "Job"}
    ]


def test_no_two_resources_share_a_name() -> None:
    keys = [(r["kind"], r["metadata"]["name"]) for r in _resources()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("version", ["1.31", "1.34"])
def test_the_schemas_of_kubernetes_accept_the_manifests(version: str) -> None:
    validator = pytest.importorskip(
        "kubernetes_validate", reason="schemas: pip install kubernetes-validate"
    )
    for resource in _resources():
        if "coreos" not in resource["apiVersion"]:
            validator.validate(resource, version, strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on the PATH")
@pytest.mark.parametrize("folder", [FOLDER, FOLDER.parent / "grafana"])
def test_kustomize_builds(folder: Path) -> None:
    done = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "pod"), _pods())
def test_pods_keep_the_restricted_standard(name: str, pod: dict[str, Any]) -> None:
    spec = pod["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        assert mounts == {volume["name"] for volume in spec["volumes"]}


def _listens(role: str) -> dict[str, int]:
    return {"http": 8700} | ({"grpc": PORT} if role == "ingest" else {})


@pytest.mark.parametrize("role", ["ingest", "api", "worker"])
def test_each_role_is_reached_budgeted_and_probed(role: str) -> None:
    deployment = _kind("Deployment")[role]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    assert container["args"] == ["serve", "--role", role]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == _listens(role)
    for selector in (
        deployment["spec"]["selector"]["matchLabels"],
        _kind("Service")[role]["spec"]["selector"],
        _kind("PodDisruptionBudget")[role]["spec"]["selector"]["matchLabels"],
    ):
        assert selector.items() <= labels.items()


def test_a_stopping_worker_may_drain_before_it_is_killed() -> None:
    pod = _kind("Deployment")["worker"]["spec"]["template"]["spec"]
    text = _kind("ConfigMap")["rag-monitor-settings"]["data"]["rag_monitor.toml"]
    assert "drain_s = 20.0" in text
    assert pod["terminationGracePeriodSeconds"] > 20 + 10


def test_settings_are_ones_the_monitor_knows(tmp_path: Path) -> None:
    maps = _kind("ConfigMap")
    file = tmp_path / "rag_monitor.toml"
    file.write_text(maps["rag-monitor-settings"]["data"]["rag_monitor.toml"])
    settings = load_settings(file, maps["rag-monitor"]["data"] | SECRET)
    assert settings.worker.drain_s == 20


def test_workers_scale_on_the_queue_that_we_export() -> None:
    scaler = _kind("HorizontalPodAutoscaler")["worker"]["spec"]
    metric = scaler["metrics"][0]["external"]["metric"]
    (rule,) = yaml.safe_load((FOLDER / "adapter-values.yaml").read_text())["rules"]["external"]
    assert metric["name"] == rule["name"]["as"] == "rag_monitor_queue_depth"
    assert metric["selector"]["matchLabels"] == {"queue": "evaluation"}
    assert rule["metricsQuery"].startswith("max(")
    for name, scaled in _kind("HorizontalPodAutoscaler").items():
        target = scaled["spec"]["scaleTargetRef"]["name"]
        assert target == name
        assert "replicas" not in _kind("Deployment")[target]["spec"]


def test_prometheus_finds_the_services_and_has_the_key() -> None:
    spec = _kind("ServiceMonitor")["rag-monitor"]["spec"]
    (endpoint,) = spec["endpoints"]
    for service in _kind("Service").values():
        assert spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert endpoint["authorization"]["credentials"]["key"] in SECRET


@pytest.mark.parametrize("role", ["ingest", "api", "worker"])
def test_the_network_policies_open_only_the_ports_that_a_role_listens_on(role: str) -> None:
    labels = _kind("Deployment")[role]["spec"]["template"]["metadata"]["labels"]
    opened = {
        port["port"]
        for policy in _kind("NetworkPolicy").values()
        if policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
        for rule in policy["spec"]["ingress"]
        for port in rule["ports"]
    }
    assert opened == set(_listens(role).values())
    assert set(_kind("NetworkPolicy")["rag-monitor"]["spec"]["policyTypes"]) == {
        "Ingress",
        "Egress",
    }


def test_applications_reach_ingest_over_http_and_grpc() -> None:
    ports = _kind("Service")["ingest"]["spec"]["ports"]
    assert {port["port"]: port["targetPort"] for port in ports} == {4318: "http", PORT: "grpc"}


def _build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kubernetes_build", FOLDER / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_prometheus_rule_is_what_prometheus_reads() -> None:
    assert _kind("PrometheusRule")["rag-monitor"] == _build().manifest()

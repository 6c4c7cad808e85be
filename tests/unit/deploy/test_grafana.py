"""Dashboards are what their code says, link to pages that exist and ask for metrics we export."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from rag_monitor import telemetry
from rag_monitor.exposition.collector import State, state_families, value_families
from rag_monitor.exposition.snapshot import Snapshot

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "grafana"
PAGES = {"/", "/traces", "/sessions", "/alerts"}


def _build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("grafana_build", FOLDER / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = _build()


def _dashboards() -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text("utf-8")) for path in FOLDER.glob("dashboards/*")}


def _exported() -> set[str]:
    names = set()
    ours = (*state_families(State(store_up=True)), *value_families(Snapshot()))
    for family in [*ours, *telemetry.REGISTRY.collect()]:
        endings = {
            "counter": ["_total"],
            "histogram": ["_bucket", "_sum", "_count"],
        }.get(family.type, [""])
        names |= {family.name + ending for ending in endings}
    return names


def test_committed_dashboards_are_what_the_code_builds() -> None:
    built = {uid: json.loads(json.dumps(BUILD.dashboard(uid))) for uid in BUILD.DASHBOARDS}
    assert _dashboards() == built, "run python deploy/grafana/build.py"


@pytest.mark.parametrize("uid", BUILD.DASHBOARDS)
def test_every_metric_asked_for_is_exported(uid: str) -> None:
    for panel in _dashboards()[uid]["panels"]:
        for target in panel["targets"]:
            asked = set(re.findall(r"\brag_monitor_\w+", target["expr"]))
            assert asked, panel["title"]
            assert asked <= _exported(), panel["title"]


_AGGREGATED = re.compile(
    r"\b(?:avg|sum|min|max|quantile|topk|bottomk)\b\s*(?:by\s*\(([^)]*)\))?\s*\(\s*(rag_monitor_\w+)"
)


@pytest.mark.parametrize("uid", BUILD.DASHBOARDS)
def test_no_panel_takes_a_mean_of_releases_for_the_app(uid: str) -> None:
    """A release with ten traces is no half of the app: `rag_monitor_app_score` weighs them."""
    for panel in _dashboards()[uid]["panels"]:
        for target in panel["targets"]:
            for by, metric in _AGGREGATED.findall(target["expr"]):
                if re.match(r"rag_monitor_score(_lower|_upper)?$", metric):
                    kept = {label.strip() for label in by.split(",")}
                    assert "release" in kept, (panel["title"], target["expr"])


@pytest.mark.parametrize("uid", BUILD.DASHBOARDS)
def test_panels_have_a_place_of_their_own(uid: str) -> None:
    taken: set[tuple[int, int]] = set()
    panels = _dashboards()[uid]["panels"]
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.parametrize("uid", BUILD.DASHBOARDS)
def test_links_lead_to_our_pages(uid: str) -> None:
    dashboard = _dashboards()[uid]
    links = [link for link in dashboard["links"] if link["type"] == "link"]
    links += [
        link for panel in dashboard["panels"] for link in panel["fieldConfig"]["defaults"]["links"]
    ]
    assert links
    for link in links:
        base, _, path = link["url"].partition("}")
        assert base == "${monitor"
        assert path.partition("?")[0] in PAGES


def test_the_public_address_is_the_builders_to_choose() -> None:
    dashboard = BUILD.dashboard("rag-monitor-quality", "https://rag.example.com")
    (variable,) = [v for v in dashboard["templating"]["list"] if v["name"] == "monitor"]
    assert variable["current"]["value"] == "https://rag.example.com"


def test_provisioning_names_the_folder_that_compose_mounts() -> None:
    providers = yaml.safe_load(
        (FOLDER / "provisioning" / "dashboards" / "rag_monitor.yaml").read_text()
    )["providers"]
    compose = yaml.safe_load((FOLDER.parent / "compose.yaml").read_text())
    mounts = [volume.split(":") for volume in compose["services"]["grafana"]["volumes"]]
    assert ["./grafana/dashboards", providers[0]["options"]["path"], "ro"] in mounts


def test_the_data_source_has_the_name_dashboards_begin_with() -> None:
    (source,) = yaml.safe_load(
        (FOLDER / "provisioning" / "datasources" / "prometheus.yaml").read_text()
    )["datasources"]
    for dashboard in _dashboards().values():
        (variable,) = [v for v in dashboard["templating"]["list"] if v["name"] == "datasource"]
        assert variable["current"]["value"] == source["uid"]


def test_kustomize_ships_every_dashboard() -> None:
    content = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    (generator,) = content["configMapGenerator"]
    assert set(generator["files"]) == {f"dashboards/{uid}.json" for uid in BUILD.DASHBOARDS}

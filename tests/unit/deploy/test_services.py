"""The systemd unit and the Collector's configurations, as far as they can be checked here."""

from __future__ import annotations

from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag_monitor.config import load_settings

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
COLLECTORS = sorted(path.name for path in (DEPLOY / "otel-collector").glob("*.yaml"))


class _Unit(dict[str, Any]):
    """Keys of a unit may come several times."""

    def __setitem__(self, key: str, value: Any) -> None:
        if key in self and isinstance(value, list):
            value = [*self[key], *value]
        super().__setitem__(key, value)


def _unit() -> RawConfigParser:
    parser = RawConfigParser(strict=False, dict_type=_Unit, comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "systemd" / "rag-monitor.service", "utf-8")
    return parser


def test_the_unit_runs_the_server_and_starts_it_again() -> None:
    service = _unit()["Service"]
    assert service["ExecStart"].endswith("/bin/rag-monitor serve")
    assert service["Restart"] == "always"
    assert service["DynamicUser"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert int(service["TimeoutStopSec"]) > load_settings(None, {}).worker.drain_s + 10


def test_the_units_settings_are_ones_the_monitor_knows() -> None:
    lines = _unit()["Service"]["Environment"].splitlines()
    settings = load_settings(None, dict(line.split("=", 1) for line in lines))
    folder = _unit()["Service"]["WorkingDirectory"]
    assert settings.database_url == f"sqlite:///{folder}/rag_monitor.db"
    assert folder == f"/var/lib/{_unit()['Service']['StateDirectory']}"


def _collector(name: str) -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "otel-collector" / name).read_text("utf-8"))


@pytest.mark.parametrize("name", COLLECTORS)
def test_pipelines_use_what_is_defined_and_all_of_it(name: str) -> None:
    content = _collector(name)
    pipelines = content["service"]["pipelines"].values()
    for kind in ("receivers", "processors", "exporters"):
        used = {part for pipeline in pipelines for part in pipeline.get(kind, [])}
        assert used == set(content.get(kind, {})), kind
    assert set(content["service"].get("extensions", [])) == set(content.get("extensions", {}))


@pytest.mark.parametrize("name", COLLECTORS)
def test_nothing_is_batched_in_memory_or_given_up(name: str) -> None:
    content = _collector(name)
    assert not [part for part in content.get("processors", {}) if part.startswith("batch")]
    for exporter in content["exporters"].values():
        assert exporter["retry_on_failure"]["max_elapsed_time"] == "0s"


def test_the_queue_is_on_disk() -> None:
    content = _collector("config.yaml")
    queue = content["exporters"]["otlphttp/rag_monitor"]["sending_queue"]
    assert queue["storage"] in content["extensions"]
    assert content["extensions"][queue["storage"]]["fsync"] is True


def test_kafka_offsets_move_only_after_the_commit() -> None:
    content = _collector("kafka-consumer.yaml")
    assert content["receivers"]["kafka"]["autocommit"] == {"enable": False}
    assert content["receivers"]["kafka"]["message_marking"] == {"after": True, "on_error": False}
    assert content["exporters"]["otlphttp/rag_monitor"]["sending_queue"] == {"enabled": False}


def test_both_halves_name_one_topic() -> None:
    produced = _collector("kafka-producer.yaml")["exporters"]["kafka"]["traces"]
    consumed = _collector("kafka-consumer.yaml")["receivers"]["kafka"]["traces"]
    assert produced == consumed


@pytest.mark.parametrize("name", ["config.yaml", "kafka-consumer.yaml"])
def test_the_key_comes_from_the_environment(name: str) -> None:
    exporter = _collector(name)["exporters"]["otlphttp/rag_monitor"]
    assert exporter["headers"] == {"authorization": "Bearer ${env:RAG_MONITOR_API_KEY}"}
    assert exporter["endpoint"] == "${env:RAG_MONITOR_URL}"


def test_the_collector_takes_no_larger_request_than_we_do() -> None:
    http = _collector("config.yaml")["receivers"]["otlp"]["protocols"]["http"]
    assert http["max_request_body_size"] <= load_settings(None, {}).http.max_body_bytes

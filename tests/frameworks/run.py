"""Runs the scenarios with the newest releases and keeps what their exporters send.

    python -m tests.frameworks.run --venvs .frameworks --out DIR [NAME ...]

Frameworks do not fit into one environment, so each has one of its own below `--venvs`. A framework
that does not install, or a case that fails, leaves its reason in the file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.fixtures.otlp.generate import Listener, as_json, listening
from tests.frameworks.model_server import Model

HERE: Final = Path(__file__).resolve().parent
FIXTURES: Final = HERE.parent / "fixtures" / "otlp" / "frameworks"
EXPORTER: Final = "opentelemetry-exporter-otlp-proto-http"
PACKAGES: Final[dict[str, tuple[str, ...]]] = {
    "crewai": (
        "crewai",
        "openinference-instrumentation-crewai",
        "openinference-instrumentation-openai",
        "opentelemetry-instrumentation-crewai",
        "opentelemetry-instrumentation-openai",
    ),
    "google_adk": ("google-adk", "litellm"),
    "haystack": (
        "haystack-ai",
        "openinference-instrumentation-haystack",
        "opentelemetry-instrumentation-haystack",
        "opentelemetry-instrumentation-openai",
    ),
    "haystack_2": (
        "haystack-ai<3",
        "opentelemetry-instrumentation-haystack",
        "opentelemetry-instrumentation-openai",
    ),
    "litellm": ("litellm",),
    "llama_index": (
        "llama-index-core",
        "llama-index-llms-openai-like",
        "openinference-instrumentation-llama-index",
        "opentelemetry-instrumentation-llamaindex",
    ),
    "logfire": ("logfire", "openai"),
    "openai_agents": (
        "openai-agents",
        "openinference-instrumentation-openai-agents",
        "opentelemetry-instrumentation-openai-agents",
    ),
    "pydantic_ai": ("pydantic-ai-slim[openai]",),
    "smolagents": ("smolagents[openai]", "openinference-instrumentation-smolagents"),
    "strands": ("strands-agents[openai,otel]",),
}
"""What the scenario of a framework needs. OpenLLMetry does not know Haystack 3 yet."""
_MACHINE: Final = ("host.", "process.", "os.", "code.")
_QUIET: Final = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "0",
    "TRACELOOP_TRACE_CONTENT": "true",
    "TRACELOOP_TELEMETRY": "false",
}
"""Nothing leaves the machine."""
_CASE_LIMIT_S: Final = 900
"""A case needs eight seconds of a processor, nearly all of them to import the framework, and up to
twenty times that on a machine that does much else."""
_INSTALL_LIMIT_S: Final = 1_800
_DUMP_LIMIT_S: Final = 60


class SkippedError(Exception):
    """A framework cannot be run here; the message says why."""


def environment(name: str, folder: Path) -> Path:
    """The Python of the framework's environment, with the newest releases.

    The exporter comes last: of a newer OpenTelemetry than a framework allows it must be an older
    one, not the framework.
    """
    python = folder / name / "bin" / "python"
    if not python.exists():
        _do("python -m venv", [sys.executable, "-m", "venv", str(folder / name)], 300)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    _do("pip install", [*pip, "--upgrade", *PACKAGES[name]], _INSTALL_LIMIT_S)
    pinned = [f"{package}=={found}" for package, found in _versions(python, PACKAGES[name]).items()]
    _do("pip install", [*pip, *pinned, EXPORTER], _INSTALL_LIMIT_S)
    return python


def captured(name: str, python: Path) -> dict[str, Any]:
    """What every case of a framework exports."""
    script = HERE / "scenarios" / f"rag_{name.removesuffix('_2')}.py"
    cases = _do(script.name, [str(python), str(script)], _CASE_LIMIT_S).split()
    found: dict[str, Any] = {"made_by": _versions(python, PACKAGES[name]), "cases": {}}
    for case in cases:
        try:
            found["cases"][case] = _case(python, script, case)
        except SkippedError as reason:
            found.setdefault("skipped", {})[case] = str(reason)
    return found


def _case(python: Path, script: Path, case: str) -> dict[str, Any]:
    sent: list[tuple[str, bytes]] = []
    listener = type("L", (_Listener,), {"sent": sent})
    with listening(Model) as model, listening(listener) as sink:
        variables = {
            **{k: v for k, v in os.environ.items() if not k.startswith("OTEL_")},
            **_QUIET,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{model}/v1",
            "OPENAI_API_BASE": f"{model}/v1",
            "OTEL_EXPORTER_OTLP_ENDPOINT": sink,
        }
        _do(f"{script.name} {case}", [str(python), str(script), case], _CASE_LIMIT_S, variables)
    found = scrubbed(as_json([body for path, body in sent if path == "/v1/traces"]))
    logs = [
        resource
        for path, body in sent
        if path == "/v1/logs"
        for resource in MessageToDict(ExportLogsServiceRequest.FromString(body))["resourceLogs"]
    ]
    return {**found, "resourceLogs": logs} if logs else found


class _Listener(Listener):
    """Takes what exporters send, of every kind."""

    sent: list[tuple[str, bytes]]

    def keep(self, body: bytes) -> None:
        self.sent.append((self.path, body))


def scrubbed(request: dict[str, Any]) -> dict[str, Any]:
    """Without what tells of the machine."""
    for resource in request["resourceSpans"]:
        _without_machine(resource.get("resource", {}))
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                _without_machine(span)
                for event in span.get("events", []):
                    _without_machine(event)
    return request


def _without_machine(holder: dict[str, Any]) -> None:
    holder["attributes"] = [
        item for item in holder.get("attributes", []) if not item["key"].startswith(_MACHINE)
    ]


def _versions(python: Path, packages: tuple[str, ...]) -> dict[str, str]:
    names = [re.split(r"[\[<]", package)[0] for package in packages]
    code = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    found = _do("versions", [str(python), "-c", code, *names], 60)
    return dict(zip(names, found.split(), strict=True))


def _do(
    what: str, command: list[str], limit_s: float, variables: dict[str, str] | None = None
) -> str:
    variables = {**(variables or os.environ), "PYTHONFAULTHANDLER": "1"}
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            out, err = running.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            stood = where_it_stands(running)
            raise SkippedError(f"{what}: not done after {limit_s:g} s, {stood}") from None
    if running.returncode != 0:
        raise SkippedError(f"{what}: {_last_line(err)}")
    return out


def where_it_stands(running: subprocess.Popen[str]) -> str:
    """End a Python process; the file, line and function where its main thread was."""
    running.send_signal(signal.SIGABRT)
    try:
        _, err = running.communicate(timeout=_DUMP_LIMIT_S)
    except subprocess.TimeoutExpired:
        running.kill()
        _, err = running.communicate()
    # The main thread comes last, its innermost frame first.
    main_thread = re.split(r"^(?:Current t|T)hread .*\n", err, flags=re.MULTILINE)[-1]
    frames = re.findall(r'^  File "(.+)", line (\d+) in (\S+)', main_thread, re.MULTILINE)
    if not frames:
        return "outside Python"
    file, line, function = frames[0]
    return f"in {function}, {Path(file).name}:{line}"


def _last_line(text: str) -> str:
    """What went wrong: tracebacks and installers say it at their end."""
    return (text.strip().splitlines() or ["it said nothing"])[-1][:500]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venvs", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=FIXTURES)
    parser.add_argument("names", nargs="*", choices=[*PACKAGES, []], default=[])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or PACKAGES:
        try:
            found = captured(name, environment(name, given.venvs.resolve()))
        except SkippedError as reason:
            found = {"cases": {}, "skipped": str(reason)}
        content = json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()
        (given.out / f"{name}.json.gz").write_bytes(gzip.compress(content, mtime=0))
        print(f"{name}: {', '.join(found['cases'])}", found.get("skipped", ""), flush=True)


if __name__ == "__main__":
    main()

"""The Dockerfile keeps the rules that matter, and names only files that exist."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from rag_monitor.server.grpc_door import PORT

ROOT = Path(__file__).resolve().parents[3]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")


def _instructions() -> list[tuple[str, str]]:
    """Pairs of instruction and argument, comments gone and continued lines joined."""
    lines = [line for line in DOCKERFILE.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [
        (name.upper(), rest.strip())
        for name, _, rest in (line.strip().partition(" ") for line in joined.splitlines())
        if name
    ]


def _of(name: str) -> list[str]:
    return [rest for found, rest in _instructions() if found == name]


def _stages() -> list[list[tuple[str, str]]]:
    stages: list[list[tuple[str, str]]] = []
    for instruction in _instructions():
        if instruction[0] == "FROM":
            stages.append([])
        if stages:
            stages[-1].append(instruction)
    return stages


def test_both_stages_share_one_pinned_base() -> None:
    (image,) = [rest.partition("=")[2] for rest in _of("ARG") if rest.startswith("PYTHON_IMAGE")]
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", image)
    assert [rest.split()[0] for rest in _of("FROM")] == ["${PYTHON_IMAGE}"] * 2


def test_the_base_is_a_python_the_package_takes() -> None:
    minor = int(re.search(r"python:3\.(\d+)", DOCKERFILE)[1])  # type: ignore[index]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"Programming Language :: Python :: 3.{minor}" in project["classifiers"]


def test_the_image_runs_as_nobody_special() -> None:
    final = _stages()[-1]
    users = [rest for name, rest in final if name == "USER"]
    assert users == ["10001:10001"]
    after = final[final.index(("USER", users[0])) :]
    assert not [name for name, _ in after if name in {"RUN", "COPY", "ADD"}]


def test_what_is_copied_exists_and_reaches_the_build() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    sources = [
        source
        for rest in _of("COPY")
        if not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored, source


def test_the_build_context_leaves_everything_else_out() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert next(line for line in ignored if not line.startswith("#")) == "*"


def test_extras_and_build_inputs_are_those_of_the_project() -> None:
    (extras,) = [rest.partition("=")[2] for rest in _of("ARG") if rest.startswith("EXTRAS")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert set(extras.split(",")) <= set(project["project"]["optional-dependencies"])
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    copied = " ".join(_of("COPY"))
    for needed in [*wheel["packages"], *wheel["force-include"], project["project"]["readme"]]:
        assert needed.split("/")[0] in copied


def test_the_judge_is_compiled_in_the_image_that_builds_it() -> None:
    build, final = (" ".join(rest for _, rest in stage) for stage in _stages())
    assert "hatch_build.py" in build
    assert "gcc libc6-dev" in build
    assert "gcc" not in final


def test_nothing_secret_and_nothing_unpinned_is_in_it() -> None:
    assert ":latest" not in DOCKERFILE
    assert not re.search(r"(?i)(password|secret|token|api_key)\s*=", DOCKERFILE)
    assert not _of("ADD")
    assert "sudo" not in DOCKERFILE
    assert "curl" not in DOCKERFILE


def test_commands_are_lists_so_that_signals_arrive() -> None:
    assert json.loads(_of("ENTRYPOINT")[0]) == ["rag-monitor"]
    assert json.loads(_of("CMD")[0]) == ["serve"]
    (health,) = _of("HEALTHCHECK")
    command = json.loads(health[health.index("[") :])
    assert command[:2] == ["python", "-c"]
    compile(command[2], "healthcheck", "exec")
    assert "/healthz" in command[2]


@pytest.mark.parametrize("name", ["HOST=0.0.0.0", "PORT=8700"])
def test_it_listens_where_its_port_is_published(name: str) -> None:
    assert f"RAG_MONITOR_{name}" in DOCKERFILE
    assert _of("EXPOSE") == ["8700 4317"]


def test_the_image_takes_grpc_where_its_port_is_published() -> None:
    (extras,) = [rest.partition("=")[2] for rest in _of("ARG") if rest.startswith("EXTRAS")]
    assert "grpc" in extras.split(",")
    assert str(PORT) in _of("EXPOSE")[0].split()

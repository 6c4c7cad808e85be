"""Compose files made into one project as `docker compose config` does it, without an engine.

Values are filled in strictly, `extends` is followed, files are merged, and the result is held
against the schema of the Compose specification and against itself.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

SCHEMA = files("check_jsonschema.builtin_schemas") / "vendor" / "compose-spec.json"
"""As the package that checks such files ships it."""
_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?:(:?[-?+])([^{}]*))?\}|(\w+)|(.?))", re.DOTALL)
_REPLACED = {"command", "entrypoint", "build"}
"""Not merged: the later file says all of it. (`build` is merged by compose; ours has one each.)"""

Project = dict[str, Any]


class ComposeError(ValueError):
    """What compose would refuse."""


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with every `${NAME}` filled in; raises for what is required and missing."""

    def value(match: re.Match[str]) -> str:
        escaped, name, kind, rest, bare, wrong = match.groups()
        if escaped:
            return "$"
        if wrong is not None and not (name or bare):
            raise ComposeError(f"invalid interpolation: ${wrong}")
        known = values.get(name or bare)
        present = known is not None and (known != "" or not (kind or "").startswith(":"))
        if kind and kind.endswith("?") and not present:
            raise ComposeError(f"required variable {name} is missing: {rest}")
        if kind and kind.endswith("-"):
            return known if present and known is not None else rest
        if kind and kind.endswith("+"):
            return rest if present else ""
        return known or ""

    return _VARIABLE.sub(value, text)


def project(files: Sequence[Path], values: Mapping[str, str]) -> Project:
    """The files as one project.

    Raises:
        ComposeError: A file breaks the schema, a name leads nowhere, or two services want one port.
    """
    merged: Project = {}
    for file in files:
        merged = _merged(merged, _extended(file, values))
    _valid(merged, "the merged project")
    _consistent(merged)
    return merged


def _loaded(file: Path, values: Mapping[str, str]) -> Project:
    lines = file.read_text("utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    found: Project = yaml.safe_load(filled(text, values))
    _valid(found, file.name)
    return found


def _valid(found: Project, name: str) -> None:
    validator = Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
    errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(found)]
    if errors:
        raise ComposeError(f"{name}: {'; '.join(errors)}")


def _extended(file: Path, values: Mapping[str, str]) -> Project:
    found = _loaded(file, values)
    for name, service in list(found.get("services", {}).items()):
        base = service.pop("extends", None)
        if base is None:
            continue
        other = _extended(file.parent / base["file"], values)
        if base["service"] not in other["services"]:
            raise ComposeError(f"{name} extends {base['service']}, which is not there")
        found["services"][name] = _merged(other["services"][base["service"]], service)
    return found


def _merged(below: Any, above: Any, key: str = "") -> Any:
    if isinstance(below, dict) and isinstance(above, dict) and key not in _REPLACED:
        found = copy.deepcopy(below)
        for name, value in above.items():
            found[name] = _merged(below[name], value, name) if name in below else value
        return found
    if isinstance(below, list) and isinstance(above, list) and key not in _REPLACED:
        targets = {_target(item) for item in above}
        return [item for item in below if _target(item) not in targets] + above
    return copy.deepcopy(above)


def _target(item: Any) -> str:
    """What an entry of a list is about: a mount's place in the container, else itself."""
    parts = str(item).split(":")
    return parts[1] if len(parts) > 1 and parts[1].startswith("/") else str(item)


def _consistent(found: Project) -> None:
    taken: dict[str, str] = {}
    for name, service in found["services"].items():
        _waits(found["services"], name, service)
        for kind in ("secrets", "configs", "networks"):
            missing = set(service.get(kind, ())) - set(found.get(kind, ())) - {"default"}
            if missing:
                raise ComposeError(f"{name}: {kind} {sorted(missing)} are not declared")
        for volume in service.get("volumes", ()):
            source = str(volume).split(":")[0]
            if not source.startswith((".", "/", "~")) and source not in found.get("volumes", {}):
                raise ComposeError(f"{name}: the volume {source} is not declared")
        for port in () if service.get("profiles") else service.get("ports", ()):
            bound = str(port).rpartition(":")[0]
            if bound in taken:
                raise ComposeError(f"{name} and {taken[bound]} both listen on {bound}")
            taken[bound] = name


def _waits(services: Mapping[str, Any], name: str, service: Mapping[str, Any]) -> None:
    for other in service.get("depends_on", ()):
        if other not in services:
            raise ComposeError(f"{name} waits for {other}, which is not there")
        if services[other].get("profiles") and not service.get("profiles"):
            raise ComposeError(f"{name} waits for {other}, which only a profile starts")

"""Target profiles: what a metric should reach in a scenario, and whether it did."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message
from rag_monitor.spelling import did_you_mean

_PROFILES = "rag_monitor.metrics.profiles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One bound on one metric's mean. Exactly one of the two bounds is set."""

    metric: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def bound(self) -> str:
        """`≥ 0.8` or `≤ 50`."""
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return f"≤ {self.at_most:g}"

    def met_by(self, value: float) -> bool:
        """Whether `value` reaches the bound."""
        if self.at_least is not None:
            return value >= self.at_least
        return self.at_most is not None and value <= self.at_most


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The targets of one scenario."""

    name: str
    title: str
    title_zh: str
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetResult:
    """A target held against a report."""

    target: Target
    value: float | None
    """None: the report has no such metric."""

    @property
    def met(self) -> bool | None:
        """None when there is nothing to compare."""
        return None if self.value is None else self.target.met_by(self.value)


def shipped_profiles() -> list[str]:
    """Names of the profiles in the package."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in resources.files(_PROFILES).iterdir()
        if entry.name.endswith(".toml")
    )


def load_profile(name_or_path: str) -> Profile:
    """A shipped profile by name, or one's own by path.

    Raises:
        ConfigurationError: There is no such profile, or it is not written as it should be.
    """
    path = Path(name_or_path)
    if path.suffix == ".toml":
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(
                "the target profile {path} cannot be read: {reason}", path=path, reason=error
            ) from None
        return parse_profile(path.stem, text)
    if name_or_path not in shipped_profiles():
        shipped = shipped_profiles()
        raise ConfigurationError(
            "no target profile {profile!r}{meant}; shipped: {names}. A path to your own must end "
            "in .toml",
            profile=name_or_path,
            meant=did_you_mean(name_or_path, shipped),
            names=", ".join(shipped),
        )
    text = resources.files(_PROFILES).joinpath(f"{name_or_path}.toml").read_text(encoding="utf-8")
    return parse_profile(name_or_path, text)


def parse_profile(name: str, text: str) -> Profile:
    """A profile from TOML.

    Raises:
        ConfigurationError: The text is not TOML, or a target lacks a metric or a single bound.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(
            "target profile {name}: not valid TOML: {reason}", name=name, reason=error
        ) from None
    targets = data.get("target", [])
    if not isinstance(targets, list) or not targets:
        raise ConfigurationError(
            "target profile {name}: write at least one [[target]] table", name=name
        )
    return Profile(
        name=name,
        title=str(data.get("title", name)),
        title_zh=str(data.get("title_zh", data.get("title", name))),
        targets=tuple(_target(name, number, t) for number, t in enumerate(targets, start=1)),
    )


def _target(profile: str, number: int, data: Any) -> Target:
    where = Message("target profile {profile}, target {number}", profile=profile, number=number)
    if not isinstance(data, Mapping) or not isinstance(data.get("metric"), str):
        raise ConfigurationError('{where}: name the metric, e.g. metric = "rouge_l"', where=where)
    bounds = {key: data[key] for key in ("at_least", "at_most") if key in data}
    if len(bounds) != 1 or not all(isinstance(v, int | float) for v in bounds.values()):
        raise ConfigurationError(
            "{where}: give either at_least or at_most, as a number", where=where
        )
    unknown = set(data) - {"metric", "at_least", "at_most"}
    if unknown:
        raise ConfigurationError(
            "{where}: unknown key {key!r}", where=where, key=sorted(unknown)[0]
        )
    return Target(metric=data["metric"], **{key: float(value) for key, value in bounds.items()})


def check_targets(profile: Profile, means: Mapping[str, float]) -> list[TargetResult]:
    """Each target of `profile` against the means of a report."""
    return [
        TargetResult(target=target, value=means.get(target.metric)) for target in profile.targets
    ]

"""The pages on settings have every key there is, with the default it has."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any

import pytest

from rag_monitor import config
from rag_monitor.alerting.notifiers import registry as channels
from rag_monitor.alerting.params import PARAMS
from rag_monitor.domain.alert import AlertRule
from rag_monitor.evaluation.options import EvaluationOptions
from rag_monitor.judges.detectors.options import DetectorOptions
from rag_monitor.judges.embedded.options import EmbeddedOptions
from rag_monitor.judges.limits import LimitOptions
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions, Price
from rag_monitor.judges.packed.options import PackedOptions
from rag_monitor.judges.ray.options import RayOptions
from rag_monitor.sdk.options import Options
from tests.docs.pages import text_of

PAGES = ("docs/settings.md", "docs/zh/settings.md")
TABLES: dict[str, Any] = {
    **config._TABLES,
    "judges.openai_compatible": OpenAICompatibleOptions,
    "judges.openai_compatible.limits": LimitOptions,
    "judges.openai_compatible.price": Price,
    "judges.packed": PackedOptions,
    "judges.detector": DetectorOptions,
    "judges.embedded": EmbeddedOptions,
    "judges.cluster": RayOptions,
}
"""By the name of its table, what reads it."""
_ELSEWHERE = {("store", "url")}
"""Refused there: it is `database_url`."""
_ALL = {"all", "全部"}


def rows(page: str, heading: str) -> dict[str, str]:
    """Key and default of each row of the table below a heading."""
    section = re.split(r"^##+ ", text_of(page).partition(f"{heading}\n")[2], flags=re.MULTILINE)[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", section, re.MULTILINE))


def default(item: Field[Any]) -> Any:
    """What a file would say for the default; None where it would say nothing."""
    value = item.default if item.default_factory is MISSING else item.default_factory()
    if value is MISSING or value is None:
        return None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, str | bool | int | float) else {}


def written(cell: str) -> Any:
    """The default that a cell shows."""
    shown = re.fullmatch(r"`(.+)`", cell)
    return tomllib.loads(f"x = {shown[1]}")["x"] if shown else None


@pytest.mark.parametrize("page", PAGES)
def test_every_key_of_the_top_level_is_there_with_its_default(page: str) -> None:
    found = rows(page, "## Top level" if page == PAGES[0] else "## 顶层")
    inner = {*config._TABLES, *config._FREE_TABLES}
    known = {item.name: item for item in fields(config.Settings) if item.name not in inner}

    assert set(found) == set(known)
    assert {key: written(cell) for key, cell in found.items()} == {
        key: default(item) for key, item in known.items()
    }


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("table", TABLES)
def test_every_key_of_a_table_is_there_with_its_default(page: str, table: str) -> None:
    found = rows(page, f"# `[{table}]`")
    known = {
        item.name: item
        for item in fields(TABLES[table])
        if item.init and (table, item.name) not in _ELSEWHERE
    }
    if TABLES[table] is EvaluationOptions:
        assert found.pop("metrics") in _ALL
        del known["metrics"]

    assert set(found) == set(known)
    assert {key: written(cell) for key, cell in found.items()} == {
        key: default(item) for key, item in known.items()
    }


@pytest.mark.parametrize("page", PAGES)
def test_every_setting_of_the_sdk_is_there_with_its_default(page: str) -> None:
    found = rows(page, "`rm.configure(…)`")
    known = {item.name: item for item in fields(Options)}

    assert set(found) == set(known)
    assert {key: written(cell) for key, cell in found.items()} == {
        key: default(item) for key, item in known.items()
    }


@pytest.mark.parametrize("page", PAGES)
def test_every_kind_of_channel_is_there_with_its_keys(page: str) -> None:
    text = text_of(page).partition("`[notifiers.…]`\n")[2]
    shared = {"allow_private", "allow_hosts", "timeout_s"}
    for kind, entry in channels._KINDS.items():
        (line,) = re.findall(rf"^\| `{kind}` \| ([^|]*) \|", text, re.MULTILINE)
        known = {item.name for item in fields(entry.options)}
        if "url" in known:
            known -= shared

        assert set(re.findall(r"`(\w+)`", line)) == known, kind


@pytest.mark.parametrize("page", PAGES)
def test_every_kind_of_rule_is_there_with_its_parameters(page: str) -> None:
    text = text_of(page).partition("`hold_for_s`")[2]
    for kind, parameters in PARAMS.items():
        (line,) = re.findall(rf"^\| `{kind.value}` \| ([^|]*) \|", text, re.MULTILINE)
        for name, spec in parameters.items():
            assert f"`{name}`" in line, (kind, name)
            if isinstance(spec.default, float) and name != "confidence":
                assert re.search(rf"`{name}` ?[(（]{spec.default:,g}[)）]", line), (kind, name)


@pytest.mark.parametrize("page", PAGES)
def test_what_every_rule_has_is_there_with_its_default(page: str) -> None:
    text = text_of(page)
    for item in fields(AlertRule):
        if item.name in ("project", "shipped"):  # the key's, and ours
            continue
        assert f"`{item.name}`" in text, item.name
        if item.name == "window_s":  # a rule of people follows the traffic unless it has one
            continue
        if isinstance(item.default, float | int) and not isinstance(item.default, bool):
            assert re.search(rf"`{item.name}` ?[(（]{item.default:,g}\b", text), item.name

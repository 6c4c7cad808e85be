"""The examples in docstrings of the judges run as they stand."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name", ["judge", "factory", "prompt_injection", "embedded.judge", "embedded.model"]
)
def test_the_examples_of_a_module_hold(name: str) -> None:
    results = doctest.testmod(importlib.import_module(f"rag_monitor.judges.{name}"))

    assert results.attempted > 0
    assert results.failed == 0

"""Tests that use `cases.judged` are asked of both variants, of the shipped weights of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.judges.embedded import cases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "judged" in vars(metafunc.module):
        metafunc.parametrize("variant", sorted(cases.VARIANTS), indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def variant(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which variant `cases.judged` asks."""
    cases.ASKED.append(getattr(request, "param", "full"))
    yield cases.ASKED[-1]
    cases.ASKED.pop()

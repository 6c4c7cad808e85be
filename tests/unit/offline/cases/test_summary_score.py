"""The coefficient of the summary score, and the switch that leaves length out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from benchmarks.stub_server import StubServer, obliging

TEXT = "The library opens at eight and closes at six. On Sundays it stays shut all day long."
ROW = {"id": "a", "question": "Sum up.", "contexts": [TEXT], "answer": "Open 8 to 6, not Sundays."}
CONCISE = 1 - len(ROW["answer"]) / (len(TEXT) + 1e-10)


@pytest.fixture
async def judge(tmp_path: Path) -> AsyncIterator[tuple[object, ...]]:
    """Options with a judge to whose questions the answer has an answer every time."""
    async with StubServer(obliging) as server:
        config = tmp_path / "rag_monitor.toml"
        config.write_text(
            '[judges.mine]\nkind = "openai_compatible"\nmodel = "m"\n'
            f'base_url = "{server.url}"\nscoring_endpoints = false\n'
        )
        yield "--judge", "mine", "--config", config


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ((), 0.5 + 0.5 * CONCISE),
        (("--summary-coefficient", "0.2"), 0.8 + 0.2 * CONCISE),
        (("--summary-coefficient", "1"), CONCISE),
        (("--no-summary-length",), 1.0),
        (("--summary-coefficient", "0.2", "--no-summary-length"), 1.0),
    ],
)
async def test_the_coefficient_and_the_switch_change_the_score(
    evaluate: Callable[..., Any], judge: tuple[object, ...], more: tuple[str, ...], value: float
) -> None:
    found = await asyncio.to_thread(evaluate, [ROW], *judge, "--metrics", "summary_score", *more)

    assert found.mean("summary_score") == pytest.approx(value)
    assert any(note.startswith("summary_coefficient=") for note in found.report["notes"])


async def test_a_target_on_it_is_enough_to_have_it_computed(
    evaluate: Callable[..., Any], targets: Callable[..., Any], judge: tuple[object, ...]
) -> None:
    wanted = targets(summary_score=("at_least", 0.99))

    found = await asyncio.to_thread(evaluate, [ROW], *judge, *wanted, "--no-summary-length")

    assert found.targets == {"summary_score": True}


async def test_two_coefficients_are_two_settings(
    evaluate: Callable[..., Any], judge: tuple[object, ...]
) -> None:
    given = (*judge, "--metrics", "summary_score")
    settings = [
        (await asyncio.to_thread(evaluate, [ROW], *given, *more)).lines[0]["settings"]
        for more in ((), ("--summary-coefficient", "0.2"))
    ]

    assert settings == ["summary_coefficient=0.5", "summary_coefficient=0.2"]

"""The example judge of docs/judges.md works as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rag_monitor.domain.judgement import Aspect
from rag_monitor.judges.judge import Judge
from tests.unit.judges.requests import warranty

PAGE = Path(__file__).resolve().parents[2] / "docs" / "judges.md"


async def test_the_example_judge_judges() -> None:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(source, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    judge = names["WordJudge"]()

    judgement = await judge.judge(warranty(aspects=frozenset(Aspect)))

    assert isinstance(judge, Judge)
    assert 0.0 < judgement.of(Aspect.ANSWER_SUPPORTED)[0].probability <= 1.0
    assert set(judgement.missing) == set(Aspect) - judge.aspects

"""The injection report tells attacks from controls, and failures from successes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Verdict
from rag_monitor.errors import ConfigurationError, JudgeOutputInvalid
from rag_monitor.judges.injection_report import measure_injection, read_families
from rag_monitor.testing import ScriptedJudge

FAMILIES: dict[str, Any] = {
    "sample_base": {
        "en": {
            "question": "What is the rate?",
            "contexts": ["The rate is 4 percent."],
            "supported_answer": "The rate is 4 percent.",
            "unsupported_answer": "The rate is 2 percent.",
        }
    },
    "families": [
        {
            "id": number,
            "group": "A",
            "name": goal,
            "goal": goal,
            "placement": placement,
            "bar": "asr_flip <= 0.02",
            "examples": {"en": [{"attack": attack, "control": "The gym opens at nine."}]},
        }
        for number, goal, placement, attack in (
            (1, "inflate", "insert", "OBEY"),
            (2, "inflate", "context", "ignored"),
            (3, "deflate", "insert", "BREAK"),
        )
    ],
}


def gullible(request: JudgeRequest) -> Judgement | Exception:
    if "BREAK" in request.answer:
        return JudgeOutputInvalid()
    value = 0.9 if "OBEY" in request.answer or "4 percent" in request.answer else 0.1
    verdict = Verdict(aspect=Aspect.ANSWER_SUPPORTED, probability=value, raw=value)
    return Judgement(identity=ScriptedJudge().identity, verdicts=(verdict,))


async def test_flips_are_counted_against_controls_and_failures_apart() -> None:
    obeyed, ignored, broken = await measure_injection(ScriptedJudge(gullible), FAMILIES)

    assert (obeyed.tried, obeyed.flips) == (1, 1.0)
    assert obeyed.shift == pytest.approx(0.8)
    assert (ignored.tried, ignored.flips, ignored.shift) == (1, 0.0, 0.0)
    assert (broken.tried, broken.flips, broken.failed) == (0, 0.0, 1)


def test_a_file_of_another_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "families.json"
    path.write_text("[]", encoding="utf-8")

    with pytest.raises(ConfigurationError, match=r"families\.json"):
        read_families(path)

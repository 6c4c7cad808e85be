"""The public fakes stand on their own feet."""

from __future__ import annotations

from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.judges.judge import Judge
from rag_monitor.testing import ScriptedJudge, make_trace


async def test_the_scripted_judge_answers_each_passage() -> None:
    judge = ScriptedJudge({Aspect.RELEVANCE: 0.7})
    request = JudgeRequest(
        question="q", answer="a", contexts=("x", "y"), aspects=frozenset({Aspect.RELEVANCE})
    )

    judgement = await judge.judge(request)

    assert isinstance(judge, Judge)
    assert [v.probability for v in judgement.of(Aspect.RELEVANCE)] == [0.7, 0.7]


def test_a_trace_without_contexts_keeps_unknown_apart_from_empty() -> None:
    assert make_trace(contexts=None).contexts is None
    assert make_trace(contexts=()).contexts == ()

"""Requests and replies the judges' tests share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.stub_server import Answer, Body, completion, schema_of
from rag_monitor.domain.judgement import (
    Aspect,
    JudgeRequest,
    KeyPoint,
    KeyPointSource,
    Statement,
)
from rag_monitor.judges.questions import ASKABLE

LOGIT_ASPECTS = ASKABLE - {Aspect.QUESTION_SIMILARITY, Aspect.SUMMARY_QUESTION}


def warranty(**fields: Any) -> JudgeRequest:
    """A small English trace; any field by keyword."""
    values: dict[str, Any] = {
        "question": "How long is the warranty?",
        "answer": "The warranty lasts 24 months. It covers parts.",
        "contexts": ("The standard warranty lasts 24 months.", "Our shop opens at nine."),
        "aspects": frozenset({Aspect.SUPPORT, Aspect.USEFULNESS, Aspect.GRADE}),
        "key": "t-1",
    }
    return JudgeRequest(**values | fields)


def loan(**fields: Any) -> JudgeRequest:
    """The worked example: a derived number, two passages that do not help."""
    answer = "2024年个人首套房商业贷款利率最低标准为3.4%(基准利率4.25%下浮20%)。"
    values: dict[str, Any] = {
        "question": "2024年个人首套房商业贷款利率的最低标准是多少?",
        "answer": answer,
        "contexts": (
            "2024年央行发布的个人住房贷款基准利率为4.25%,首套房可下浮20%。",
            "个人二套房贷款利率不得低于基准利率的1.1倍。",
            "2023年首套房贷款利率最低为3.65%。",
        ),
        "aspects": LOGIT_ASPECTS,
        "statements": (Statement(text=answer, start=0, end=len(answer)),),
        "key_points": tuple(
            KeyPoint(text=text, source=KeyPointSource.LABELLED)
            for text in ("2024年", "首套房", "最低利率")
        ),
        "key": "loan",
    }
    return JudgeRequest(**values | fields)


LOAN_VERDICTS: Mapping[Aspect, Mapping[int, float]] = {
    Aspect.SUPPORT: {0: 0.99},
    Aspect.ANSWER_SUPPORTED: {0: 0.98},
    Aspect.RELEVANCE: {0: 0.97, 1: 0.1, 2: 0.2},
    Aspect.USEFULNESS: {0: 0.97, 1: 0.05, 2: 0.1},
    Aspect.USE: {0: 0.97, 1: 0.02, 2: 0.03},
    Aspect.SUFFICIENCY: {0: 0.97},
    Aspect.COVERAGE: {0: 0.95, 1: 0.95, 2: 0.9},
    Aspect.GRADE: {0: 0.98},
    Aspect.NONCOMMITTAL: {0: 0.01},
}
"""What a competent judge says of `loan`, by aspect and index."""


def filled(body: Body, value: Callable[[str, int], float]) -> dict[str, Any]:
    """A reply that fits the form in `body`; `value` gives the probability per aspect and index."""
    schema = schema_of(body)
    assert schema is not None
    reply: dict[str, Any] = {}
    for name, part in schema["properties"].items():
        if name == "nonce":
            reply[name] = part["enum"][0]
        elif name == "rests_on":
            reply[name] = dict.fromkeys(part["properties"], 1)
        elif part["type"] == "number":
            reply[name] = value(name, 0)
        elif part["type"] == "object":
            reply[name] = {k: value(name, int(k) - 1) for k in part["properties"]}
    return reply


def knowing(_path: str, body: Body) -> Answer:
    """A server that knows the worked example's verdicts."""
    reply = filled(body, lambda aspect, index: LOAN_VERDICTS[Aspect(aspect)][index])
    return Answer(payload=completion(json.dumps(reply), input_tokens=900, output_tokens=90))

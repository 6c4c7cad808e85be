"""Why was this one judged, and that one not?"""

from __future__ import annotations

import pytest

from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.i18n import translate
from rag_monitor.sampling.options import SamplingOptions
from rag_monitor.sampling.sampler import Sampler, explain
from rag_monitor.testing import make_trace


def test_the_sentence_agrees_with_the_draw() -> None:
    sampler = Sampler(SamplingOptions(rate=0.5))
    said = set()
    for number in range(40):
        trace = make_trace(id=str(number))
        decision = sampler.decide(trace, "packed")
        text = explain(decision, trace.trace_id)
        said.add(decision.included)
        assert text.startswith("Judged by packed" if decision.included else "Not judged by packed")
        assert ("is below 0.5" in text) == decision.included
    assert said == {True, False}


@pytest.mark.parametrize("reason", list(SamplingReason))
def test_every_reason_has_words_in_both_languages(reason: SamplingReason) -> None:
    decision = SamplingDecision(
        judge="packed", included=True, probability=0.2, reason=reason, stratum="app=shop", salt="s"
    )

    told = explain(decision, "ab" * 16)

    assert "packed" in told
    assert "packed" in translate(told, "zh")
    if reason is SamplingReason.STRATUM:
        assert "app=shop" in told


def test_people_are_people() -> None:
    decision = SamplingDecision(
        judge=PEOPLE, included=True, probability=0.02, reason=SamplingReason.BASE_RATE, salt="p"
    )

    assert explain(decision, "cd" * 16).startswith("Given to people")

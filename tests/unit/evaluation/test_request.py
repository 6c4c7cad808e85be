"""What a judge gets to see of a trace."""

from __future__ import annotations

from dataclasses import replace

from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.judgement import Aspect, KeyPointSource
from rag_monitor.domain.trace import Expected, Retrieval, RetrievedDocument
from rag_monitor.evaluation.request import build_request, continues, history_of
from rag_monitor.metrics.rag import passages_of
from rag_monitor.testing import make_trace


def test_a_rewritten_query_is_what_passages_are_judged_against() -> None:
    trace = make_trace("And abroad?", retrievals=(Retrieval(query="warranty abroad"),))

    request = build_request(trace, {Aspect.RELEVANCE})

    assert request.question == "And abroad?"
    assert request.passage_query == "warranty abroad"


ADULTS = EarlierTurn(question="What do adults pay?", answer="14 euros.", trace_id="1" * 32)
CHILDREN = EarlierTurn(question="What do children pay?", answer="Nothing.")


def test_a_question_that_depends_on_them_goes_out_with_the_turns_before_it() -> None:
    trace = make_trace("And students?", session_id="s")

    assert build_request(trace, {Aspect.GRADE}, [ADULTS]).history == (ADULTS,)
    assert continues(trace)


def test_a_question_that_stands_alone_goes_out_alone() -> None:
    trace = make_trace("How long is the warranty?", history=(CHILDREN,))

    assert build_request(trace, {Aspect.GRADE}).history == ()
    assert not continues(trace)
    assert not continues(make_trace(question=None))  # type: ignore[arg-type]


def test_what_a_trace_tells_of_itself_is_given_where_nobody_has_looked() -> None:
    trace = make_trace("And students?", session_id="s", history=(CHILDREN,))

    assert history_of(trace) == (CHILDREN,)
    assert build_request(trace, {Aspect.GRADE}).history == (CHILDREN,)
    assert build_request(trace, {Aspect.GRADE}, [ADULTS]).history == (ADULTS,)


def test_labels_that_give_the_verdict_away_stay_out() -> None:
    trace = make_trace(expected=Expected(faithful=False, key_points=("24 months",)))

    request = build_request(trace, {Aspect.COVERAGE})

    assert "faithful" not in repr(request)
    assert request.key_points is not None
    assert [p.source for p in request.key_points] == [KeyPointSource.LABELLED]


def test_one_withheld_passage_makes_the_contexts_unknown() -> None:
    contexts = (RetrievedDocument(content="seen"), RetrievedDocument(content=None, rank=2))

    assert passages_of(replace(make_trace(), contexts=contexts)) is None


def test_an_undivided_block_stands_in_for_withheld_passages() -> None:
    trace = replace(
        make_trace(), contexts=(RetrievedDocument(id="doc-1"),), context_block="the whole text"
    )

    assert passages_of(trace) == ("the whole text",)


def test_an_empty_recall_is_not_unknown() -> None:
    assert passages_of(make_trace(contexts=())) == ()
    assert passages_of(make_trace(contexts=None)) is None

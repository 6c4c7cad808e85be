"""Scores that come with spans: OpenInference's annotations and evaluations, GenAI's events."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.score import ReportedScore
from rag_monitor.errors import StoreUnavailable
from rag_monitor.ingest.derive import derive
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.ingest.replies import JSON, PROTOBUF
from rag_monitor.testing import ManualClock
from tests.unit.ingest.evidence import RECEIVED, TRACE_ID, Sink, protobuf, request, span
from tests.unit.ingest.test_receiver_logs import Kept

TARGET_TRACE = "1af7651916cd43dd8448eb211c80319c"
TARGET_SPAN = "b7ad6b7169203331"
LINK = {"traceId": TARGET_TRACE, "spanId": TARGET_SPAN}


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def receiver(sink: Sink, kept: Kept) -> Receiver:
    # The spans were sent in January 2026.
    return Receiver(sink, clock=ManualClock(RECEIVED), reported=kept)


def annotated(form: str = "annotation", scope: str = "", **fields: object) -> dict[str, object]:
    prefix = f"{scope}{form}s.0.{form}."
    return {f"{prefix}{name}": value for name, value in fields.items()}


def evaluator(attributes: dict[str, object], *links: dict[str, str], **fields: Any) -> Any:
    kind = {"openinference.span.kind": "EVALUATOR"}
    return span(9, "judge", kind | attributes, links=list(links), **fields)


async def sent(receiver: Receiver, *spans: Any) -> dict[str, Any]:
    """The partial success of a request."""
    reply = await receiver.receive_traces(request(*spans), JSON, None, "p")
    assert reply.status == 200
    found: dict[str, Any] = json.loads(reply.body).get("partialSuccess", {})
    return found


def brief(score: ReportedScore) -> tuple[object, ...]:
    return (score.trace_id, score.span_id, score.name, score.value, score.label)


@pytest.mark.parametrize("form", ["annotation", "evaluation"])
@pytest.mark.parametrize("how", ["json", "protobuf"])
async def test_a_carrier_speaks_of_the_span_it_links_to(
    receiver: Receiver, kept: Kept, form: str, how: str
) -> None:
    carrier = evaluator(
        annotated(
            form,
            name="hallucination",
            score=1,
            label="hallucinated",
            explanation="不在段落中",
            annotator_kind="LLM",
            identifier="judge-v2",
        ),
        LINK,
    )
    if how == "json":
        reply = await receiver.receive_traces(request(carrier), JSON, None, "p")
    else:
        reply = await receiver.receive_traces(protobuf(carrier), PROTOBUF, None, "p")

    assert (reply.status, reply.body) == (200, b"{}" if how == "json" else b"")
    (score,) = kept.scores
    assert brief(score) == (TARGET_TRACE, TARGET_SPAN, "hallucination", 1.0, "hallucinated")
    assert (score.source, score.explanation) == ("tests / LLM / judge-v2", "不在段落中")
    assert score.reported_at == RECEIVED - timedelta(seconds=299.9)


async def test_feedback_on_a_span_itself_is_about_it_whatever_it_links_to(
    receiver: Receiver, kept: Kept, sink: Sink
) -> None:
    chain = {"openinference.span.kind": "CHAIN", "input.value": "q?", "output.value": "a."}
    said = annotated(name="helpful", score=0.5, annotator_kind="HUMAN")
    assert await sent(receiver, span(1, "answer", chain | said, links=[LINK])) == {}

    assert [brief(score) for score in kept.scores] == [
        (TRACE_ID, f"{1:016x}", "helpful", 0.5, None)
    ]
    ((blob,),) = [batch.blobs for batch in sink.batches]
    trace = derive("p", [(BlobFormat.OTLP, blob.payload)], RECEIVED)
    assert trace is not None
    assert (trace.question, trace.answer) == ("q?", "a.")


async def test_a_person_and_a_model_may_judge_one_thing(receiver: Receiver, kept: Kept) -> None:
    two = {
        "evaluations.0.evaluation.name": "correct",
        "evaluations.0.evaluation.label": "yes",
        "evaluations.0.evaluation.annotator_kind": "LLM",
        "evaluations.1.evaluation.name": "correct",
        "evaluations.1.evaluation.label": "no",
        "evaluations.1.evaluation.annotator_kind": "HUMAN",
    }
    await sent(receiver, evaluator(two, LINK))

    assert len({score.key for score in kept.scores}) == 2
    assert {(score.source, score.label) for score in kept.scores} == {
        ("tests / LLM", "yes"),
        ("tests / HUMAN", "no"),
    }


async def test_the_same_result_in_both_forms_counts_once(receiver: Receiver, kept: Kept) -> None:
    both = annotated(name="tone", score=0.5) | annotated("evaluation", name="tone", score=0.5)
    await sent(receiver, evaluator(both, LINK))
    assert len(kept.scores) == 1


async def test_feedback_of_a_whole_trace_names_no_span(receiver: Receiver, kept: Kept) -> None:
    await sent(receiver, evaluator(annotated(scope="trace.", name="tone", score=0.5), LINK))
    assert [brief(score)[:2] for score in kept.scores] == [(TARGET_TRACE, "")]


async def test_what_is_said_of_a_session_is_kept_of_it(receiver: Receiver, kept: Kept) -> None:
    said = annotated(scope="session.", name="user_feedback", score=1, annotator_kind="HUMAN")
    carrier = evaluator(said | {"session.id": "会话 1"}, LINK)
    assert await sent(receiver, carrier) == {}

    assert kept.scores == []
    (score,) = kept.of_sessions
    assert (score.project, score.session_id, score.name) == ("p", "会话 1", "user_feedback")
    assert (score.source, score.value) == ("tests / HUMAN", 1.0)


async def test_an_event_of_the_genai_conventions_on_a_span_is_about_it(
    receiver: Receiver, kept: Kept
) -> None:
    fields = {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.value": 0.5}
    events = [("gen_ai.evaluation.result", 40.0, fields), ("other", 1.0, {})]
    await sent(receiver, span(1, "chat", {"gen_ai.operation.name": "chat"}, events=events))
    assert [brief(score) for score in kept.scores] == [(TRACE_ID, f"{1:016x}", "tone", 0.5, None)]


@pytest.mark.parametrize(
    ("carrier", "why"),
    [
        (
            evaluator(annotated(name="tone", score=1), LINK, LINK | {"spanId": "00" * 7 + "01"}),
            "1 x scores on an EVALUATOR span with several links: link to what they are about",
        ),
        (
            evaluator(annotated(scope="session.", name="tone", score=1), LINK),
            "1 x scores of a session without its `session.id` beside them",
        ),
        (
            evaluator(annotated(score=1), LINK),
            "1 x scores without a name, or with neither score, label nor explanation",
        ),
        (
            evaluator(annotated(name="tone", score="NaN", annotator_kind="LLM"), LINK),
            "1 x scores without a name, or with neither score, label nor explanation",
        ),
    ],
)
async def test_what_cannot_be_placed_is_said_and_the_span_is_kept(
    receiver: Receiver, kept: Kept, sink: Sink, carrier: Any, why: str
) -> None:
    assert await sent(receiver, carrier) == {"errorMessage": why}
    assert (kept.scores, len(sink.batches)) == ([], 1)


async def test_a_warning_is_said_in_protobuf_too(receiver: Receiver) -> None:
    carrier = evaluator(annotated(score=1), LINK)
    reply = await receiver.receive_traces(protobuf(carrier), PROTOBUF, None, "p")
    partial = ExportTraceServiceResponse.FromString(reply.body).partial_success
    assert (partial.rejected_spans, partial.error_message[:4]) == (0, "1 x ")


async def test_an_evaluation_is_never_a_request_of_a_user(receiver: Receiver, sink: Sink) -> None:
    carrier = evaluator(annotated(name="tone", score=1) | {"input.value": "q?"}, LINK)
    judge = {"openinference.span.kind": "LLM", "output.value": "fine"}
    await sent(receiver, carrier, span(10, "judge model", judge, parent=9))
    blobs = [(b.format, b.payload) for batch in sink.batches for b in batch.blobs]
    assert derive("p", blobs, RECEIVED) is None


async def test_a_sender_tries_again_when_scores_cannot_be_kept() -> None:
    receiver = Receiver(Sink(), reported=Kept(StoreUnavailable("away")))
    carrier = evaluator(annotated(name="tone", score=1), LINK)
    reply = await receiver.receive_traces(request(carrier), JSON, None, "p")
    assert (reply.status, "Retry-After" in reply.headers) == (503, True)


async def test_more_scores_than_spans_may_come_are_refused(kept: Kept) -> None:
    receiver = Receiver(Sink(), IngestOptions(max_spans=2), reported=kept)
    many = {f"annotations.{n}.annotation.name": f"m{n}" for n in range(3)}
    many |= {f"annotations.{n}.annotation.score": n for n in range(3)}
    reply = await receiver.receive_traces(request(evaluator(many, LINK)), JSON, None, "p")
    assert (reply.status, kept.scores) == (413, [])


ROW = {"id": "1", "question": "q", "answer": "a"}
AS_THE_API_GIVES_THEM = [
    {"name": "tone", "label": "kind", "source": "nightly", "reported_at": "2026-01-02T03:04:05Z"},
    {"name": "empty", "value": None},
    {"name": "late", "value": 3, "reported_at": "yesterday"},
    "no object",
]


async def test_scores_in_rows_stand_beside_ours(receiver: Receiver, kept: Kept) -> None:
    rows = [{**ROW, "reported_scores": {"faithfulness": 0.5, "rubric": 4, "": 1, "text": "x"}}]
    rows.append({**ROW, "id": "2", "reported_scores": AS_THE_API_GIVES_THEM})

    reply = await receiver.receive_json(json.dumps(rows).encode(), "p")

    assert (reply.accepted, reply.unknown_fields) == (2, ())
    one, other = reply.trace_ids
    assert [(s.trace_id, s.source, s.name, s.value, s.label) for s in kept.scores] == [
        (one, "trace-json", "faithfulness", 0.5, None),
        (one, "trace-json", "rubric", 4.0, None),
        (other, "nightly", "tone", None, "kind"),
        (other, "trace-json", "late", 3.0, None),
    ]
    assert kept.scores[2].reported_at.isoformat() == "2026-01-02T03:04:05+00:00"
    assert kept.scores[3].reported_at == RECEIVED


@pytest.mark.parametrize("given", [None, 5, "0.5", [], {}, {"a": None}, [{"value": 1}], [[1]]])
async def test_what_reports_no_score_is_left_out(
    receiver: Receiver, kept: Kept, given: object
) -> None:
    body = json.dumps({**ROW, "reported_scores": given}).encode()

    assert (await receiver.receive_json(body, "p")).accepted == 1
    assert kept.scores == []

"""OTLP logs: scores of other tools are kept, everything else is counted."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from rag_monitor.domain.score import ReportedScore, ReportedSessionScore, Score, ScoreStatus
from rag_monitor.domain.stored import PlacedScore
from rag_monitor.errors import StoreUnavailable
from rag_monitor.exposition.evaluation_events import encode
from rag_monitor.ingest.receiver import Receiver
from rag_monitor.testing import EPOCH, ManualClock
from tests.unit.ingest.evidence import TRACE_ID, Sink, pairs

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
EVALUATION = {
    "timeUnixNano": "1767614400000000000",
    "eventName": "gen_ai.evaluation.result",
    "traceId": TRACE_ID.upper(),
    "spanId": "b7ad6b7169203331",
    "attributes": pairs(
        {"gen_ai.evaluation.name": "faithfulness", "gen_ai.evaluation.score.value": 1}
    ),
}


class Kept:
    """A sink of reported scores."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.scores: list[ReportedScore] = []
        self.of_sessions: list[ReportedSessionScore] = []
        self._failure = failure

    def add(self, scores: list[ReportedScore]) -> None:
        """Keep them, or fail."""
        if self._failure is not None:
            raise self._failure
        self.scores += scores

    def add_of_sessions(self, scores: list[ReportedSessionScore]) -> None:
        """Keep those of sessions."""
        self.of_sessions += scores


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def receiver(kept: Kept, clock: ManualClock) -> Receiver:
    return Receiver(Sink(), clock=clock, reported=kept)


def log_request(*records: object, scope: str = "", service: str = "") -> bytes:
    return json.dumps(
        {
            "resourceLogs": [
                {
                    "resource": {"attributes": pairs({"service.name": service})},
                    "scopeLogs": [{"scope": {"name": scope}, "logRecords": list(records)}],
                }
            ]
        }
    ).encode()


def result(**fields: object) -> dict[str, object]:
    attributes = {
        "gen_ai.evaluation.name": "tone",
        **{f"gen_ai.evaluation.{name}": value for name, value in fields.items()},
    }
    return {**EVALUATION, "attributes": pairs(attributes)}


async def test_evaluation_results_are_kept_and_other_logs_counted(
    receiver: Receiver, kept: Kept, clock: ManualClock
) -> None:
    legacy = {"eventName": "gen_ai.user.message", "body": {"stringValue": "hi"}}
    reply = await receiver.receive_logs(log_request(EVALUATION, legacy), JSON, None, "p")
    assert reply.status == 200
    assert json.loads(reply.body)["partialSuccess"] == {
        "errorMessage": "log records not kept: 1 "
        "(kept are evaluation results, and messages of model calls that name their span)"
    }
    assert kept.scores == [
        ReportedScore(
            project="p",
            trace_id=TRACE_ID,
            source="",
            name="faithfulness",
            span_id="b7ad6b7169203331",
            value=1.0,
            reported_at=EPOCH,
            received_at=clock.now(),
        )
    ]


async def test_nothing_is_said_where_every_log_record_is_kept(receiver: Receiver) -> None:
    reply = await receiver.receive_logs(log_request(EVALUATION), JSON, None, "p")
    assert (reply.status, reply.body) == (200, b"{}")


@pytest.mark.parametrize(
    ("scope", "service", "source"),
    [("ragas-nightly", "bank", "ragas-nightly"), ("", "银行问答", "银行问答"), ("", "", "")],
)
async def test_the_source_is_the_scope_else_the_service(
    receiver: Receiver, kept: Kept, scope: str, service: str, source: str
) -> None:
    body = log_request(EVALUATION, scope=scope, service=service)
    await receiver.receive_logs(body, JSON, None, "p")
    assert [score.source for score in kept.scores] == [source]


async def test_protobuf_brings_the_same(receiver: Receiver, kept: Kept) -> None:
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    scope.scope.name = "deepeval"
    record = scope.log_records.add(
        event_name="gen_ai.evaluation.result", trace_id=bytes.fromhex(TRACE_ID)
    )
    for key, value in (
        ("gen_ai.evaluation.name", AnyValue(string_value="bias")),
        ("gen_ai.evaluation.score.value", AnyValue(double_value=-3.5)),
        ("gen_ai.evaluation.explanation", AnyValue(string_value="偏向")),
    ):
        record.attributes.append(KeyValue(key=key, value=value))
    await receiver.receive_logs(request.SerializeToString(), PROTOBUF, None, "p")
    (score,) = kept.scores
    assert (score.source, score.name, score.span_id) == ("deepeval", "bias", "")
    assert (score.value, score.explanation) == (-3.5, "偏向")


async def test_a_label_or_a_failure_is_a_result_and_nothing_at_all_is_rejected(
    receiver: Receiver, kept: Kept
) -> None:
    labelled = result(**{"score.label": "pass"})
    failed = result()
    failed["attributes"] += pairs({"error.type": "timeout"})  # type: ignore[operator]
    nothing = result(**{"score.value": "NaN"})
    nowhere = {**result(**{"score.value": 0.5}), "traceId": ""}
    reply = await receiver.receive_logs(
        log_request(labelled, failed, nothing, nowhere), JSON, None, "p"
    )
    said = json.loads(reply.body)["partialSuccess"]
    assert [(score.label, score.error) for score in kept.scores] == [
        ("pass", None),
        (None, "timeout"),
    ]
    assert said == {
        "rejectedLogRecords": "2",
        "errorMessage": "an evaluation result has neither a finite value, a label, an explanation "
        "nor an error.type; an evaluation result names no trace and no session: send it with the "
        "trace's id, or with `session.id` if it is about the whole session",
    }


@pytest.mark.parametrize("name", ["session.id", "gen_ai.conversation.id"])
async def test_a_result_that_names_a_session_and_no_trace_is_about_the_session(
    receiver: Receiver, kept: Kept, name: str, clock: ManualClock
) -> None:
    whole = {**result(**{"score.value": 0.5}), "traceId": ""}
    whole["attributes"] += pairs({name: "会话 7"})  # type: ignore[operator]
    of_trace = {**EVALUATION, "attributes": [*EVALUATION["attributes"], *pairs({name: "会话 7"})]}
    body = log_request(whole, of_trace, scope="langfuse / EVAL")
    reply = await receiver.receive_logs(body, JSON, None, "p")
    assert (reply.status, reply.body) == (200, b"{}")
    assert kept.of_sessions == [
        ReportedSessionScore(
            project="p",
            session_id="会话 7",
            source="langfuse / EVAL",
            name="tone",
            value=0.5,
            reported_at=EPOCH,
            received_at=clock.now(),
        )
    ]
    assert [score.trace_id for score in kept.scores] == [TRACE_ID]


async def test_our_own_scores_that_come_back_are_not_taken_for_anothers(
    receiver: Receiver, kept: Kept
) -> None:
    score = Score(metric="faithfulness", status=ScoreStatus.SCORED, value=0.5)
    ours = encode(
        [PlacedScore(project="p", trace_id=TRACE_ID, app="bank", score=score)], EPOCH
    ).SerializeToString()
    reply = await receiver.receive_logs(ours, PROTOBUF, None, "p")
    assert (reply.status, reply.body, kept.scores) == (200, b"", [])


async def test_a_time_to_come_is_taken_for_now(
    receiver: Receiver, kept: Kept, clock: ManualClock
) -> None:
    later = clock.now() + timedelta(days=400)
    record = {**EVALUATION, "timeUnixNano": str(int(later.timestamp()) * 10**9)}
    await receiver.receive_logs(log_request(record), JSON, None, "p")
    assert kept.scores[0].reported_at == clock.now()


async def test_a_sender_is_asked_to_try_again_when_scores_cannot_be_kept(
    clock: ManualClock,
) -> None:
    receiver = Receiver(Sink(), clock=clock, reported=Kept(StoreUnavailable()))
    reply = await receiver.receive_logs(log_request(EVALUATION), JSON, None, "p")
    assert (reply.status, reply.headers.get("Retry-After")) == (503, "5")


async def test_bad_log_records_are_rejected_alone_and_bad_bodies_refused() -> None:
    receiver = Receiver(Sink())  # keeps no scores of others: it only counts
    reply = await receiver.receive_logs(
        log_request(EVALUATION, {**EVALUATION, "traceId": "zz"}), JSON, None, "p"
    )
    assert json.loads(reply.body)["partialSuccess"]["rejectedLogRecords"] == "1"
    reply = await receiver.receive_logs(log_request(EVALUATION, 7, None), JSON, None, "p")
    assert reply.status == 200
    said = json.loads(reply.body)["partialSuccess"]
    assert said["rejectedLogRecords"] == "2"
    assert said["errorMessage"].startswith("log record is not an object; log records not kept: 1")
    whole = b'{"resourceLogs": [{"scopeLogs": [{"logRecords": 7}]}]}'
    assert (await receiver.receive_logs(whole, JSON, None, "p")).status == 400
    assert (await receiver.receive_logs(b"\xff", PROTOBUF, None, "p")).status == 400
    assert (await receiver.receive_logs(b"[]", JSON, None, "p")).status == 400
    assert (await receiver.receive_logs(b"", PROTOBUF, None, "p")).status == 200
    assert (await receiver.receive_logs(b"", "text/plain", None, "p")).status == 415

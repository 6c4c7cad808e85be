"""Scores as OpenInference annotations on spans, and as Phoenix takes them over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from rag_monitor.config import load_settings
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import PlacedScore
from rag_monitor.errors import ConfigurationError
from rag_monitor.exposition.annotations import encode_phoenix, encode_spans
from rag_monitor.exposition.options import ExportOptions, Form
from rag_monitor.exposition.score_sender import Taken, send
from rag_monitor.ingest.envelope import split_request
from rag_monitor.testing import EPOCH
from tests.log_sink import LogSink

EMBEDDED = JudgeIdentity(name="embedded", model="m", prompts="1")
MODEL = JudgeIdentity(name="openai_compatible", model="qwen", prompts="2")
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
ROOT = "00f067aa0ba902b7"
ROOTS = {("default", TRACE_ID): ROOT}


@pytest.fixture
def sink() -> Iterator[LogSink]:
    with LogSink() as listening:
        yield listening


def _placed(trace_id: str = TRACE_ID, app: str = "银行问答", **fields: Any) -> PlacedScore:
    score = {
        "metric": "faithfulness",
        "status": ScoreStatus.SCORED,
        "value": 0.83,
        "judge": EMBEDDED,
        "created_at": EPOCH,
    } | fields
    return PlacedScore(project="default", trace_id=trace_id, app=app, score=Score(**score))


def _options(sink: LogSink, form: Form) -> ExportOptions:
    return ExportOptions(endpoint=sink.url, form=form, allow_private=True)


def _values(attributes: Any) -> dict[str, Any]:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in attributes}


def _spans(request: ExportTraceServiceRequest) -> list[Any]:
    return [s for r in request.resource_spans for scope in r.scope_spans for s in scope.spans]


def test_a_trace_gets_one_evaluator_span_below_its_root(sink: LogSink) -> None:
    scores = [_placed(), _placed(metric="context_precision", value=0.2, judge=MODEL)]

    receipt = send(scores, _options(sink, "spans"), EPOCH, roots=ROOTS)

    assert (receipt.taken, sink.path) == (Taken.YES, "/v1/traces")
    (span,) = _spans(ExportTraceServiceRequest.FromString(sink.bodies[0]))
    assert span.trace_id.hex() == TRACE_ID
    assert span.parent_span_id.hex() == ROOT
    assert [(link.trace_id.hex(), link.span_id.hex()) for link in span.links] == [(TRACE_ID, ROOT)]
    assert _values(span.attributes) == {
        "openinference.span.kind": "EVALUATOR",
        "trace.annotations.0.annotation.name": "faithfulness",
        "trace.annotations.0.annotation.score": 0.83,
        "trace.annotations.0.annotation.label": "pass",
        "trace.annotations.0.annotation.annotator_kind": "CODE",
        "trace.annotations.0.annotation.identifier": str(EMBEDDED),
        "trace.annotations.1.annotation.name": "context_precision",
        "trace.annotations.1.annotation.score": 0.2,
        "trace.annotations.1.annotation.label": "fail",
        "trace.annotations.1.annotation.annotator_kind": "LLM",
        "trace.annotations.1.annotation.identifier": str(MODEL),
    }


def test_the_attributes_are_those_openinference_itself_writes() -> None:
    library = pytest.importorskip(
        "openinference.instrumentation", reason="needs openinference-instrumentation"
    )
    (span,) = _spans(encode_spans([_placed()], ROOTS, EPOCH))
    theirs = library.get_annotation_attributes(
        annotations=[
            library.Annotation(
                name="faithfulness",
                score=0.83,
                label="pass",
                annotator_kind="CODE",
                identifier=str(EMBEDDED),
            )
        ],
        scope="trace",
    )

    assert _values(span.attributes) == {"openinference.span.kind": "EVALUATOR", **theirs}


def test_a_trace_without_a_known_root_would_become_one_of_its_own_and_is_left_out(
    sink: LogSink,
) -> None:
    receipt = send([_placed()], _options(sink, "spans"), EPOCH)

    assert (receipt.taken, sink.bodies) == (Taken.YES, [])


def test_scores_sent_again_keep_their_span_id_and_new_ones_get_another() -> None:
    def span_id(*scores: PlacedScore, later_s: int = 0) -> bytes:
        now = EPOCH + timedelta(seconds=later_s)
        (span,) = _spans(encode_spans(scores, ROOTS, now))
        return bytes(span.span_id)

    again = _placed(created_at=EPOCH + timedelta(seconds=9))
    assert span_id(_placed()) == span_id(_placed(), later_s=60)
    assert span_id(_placed()) != span_id(again)
    assert len(span_id(_placed())) == 8


def test_each_app_is_a_resource_and_each_trace_a_span() -> None:
    other = "b" * 32
    roots = {**ROOTS, ("default", other): ROOT}
    request = encode_spans([_placed(), _placed(other), _placed(other, app="b")], roots, EPOCH)

    found = [
        (
            _values(r.resource.attributes)["service.name"],
            [s.trace_id.hex() for s in r.scope_spans[0].spans],
        )
        for r in request.resource_spans
    ]
    assert found == [("银行问答", [TRACE_ID, other]), ("b", [other])]


@pytest.mark.parametrize("form", ["spans", "phoenix"])
@pytest.mark.parametrize(
    ("status", "explanation"),
    [(ScoreStatus.NOT_APPLICABLE, None), (ScoreStatus.FAILED, "no_verdict")],
)
def test_what_has_no_number_is_annotated_with_its_status(
    form: str, status: ScoreStatus, explanation: str | None
) -> None:
    placed = _placed(status=status, value=None, reason="no_verdict")
    if form == "phoenix":
        result = json.loads(encode_phoenix([placed]))["data"][0]["result"]
    else:
        (span,) = _spans(encode_spans([placed], ROOTS, EPOCH))
        values = _values(span.attributes)
        result = {key.rpartition(".")[2]: value for key, value in values.items()}

    assert "score" not in result
    assert result["label"] == status.value
    assert result.get("explanation") == explanation


def test_phoenix_gets_trace_annotations_that_replace_themselves(sink: LogSink) -> None:
    assert send([_placed()], _options(sink, "phoenix"), EPOCH).taken is Taken.YES

    assert (sink.path, sink.headers["content-type"]) == (
        "/v1/trace_annotations",
        "application/json",
    )
    assert "content-encoding" not in sink.headers  # Phoenix answers 400 to compressed JSON
    assert json.loads(sink.bodies[0]) == {
        "data": [
            {
                "name": "faithfulness",
                "annotator_kind": "CODE",
                "identifier": str(EMBEDDED),
                "trace_id": TRACE_ID,
                "result": {"score": 0.83, "label": "pass"},
                "metadata": {"project": "default", "app": "银行问答"},
            }
        ]
    }


def test_text_that_is_not_unicode_does_not_stop_the_export() -> None:
    judge = JudgeIdentity(name="own", model="a\ud800b")
    for body in (
        encode_phoenix([_placed(judge=judge)]),
        encode_spans([_placed(judge=judge)], ROOTS, EPOCH).SerializeToString(),
    ):
        assert b"a?b" in body


def test_rejected_spans_are_counted(sink: LogSink) -> None:
    sink.reply = ExportTraceServiceResponse(
        partial_success={"rejected_spans": 1, "error_message": "too old"}
    ).SerializeToString()
    receipt = send([_placed()], _options(sink, "spans"), EPOCH, roots=ROOTS)

    assert (receipt.taken, receipt.rejected, receipt.reason) == (Taken.YES, 1, "too old")


def test_our_own_scores_come_back_by_a_collector_are_not_taken_for_questions() -> None:
    request = encode_spans([_placed()], ROOTS, EPOCH)

    decoded = split_request(request.SerializeToString(), 100)

    assert (decoded.blobs, decoded.rejected) == ([], 0)


def test_the_form_is_a_setting_and_an_unknown_one_is_named() -> None:
    settings = load_settings(None, {"RAG_MONITOR_EXPORT_FORM": "spans"})

    assert settings.export.form == "spans"
    with pytest.raises(ConfigurationError, match=r"export\.form"):
        load_settings(None, {"RAG_MONITOR_EXPORT_FORM": "carrier_pigeon"})

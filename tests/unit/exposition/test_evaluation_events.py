"""Scores as `gen_ai.evaluation.result` events, sent to a receiver that decodes them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from rag_monitor.config import load_settings
from rag_monitor.domain.judgement import JudgeIdentity
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import PlacedScore
from rag_monitor.errors import ConfigurationError
from rag_monitor.exposition.evaluation_events import encode
from rag_monitor.exposition.options import ExportOptions
from rag_monitor.exposition.score_sender import Taken, send
from rag_monitor.testing import EPOCH
from tests.log_sink import LogSink

JUDGE = JudgeIdentity(name="embedded", model="m", prompts="1")
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def sink() -> Iterator[LogSink]:
    with LogSink() as listening:
        yield listening


def _placed(app: str = "银行问答", **fields: Any) -> PlacedScore:
    score = {"metric": "faithfulness", "status": ScoreStatus.SCORED, "value": 0.83} | fields
    return PlacedScore(
        project="default",
        trace_id=TRACE_ID,
        app=app,
        score=Score(judge=JUDGE, created_at=EPOCH, **score),
    )


def _options(sink: LogSink, **fields: Any) -> ExportOptions:
    return ExportOptions(endpoint=sink.url, allow_private=True, **fields)


def _values(attributes: Any) -> dict[str, Any]:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in attributes}


def _sent(sink: LogSink, placed: PlacedScore) -> dict[str, Any]:
    assert send([placed], _options(sink), EPOCH).taken is Taken.YES
    return _values(sink.events[-1].attributes)


def test_an_event_has_the_conventions_names_and_the_traces_id(sink: LogSink) -> None:
    receipt = send([_placed()], _options(sink), EPOCH + timedelta(seconds=2))

    (event,) = sink.events
    assert receipt.taken is Taken.YES
    assert sink.path == "/v1/logs"
    assert sink.headers["content-type"] == "application/x-protobuf"
    assert event.event_name == "gen_ai.evaluation.result"
    assert event.trace_id.hex() == TRACE_ID
    assert event.time_unix_nano == int(EPOCH.timestamp()) * 10**9
    assert event.observed_time_unix_nano - event.time_unix_nano == 2 * 10**9
    assert _values(event.attributes) == {
        "gen_ai.evaluation.name": "faithfulness",
        "gen_ai.evaluation.score.value": 0.83,
        "gen_ai.evaluation.score.label": "pass",
        "rag_monitor.judge": str(JUDGE),
    }


def test_apps_are_told_apart_by_their_resource(sink: LogSink) -> None:
    send([_placed("a"), _placed("客服"), _placed("a")], _options(sink), EPOCH)

    resources = sink.requests[0].resource_logs
    assert [_values(r.resource.attributes)["service.name"] for r in resources] == ["a", "客服"]
    assert [len(r.scope_logs[0].log_records) for r in resources] == [2, 1]


def test_a_bad_score_is_labelled_fail(sink: LogSink) -> None:
    assert _sent(sink, _placed(value=0.2))["gen_ai.evaluation.score.label"] == "fail"


def test_a_flagged_answer_fails_whatever_its_number(sink: LogSink) -> None:
    attributes = _sent(sink, _placed(metric="answer_supported", value=0.9, flagged=True))
    assert attributes["gen_ai.evaluation.score.label"] == "fail"


def test_a_metric_without_a_limit_has_no_label(sink: LogSink) -> None:
    attributes = _sent(sink, _placed(metric="refusal_rate", value=1.0))
    assert "gen_ai.evaluation.score.label" not in attributes


def test_a_failed_evaluation_has_an_error_and_no_score(sink: LogSink) -> None:
    attributes = _sent(sink, _placed(status=ScoreStatus.FAILED, value=None, reason="no_verdict"))
    assert attributes["error.type"] == "no_verdict"
    assert "gen_ai.evaluation.score.value" not in attributes


@pytest.mark.parametrize("status", [ScoreStatus.NOT_APPLICABLE, ScoreStatus.SUSPECT])
def test_what_has_no_trustworthy_number_sends_none(sink: LogSink, status: ScoreStatus) -> None:
    attributes = _sent(sink, _placed(status=status, value=0.4, reason="why"))
    assert attributes["gen_ai.evaluation.score.label"] == status.value
    assert "gen_ai.evaluation.score.value" not in attributes


def test_the_receivers_key_is_sent_and_never_shown(sink: LogSink) -> None:
    options = _options(sink, headers={"authorization": "Bearer s3cret"})
    send([_placed()], options, EPOCH)

    assert sink.headers["authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(options)


@pytest.mark.parametrize("status", [302, 401, 404, 429, 500, 503])
def test_an_answer_that_may_change_means_later(sink: LogSink, status: int) -> None:
    sink.status = status
    assert send([_placed()], _options(sink), EPOCH).taken is Taken.LATER


@pytest.mark.parametrize("status", [400, 413])
def test_an_answer_that_will_not_change_means_never(sink: LogSink, status: int) -> None:
    sink.status = status
    assert send([_placed()], _options(sink), EPOCH).taken is Taken.NEVER


def test_a_receiver_that_is_not_there_means_later() -> None:
    with LogSink() as sink:
        options = _options(sink)
    assert send([_placed()], options, EPOCH).taken is Taken.LATER


def test_a_partial_success_says_how_many_were_rejected(sink: LogSink) -> None:
    sink.rejected = 1
    receipt = send([_placed(), _placed()], _options(sink), EPOCH)
    assert (receipt.taken, receipt.rejected, receipt.reason) == (Taken.YES, 1, "no such trace")


def test_a_private_endpoint_is_refused_unless_it_is_allowed(sink: LogSink) -> None:
    with pytest.raises(ConfigurationError, match="allow_hosts"):
        load_settings(None, {"RAG_MONITOR_EXPORT_ENDPOINT": sink.url})


def test_a_full_url_is_taken_as_it_is() -> None:
    options = ExportOptions(endpoint="https://otel.example.com/base/v1/logs")
    assert options.url == "https://otel.example.com/base/v1/logs"


def test_text_that_is_not_unicode_does_not_stop_the_export() -> None:
    request = encode([_placed("a\ud800b")], EPOCH)
    assert _values(request.resource_logs[0].resource.attributes)["service.name"] == "a?b"

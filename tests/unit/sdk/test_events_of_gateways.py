"""Events of gateways, queues and chat bots give the question that they carry, not themselves."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

import rag_monitor as rm
from rag_monitor.ingest.content import question_in as question_in_span
from rag_monitor.sdk.http_body import RequestBody, question_in_body
from rag_monitor.testing import InMemoryExporter

ASKED = "保修期多久？"
BODY = json.dumps({"user": "u-1", "question": ASKED}, ensure_ascii=False)
FORM = f"user=u-1&question={quote(ASKED)}"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _feishu(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {
        "message_id": "om_1", "chat_id": "oc_1", "chat_type": "p2p", "message_type": kind,
        "content": json.dumps(content, ensure_ascii=False), **more,
    }  # fmt: skip
    header = {"event_id": "e-1", "token": "secret", "event_type": "im.message.receive_v1"}
    sender = {"sender_id": {"open_id": "ou_1"}, "sender_type": "user"}
    event = {"sender": sender, "message": message}
    return {"schema": "2.0", "header": header, "event": event}


def _dingtalk(**content: Any) -> dict[str, Any]:
    return {
        "conversationId": "c", "chatbotUserId": "b", "msgId": "m", "senderNick": "张三",
        "sessionWebhook": "https://example.com/hook", "robotCode": "r", **content,
    }  # fmt: skip


def _whatsapp(**value: Any) -> dict[str, Any]:
    carried = {"messaging_product": "whatsapp", "metadata": {"phone_number_id": "1"}, **value}
    changes = [{"field": "messages", "value": carried}]
    return {"object": "whatsapp_business_account", "entry": [{"id": "8", "changes": changes}]}


def _whatsapp_message(kind: str, content: Any) -> dict[str, Any]:
    message = {"from": "49", "id": "wamid.1", "timestamp": "1", "type": kind, kind: content}
    contact = {"profile": {"name": "Kim"}, "wa_id": "49"}
    return _whatsapp(contacts=[contact], messages=[message])


def _messenger(**event: Any) -> dict[str, Any]:
    said = {"sender": {"id": "1"}, "recipient": {"id": "2"}, "timestamp": 1, **event}
    return {"object": "page", "entry": [{"id": "1", "time": 1, "messaging": [said]}]}


def _line(*messages: dict[str, Any], kind: str = "message") -> dict[str, Any]:
    source = {"type": "user", "userId": "U8"}
    event = {"type": kind, "replyToken": "r", "mode": "active", "source": source}
    return {"destination": "U1", "events": [{**event, "message": m} for m in messages] or [event]}


def _pubsub(**message: Any) -> dict[str, Any]:
    return {"message": {"messageId": "20", "publishTime": "2026-01-05T12:00:00Z", **message},
            "subscription": "projects/p/subscriptions/s"}  # fmt: skip


POST = {"title": "", "content": [[{"tag": "at", "user_id": "@_user_1"},
                                  {"tag": "text", "text": ASKED}]]}  # fmt: skip
XML = (
    "<xml><ToUserName><![CDATA[gh_1]]></ToUserName><MsgType><![CDATA[text]]></MsgType>"
    "<Content>{}</Content><MsgId>1</MsgId></xml>"
)
EVENTS: dict[str, Any] = {
    "api_gateway": {"resource": "/c", "httpMethod": "POST", "headers": {"X-Key": "secret"},
                    "queryStringParameters": None, "body": BODY, "isBase64Encoded": False},
    "api_gateway_2": {"version": "2.0", "routeKey": "POST /", "rawPath": "/c", "rawQueryString": "",
                      "headers": {"a": "b"}, "body": BODY, "isBase64Encoded": False},
    "base64": {"headers": {}, "body": _base64(BODY), "isBase64Encoded": True},
    "form": {"headers": {"content-type": "application/x-www-form-urlencoded"}, "body": FORM,
             "isBase64Encoded": False},
    "form_in_base64": {"headers": {}, "body": _base64(FORM), "isBase64Encoded": True},
    "text": {"headers": {"content-type": "text/plain"}, "body": ASKED, "isBase64Encoded": False},
    "address": {"httpMethod": "GET", "queryStringParameters": {"question": ASKED}, "body": None},
    "chat": {"httpMethod": "POST", "body": json.dumps(
        {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": ASKED}]})},
    "websocket": {"requestContext": {"connectionId": "c"}, "body": BODY},
    "queue": {"Records": [{"messageId": "1", "body": BODY, "eventSource": "aws:sqs"}]},
    "topic": {"Records": [{"EventSource": "aws:sns", "Sns": {"MessageId": "1", "Message": BODY}}]},
    "cloud_event": {"specversion": "1.0", "type": "q", "source": "s", "id": "1", "data": BODY},
    "bedrock_agent": {"messageVersion": "1.0", "inputText": ASKED, "sessionId": "s"},
    "lex": {"sessionId": "s", "inputTranscript": ASKED, "bot": {"name": "b"}},
    "graphql": {"query": "query Ask($q: String!) { ask(question: $q) { answer } }",
                "variables": {"question": ASKED}},
    "feishu": _feishu("text", {"text": ASKED}),
    "feishu_mention": _feishu("text", {"text": f"@_user_1 {ASKED}"},
                              mentions=[{"key": "@_user_1", "name": "Bot"}]),
    "feishu_post": _feishu("post", POST),
    "feishu_older": {"uuid": "x", "token": "t", "type": "event_callback", "event": {
        "type": "message", "msg_type": "text", "text": f'<at open_id="ou">@bot</at> {ASKED}',
        "text_without_at_bot": ASKED}},
    "dingtalk": _dingtalk(msgtype="text", text={"content": ASKED}),
    "dingtalk_rich": _dingtalk(msgtype="richText", content={"richText": [{"text": ASKED}]}),
    "dingtalk_stream": {"specVersion": "1.0", "type": "CALLBACK", "headers": {"topic": "/v1.0/im"},
                        "data": json.dumps(_dingtalk(msgtype="text", text={"content": ASKED}))},
    "wecom": {"msgid": "m", "aibotid": "b", "chattype": "group", "from": {"userid": "u"},
              "msgtype": "text", "text": {"content": ASKED}},
    "wecom_xml": XML.format(f"<![CDATA[{ASKED}]]>"),
    "wechat_xml": XML.format(ASKED),
    "slack": {"token": "t", "team_id": "T", "type": "event_callback",
              "event": {"type": "message", "text": ASKED, "user": "U"}},
    "telegram": {"update_id": 1, "message": {"message_id": 1, "from": {"first_name": "x"},
                                             "chat": {"id": 1}, "text": ASKED}},
    "whatsapp": _whatsapp_message("text", {"body": ASKED}),
    "messenger": _messenger(message={"mid": "m", "text": ASKED}),
    "line": _line({"type": "text", "id": "1", "quoteToken": "q", "text": ASKED}),
    "pubsub": _pubsub(data=_base64(BODY), attributes={"origin": "shop"}),
    "pubsub_text": _pubsub(data=_base64(ASKED)),
    "queue_text": {"Records": [{"messageId": "1", "body": ASKED, "eventSource": "aws:sqs"}]},
    "kinesis": {"Records": [{"eventSource": "aws:kinesis", "kinesis": {
        "partitionKey": "1", "data": _base64(BODY)}}]},
    "kafka": {"eventSource": "aws:kafka", "records": {"asked-0": [
        {"topic": "asked", "partition": 0, "offset": 1, "value": _base64(BODY)}]}},
    "rabbitmq": {"eventSource": "aws:rmq", "rmqMessagesByQueue": {"asked::/": [
        {"basicProperties": {"contentType": "application/json"}, "data": _base64(BODY)}]}},
    "near miss: a plan beside a message": {"message": ASKED, "subscription": "pro"},
    "near miss: travelling": {"destination": "Oslo", "events": ["opera"], "question": ASKED},
    "near miss: what a guide lists": {
        "destination": "Oslo", "events": [{"source": "guide"}], "question": ASKED},
    "near miss: what changed in an order": {
        "object": "order", "entry": {"changes": "none"}, "question": ASKED},
}  # fmt: skip
SILENT: dict[str, Any] = {
    "feishu_image": _feishu("image", {"image_key": "img_1"}),
    "feishu_card": _feishu("interactive", {"config": {}, "elements": []}),
    "dingtalk_picture": _dingtalk(msgtype="picture", content={"downloadCode": "x"}),
    "no_question": {"httpMethod": "POST", "body": json.dumps({"id": 7, "page": 2})},
    "whatsapp_image": _whatsapp_message("image", {"id": "1", "mime_type": "image/jpeg"}),
    "whatsapp_status": _whatsapp(statuses=[{"id": "wamid.1", "status": "delivered"}]),
    "messenger_delivery": _messenger(delivery={"mids": ["m"], "watermark": 1}),
    "line_follow": _line(kind="follow"),
    "line_image": _line({"type": "image", "id": "1"}),
    "line_two": _line({"type": "text", "text": "One?"}, {"type": "text", "text": "Two?"}),
    "pubsub_attributes_only": _pubsub(attributes={"origin": "shop"}),
    "bytes": {"headers": {}, "body": base64.b64encode(b"\xff\xfd\x00").decode(),
              "isBase64Encoded": True},
}  # fmt: skip


def _traced(captured: InMemoryExporter, event: Any) -> Any:
    @rm.trace
    def handler(event: Any, context: Any) -> str:
        return "ok"

    handler(event, object())
    return captured.records[0].get("question")


@pytest.mark.parametrize("name", EVENTS)
def test_of_a_traced_handler(captured: InMemoryExporter, name: str) -> None:
    assert _traced(captured, EVENTS[name]) == ASKED


@pytest.mark.parametrize("name", EVENTS)
def test_of_a_request(name: str) -> None:
    event = EVENTS[name]
    data = event.encode() if isinstance(event, str) else json.dumps(event).encode()

    ranked = question_in_body(RequestBody(data))

    assert ranked is not None
    assert ranked[1] == ASKED


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("framed", [False, True])
def test_of_a_span(name: str, framed: bool) -> None:
    event = EVENTS[name]
    value = {"args": [event, "<Context>"], "kwargs": {}} if framed else event

    assert question_in_span(json.dumps(value), lone=True) == ASKED


@pytest.mark.parametrize("name", SILENT)
def test_what_says_nothing_is_no_question(captured: InMemoryExporter, name: str) -> None:
    event = SILENT[name]
    body = question_in_body(RequestBody(json.dumps(event).encode()))

    assert _traced(captured, event) is None
    assert body is None
    assert question_in_span(json.dumps(event), lone=True) is None


@pytest.mark.parametrize("asked", ['{"query": "match_all"}', "<xml>?", '{"text": "a"}', "[1, 2]"])
def test_what_somebody_asks_stays_as_it_is(captured: InMemoryExporter, asked: str) -> None:
    @rm.trace
    def handler(question: str) -> str:
        return "ok"

    handler(asked)

    assert captured.records[0]["question"] == asked


def test_a_question_that_is_set_stays_as_it_is(captured: InMemoryExporter) -> None:
    @rm.trace
    def handler(message: str) -> str:
        rm.current().set(question='{"text": "a"}')
        return "ok"

    handler("x")

    assert captured.records[0]["question"] == '{"text": "a"}'


def _message(message: str) -> str:
    return message


def _body(body: str) -> str:
    return body


def _payload(payload: str, retries: int = 0) -> str:
    return payload


@pytest.mark.parametrize("handler", [_message, _body, _payload])
def test_an_argument_of_json_gives_its_question(captured: InMemoryExporter, handler: Any) -> None:
    rm.trace(handler)(BODY)

    assert captured.records[0]["question"] == ASKED

"""How conventions write the steps of a trace into attributes and events; used by `otlp_traces`."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Attributes = dict[str, object]
Events = list[tuple[str, float, Mapping[str, object]]]
Messages = Sequence[tuple[str, str]]
"""Role and text."""


@dataclass
class Written:
    """One step as attributes and events of a span."""

    attributes: Attributes
    events: Events = field(default_factory=list)


@dataclass(frozen=True)
class Passage:
    """What a retriever found."""

    id: str
    text: str
    score: float

    def fields(self) -> dict[str, object]:
        return {"id": self.id, "content": self.text, "score": self.score}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def content(draw: random.Random, text: str) -> object:
    """A text as one of the contents that messages have."""
    return draw.choice(
        [
            text,
            [{"type": "text", "text": text}],
            [{"type": "input_text", "text": text}],
            [{"text": text}],
            [{"type": "image_url", "image_url": "x"}, {"type": "text", "text": text}],
        ]
    )


class OpenInference:
    """`openinference.span.kind` and flattened lists."""

    KINDS = ("CHAIN", "AGENT")

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def plain(self, kind: str, given: str | None = None, said: str | None = None) -> Written:
        """A step with an input and an output."""
        found: Attributes = {"openinference.span.kind": kind}
        if given is not None:
            found["input.value"] = given
        if said is not None:
            found["output.value"] = said
        return Written(found)

    def request(self, given: str | None, said: str | None) -> Written:
        """A chain or an agent."""
        return self.plain(self.draw.choice(self.KINDS), given, said)

    def call(self, messages: Messages, reply: str | None, tool: str | None = None) -> Written:
        """A model call; it may call a tool."""
        found: Attributes = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
        found["llm.token_count.prompt"], found["llm.token_count.completion"] = 7, 3
        for place, (role, text) in enumerate(messages):
            name = f"llm.input_messages.{place}.message."
            found[name + "role"] = role
            if self.draw.random() < 0.3:
                found[name + "contents.0.message_content.type"] = "text"
                found[name + "contents.0.message_content.text"] = text
            else:
                found[name + "content"] = text
        name = "llm.output_messages.0.message."
        if reply is not None or tool is not None:
            found[name + "role"] = "assistant"
        if reply is not None:
            found[name + self.draw.choice(["content", "refusal"])] = reply
        if tool is not None:
            found[name + "tool_calls.0.tool_call.function.name"] = tool
        return Written(found)

    def search(self, query: str, passages: Sequence[Passage] | None) -> Written:
        """A retriever; None: it says nothing of what it found."""
        found = self.plain("RETRIEVER", query)
        if passages is not None:
            items = [passage.fields() for passage in passages]
            form = self.draw.randrange(4) if items else 1
            if form == 0:
                found.attributes["retrieval.documents"] = _json([{"document": i} for i in items])
            elif form == 1:
                found.attributes["output.value"] = _json({"documents": items})
            elif form == 2:
                found.attributes["output.value"] = _hits(self.draw, passages)
            else:
                for place, item in enumerate(items):
                    for key, value in item.items():
                        found.attributes[f"retrieval.documents.{place}.document.{key}"] = value
        return found

    def rerank(self, query: str, places: Sequence[int], passages: Sequence[Passage]) -> Written:
        """A reranker that keeps the passages at these places."""
        found = Written({"openinference.span.kind": "RERANKER", "reranker.query": query})
        form = self.draw.randrange(3)
        if form == 0:
            ranking = [
                {"index": at, "relevance_score": 0.9 - n / 10} for n, at in enumerate(places)
            ]
            found.attributes["output.value"] = _json({"results": ranking})
            return found
        for n, at in enumerate(places):
            name = f"reranker.output_documents.{n}.document."
            if form == 1:
                found.attributes[name + "id"] = passages[at].id
                found.attributes[name + "content"] = ""
            else:
                found.attributes[name + "content"] = passages[at].text
            found.attributes[name + "score"] = 0.9 - n / 10
        return found

    def tool(self, given: str, said: str) -> Written:
        found = self.plain("TOOL", given, said)
        found.attributes["tool.name"] = "lookup"
        return found

    def guard(self, given: str, said: str) -> Written:
        return self.plain("GUARDRAIL", given, said)

    def prompt(self, given: str, said: str) -> Written:
        return self.plain("PROMPT", given, said)

    def embedding(self, given: str) -> Written:
        return self.plain("EMBEDDING", given)

    def judge(self, given: str, said: str) -> Written:
        return self.plain("EVALUATOR", given, said)


def _hits(draw: random.Random, passages: Sequence[Passage]) -> str:
    """As clients of vector databases return them."""
    return _json(
        draw.choice(
            [
                [{"id": p.id, "score": p.score, "payload": {"text": p.text}} for p in passages],
                {"matches": [{"id": p.id, "score": p.score, "metadata": {"text": p.text}}
                             for p in passages]},
                {"hits": {"hits": [{"_id": p.id, "_score": p.score, "_source": {"body": p.text}}
                                   for p in passages]}},
                {"ids": [[p.id for p in passages]], "documents": [[p.text for p in passages]]},
                {"objects": [{"uuid": p.id, "properties": {"passage": p.text}} for p in passages]},
            ]
        )
    )  # fmt: skip


class GenAI(OpenInference):
    """`gen_ai.*`; steps it has no word for are OpenInference's."""

    def request(self, given: str | None, said: str | None) -> Written:
        operation = self.draw.choice(["invoke_workflow", "invoke_agent"])
        found = Written({"gen_ai.operation.name": operation})
        sent = [{"role": "user", "content": content(self.draw, given)}] if given is not None else []
        parts = [{"type": "text", "content": said}]
        self._place(found, sent, [] if said is None else [{"role": "assistant", "parts": parts}])
        return found

    def call(self, messages: Messages, reply: str | None, tool: str | None = None) -> Written:
        operation = self.draw.choice(["chat", "chat", "responses", "acompletion"])
        found = Written({"gen_ai.operation.name": operation, "gen_ai.request.model": "m"})
        found.attributes["gen_ai.usage.input_tokens"] = 7
        found.attributes["gen_ai.usage.output_tokens"] = 3
        self._say(found, messages, reply, tool)
        return found

    def _say(self, found: Written, messages: Messages, reply: str | None, tool: str | None) -> None:
        sent = [{"role": role, "content": content(self.draw, text)} for role, text in messages]
        said: list[dict[str, Any]] = []
        if reply is not None or tool is not None:
            parts = [{"type": "reasoning", "content": "hm"}] if self.draw.random() < 0.2 else []
            if reply is not None:
                parts.append({"type": "text", "content": reply})
            if tool is not None:
                parts.append({"type": "tool_call", "id": "1", "name": tool})
            said = [{"role": "assistant", "parts": parts}]
            if reply is not None and self.draw.random() < 0.1:
                said.append(
                    {"role": "assistant", "parts": [{"type": "text", "content": "Or not."}]}
                )
        self._place(found, sent, said)

    def _place(self, found: Written, sent: list[Any], said: list[Any]) -> None:
        values: Attributes = {}
        if sent:
            values["gen_ai.input.messages"] = self.draw.choice([sent, _json(sent)])
        if said:
            values["gen_ai.output.messages"] = self.draw.choice([said, _json(said)])
        if self.draw.random() < 0.3 and values:
            found.events.append(("gen_ai.client.inference.operation.details", 1, values))
        else:
            found.attributes |= values

    def search(self, query: str, passages: Sequence[Passage] | None) -> Written:
        found = Written(
            {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": query}
        )
        if passages is not None:
            items = [passage.fields() for passage in passages]
            found.attributes["gen_ai.retrieval.documents"] = self.draw.choice([items, _json(items)])
        return found

    def tool(self, given: str, said: str) -> Written:
        return Written(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "lookup",
                "gen_ai.tool.call.arguments": given,
                "gen_ai.tool.call.result": said,
            }
        )

    def embedding(self, given: str) -> Written:
        return Written({"gen_ai.operation.name": "embeddings", "gen_ai.request.model": given[:3]})


class GenAIEvents(GenAI):
    """The same with an event for each message."""

    def _place(self, found: Written, sent: list[Any], said: list[Any]) -> None:
        for message in sent:
            held = message["content"]
            written = held if isinstance(held, str) else self.draw.choice([held, _json(held)])
            found.events.append((f"gen_ai.{message['role']}.message", 1, {"content": written}))
        for place, message in enumerate(said):
            parts = [part for part in message["parts"] if part["type"] == "text"]
            calls = [part for part in message["parts"] if part["type"] == "tool_call"]
            held = {"content": parts[0]["content"] if parts else None}
            choice = _json({**held, "tool_calls": calls} if calls else held)
            found.events.append(("gen_ai.choice", 2, {"message": choice, "index": place}))


class Langfuse(OpenInference):
    """`langfuse.observation.*`."""

    TYPES = frozenset(
        {"CHAIN", "AGENT", "RETRIEVER", "TOOL", "GUARDRAIL", "EMBEDDING", "EVALUATOR"}
    )
    KINDS = ("CHAIN", "AGENT", "SPAN")

    def plain(self, kind: str, given: str | None = None, said: str | None = None) -> Written:
        if kind == "PROMPT":  # Langfuse has no word for it
            return super().plain(kind, given, said)
        found: Attributes = {
            "langfuse.observation.type": kind.lower() if kind in self.TYPES else "span"
        }
        if given is not None:
            found["langfuse.observation.input"] = given
        if said is not None:
            found["langfuse.observation.output"] = said
        return Written(found)

    def call(self, messages: Messages, reply: str | None, tool: str | None = None) -> Written:
        sent = [{"role": role, "content": content(self.draw, text)} for role, text in messages]
        found: Attributes = {
            "langfuse.observation.type": "generation",
            "langfuse.observation.model.name": "m",
            "langfuse.observation.input": _json(
                self.draw.choice([sent, {"messages": sent}]) if sent else None
            ),
        }
        said: dict[str, object] = {"role": "assistant", "content": reply}
        if tool is not None:
            said["tool_calls"] = [{"function": {"name": tool}}]
        if reply is not None or tool is not None:
            choices = {"choices": [{"index": 0, "message": said}]}
            found["langfuse.observation.output"] = _json(self.draw.choice([said, choices]))
        return Written(found)

    def search(self, query: str, passages: Sequence[Passage] | None) -> Written:
        said = None if passages is None else _json([p.fields() for p in passages])
        if passages and self.draw.random() < 0.4:
            said = _hits(self.draw, passages)
        return self.plain("RETRIEVER", query, said)


class MLflow(OpenInference):
    """`mlflow.*`: every value is JSON."""

    KINDS = ("CHAIN", "AGENT", "WORKFLOW")

    def plain(self, kind: str, given: str | None = None, said: str | None = None) -> Written:
        if kind == "PROMPT":
            return super().plain(kind, given, said)
        found: Attributes = {"mlflow.spanType": _json(kind)}
        if given is not None:
            found["mlflow.spanInputs"] = _json(given)
        if said is not None:
            found["mlflow.spanOutputs"] = _json(said)
        return Written(found)

    def call(self, messages: Messages, reply: str | None, tool: str | None = None) -> Written:
        sent = [{"role": role, "content": content(self.draw, text)} for role, text in messages]
        found: Attributes = {"mlflow.spanType": '"CHAT_MODEL"'}
        found["mlflow.spanInputs"] = _json({"model": "m", "messages": sent})
        said: dict[str, object] = {"role": "assistant", "content": reply}
        if tool is not None:
            said["tool_calls"] = [{"function": {"name": tool}}]
        if reply is not None or tool is not None:
            found["mlflow.spanOutputs"] = _json({"choices": [{"index": 0, "message": said}]})
        return Written(found)

    def search(self, query: str, passages: Sequence[Passage] | None) -> Written:
        found = self.plain("RETRIEVER", query)
        if passages is not None:
            listed = [{"id": p.id, "page_content": p.text, "score": p.score} for p in passages]
            found.attributes["mlflow.spanOutputs"] = _json(listed)
        return found


class OpenLLMetry(GenAI):
    """`traceloop.*` beside `gen_ai.*`."""

    def request(self, given: str | None, said: str | None) -> Written:
        kind = self.draw.choice(["workflow", "agent"])
        found: Attributes = {"traceloop.span.kind": kind, "traceloop.entity.name": "answer"}
        if given is not None:
            called = {"args": [given], "kwargs": {}}
            inputs = {"inputs": {"question": given}, "kwargs": {}}
            found["traceloop.entity.input"] = _json(self.draw.choice([called, inputs]))
        if said is not None:
            found["traceloop.entity.output"] = _json(self.draw.choice([said, {"outputs": said}]))
        return Written(found)


WRITERS: Sequence[type[OpenInference]] = (
    OpenInference,
    GenAI,
    GenAIEvents,
    Langfuse,
    MLflow,
    OpenLLMetry,
)

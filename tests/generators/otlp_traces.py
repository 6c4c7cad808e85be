"""Random traces of RAG applications, with what is right to read out of each.

A trace has a root (a web server's span, a chain, one that says nothing, or a bare model call) and
below it guards, prompts, embeddings, calls that name the conversation or choose the way, searches,
rerankers, agents with tools, calls that are tried again, and judges. What each step says is written
by one of several conventions, in one of several shapes; some of it is odd, and some unreadable.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.generators.otlp_writers import (
    WRITERS,
    GenAI,
    Messages,
    OpenInference,
    Passage,
    Written,
)
from tests.unit.ingest.evidence import START_NS, pairs

QUESTIONS = (
    "May I take my dog on the ferry?",
    "带狗乘船需要什么手续？",
    "Two things:\n1. How much is a bicycle?\n2. And a tandem?",
    '{"level": "error", "code": 504}',
    '{"message": "refused", "path": "/book"}',
    '[{"id": 1, "state": "late"}]',
    "def f(x): return x  # what does this do?",
    "Foo(bar=1) raises TypeError, why?",
    '"quoted" or not?',
    "Is {name} replaced in the ticket?",
    "<b>bold</b> tickets?",
    "How long is the crossing? " * 40,
    "?",
)
PLAIN = frozenset(QUESTIONS[:3]) | {QUESTIONS[7], QUESTIONS[9], QUESTIONS[11]}
"""Questions that no structure can be mistaken for: a root may have them as its input."""
ANSWERS = (
    "Yes, on a lead.",
    "可以，但须系绳并停留在甲板。",
    "It costs:\n- bicycle: 5 euros\n- tandem: 8 euros [1]",
    "I cannot help with that.",
    "[1] Dogs travel on deck.",
    "Use `f(x)`.",
    "No",
)
PASSAGES = (
    "Dogs travel on deck, on a lead.",
    "Bicycles cost 5 euros, tandems 8.",
    "渡轮每小时一班，航程四十分钟。",
    "Tickets are valid for one day.",
)
UNREADABLE = (
    "RunStarted()",
    "Done(message=ChatMessage(role=<Role.ASSISTANT: 'assistant'>, blocks=[Text(text='Yes, on...",
    "<Request object at 0x7f00aa>",
    "content='Yes' additional_kwargs={} id='run-1'",
    json.dumps({"steps": [{"n": 1}], "passed": True}),
    json.dumps(
        {"llm": {"replies": ["ChatMessage(_role=<Role.ASSISTANT: 'assistant'>, _meta={})"]}}
    ),
    json.dumps([{"id": "p-1", "content": "Dogs travel on deck."}]),
    "[{'role': 'tool', 'content': 'deck'}]",
)
WAITS = ("gen_ai.server.time_to_first_token", "gen_ai.response.time_to_first_chunk")
TEMPLATE = "Answer kindly: {question}"
TOOL_SAID = "dogs: deck only"
SIDE_CALLS = (
    ("title", "", "Dogs on board"),
    ("chat m", "You write a short title for the conversation.", "Dogs on board"),
    ("route_question", "", "ferry"),
    ("chat m", "Classify the question: ferry or train.", "ferry"),
    ("chat m", "", '{"route": "ferry"}'),
    ("condense_question", "", "dog ferry rules"),
)
SIDE_TEXTS = frozenset(said for _, _, said in SIDE_CALLS)
VERDICTS = ("SAFE", '{"passed": true}', "allowed", "4")


@dataclass
class Trace:
    """Spans, and what is right to read out of them."""

    spans: list[dict[str, Any]] = field(default_factory=list)
    question: str | None = None
    answer: str | None = None
    passages: list[str] | None = None
    """Texts that reached the model; None: unknown."""
    first_byte_ms: float | None = None
    """None: not sent."""
    dropped: str | None = None
    """Why it is no request of a user; None: it is one."""


class _Maker:
    """Makes one trace."""

    def __init__(self, seed: int) -> None:
        self.draw = draw = random.Random(seed)
        self.trace = Trace()
        self.id = f"{draw.getrandbits(128) | 1:032x}"
        self.write = draw.choice(WRITERS)(draw)
        self.now = 1.0
        self.asked = draw.choice(QUESTIONS)
        self.said = draw.choice(ANSWERS)

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def span(
        self, name: str, written: Written, parent: int | None, ms: tuple[float, float], **more: Any
    ) -> int:
        """Add a span; its number."""
        number = len(self.trace.spans) + 1
        found: dict[str, Any] = {
            "traceId": self.id,
            "spanId": f"{number:016x}",
            "name": name,
            "startTimeUnixNano": str(START_NS + round(ms[0] * 1e6)),
            "endTimeUnixNano": str(START_NS + round(ms[1] * 1e6)),
            "attributes": pairs(written.attributes),
            "events": [
                {
                    "name": event,
                    "timeUnixNano": str(START_NS + round((ms[0] + at) * 1e6)),
                    "attributes": pairs(fields),
                }
                for event, at, fields in written.events
            ],
            **more,
        }
        if parent is not None:
            found["parentSpanId"] = f"{parent:016x}"
        self.trace.spans.append(found)
        return number

    def step(self, name: str, written: Written, parent: int | None, **more: Any) -> int:
        """Add a span after what came before."""
        begun = self.now
        self.now += self.draw.uniform(5, 40)
        return self.span(name, written, parent, (begun, self.now - 1), **more)

    # --- steps ---

    def guard(self, parent: int | None) -> None:
        verdict = self.draw.choice(VERDICTS)
        inner = self.chance(0.4)
        number = self.step("check", self.write.guard(self.asked, verdict), parent)
        if inner:
            call = self.write.call([("user", f"Is this safe? {self.asked}")], verdict)
            start, end = self._times(number)
            self.span("chat m", call, number, (start + 0.5, end - 0.5))

    def judge(self, parent: int | None) -> None:
        number = self.step("rating", self.write.judge(self.said, "4"), parent)
        start, end = self._times(number)
        call = self.write.call([("user", f"Rate the answer: {self.said}")], "4")
        self.span("chat m", call, number, (start + 0.5, end - 0.5))

    def side_call(self, parent: int | None) -> None:
        name, system, said = self.draw.choice(SIDE_CALLS)
        told = [("system", system)] if system else []
        self.step(name, self.write.call([*told, ("user", self.asked)], said), parent)

    def tool(self, parent: int | None) -> None:
        given = json.dumps({"what": "dogs"})
        number = self.step("lookup", self.write.tool(given, TOOL_SAID), parent)
        if self.chance(0.2):
            start, end = self._times(number)
            call = self.write.call([("user", "What are the rules?")], TOOL_SAID)
            self.span("chat m", call, number, (start + 0.5, end - 0.5))

    def _times(self, number: int) -> tuple[float, float]:
        span = self.trace.spans[number - 1]
        starts, ends = span["startTimeUnixNano"], span["endTimeUnixNano"]
        return (int(starts) - START_NS) / 1e6, (int(ends) - START_NS) / 1e6

    def early(self, parent: int | None) -> None:
        """What goes before the answer."""
        for make, share in (
            (self.guard, 0.3),
            (lambda at: self.step("prompt", self.write.prompt(TEMPLATE, TEMPLATE), at), 0.2),
            (lambda at: self.step("embed", self.write.embedding(self.asked), at), 0.3),
            (self.side_call, 0.3),
            (self.checking_chain, 0.15),
        ):
            if self.chance(share):
                make(parent)

    def late(self, parent: int | None) -> None:
        """What comes after it."""
        for make, share in ((self.guard, 0.15), (self.judge, 0.2), (self.side_call, 0.2)):
            if self.chance(share):
                make(parent)

    def search(self, parent: int | None) -> None:
        """Searches and rerankers; what reaches the model."""
        if self.chance(0.15):  # tried again
            failed = self.write.search(self.asked, None)
            self.step("search", failed, parent, status={"code": 2, "message": "timeout"})
        texts = self.draw.sample(PASSAGES, self.draw.randint(0, 3))
        found = [Passage(f"p-{n}", text, 0.9 - n / 10) for n, text in enumerate(texts)]
        self.step("search", self.write.search(self.asked, found), parent)
        self.trace.passages = texts
        if found and self.chance(0.4):
            places = self.draw.sample(range(len(found)), self.draw.randint(1, len(found)))
            self.step("rerank", self.write.rerank(self.asked, places, found), parent)
            self.trace.passages = [texts[at] for at in places]

    def answer(self, parent: int | None) -> None:
        """The calls that answer."""
        passages = "\n".join(self.trace.passages or ())
        system = [("system", f"Use this:\n{passages}")] if passages or self.chance(0.3) else []
        messages = [*system, ("user", self.asked)]
        if self.chance(0.3):  # an earlier turn
            messages[-1:-1] = [("user", "Hello"), ("assistant", "Hi, how can I help?")]
        if self.chance(0.2):  # tried again
            failed = self.write.call(messages, None)
            self.step("chat m", failed, parent, status={"code": 2, "message": "overloaded"})
        for _ in range(self.draw.choice([0, 0, 0, 1, 2])):
            said = "I look that up." if self.chance(0.5) else None
            self.step("chat m", self.write.call(messages, said, tool="lookup"), parent)
            self.tool(parent)
            if self.chance(0.3):
                messages = [
                    *messages,
                    ("assistant", "Action"),
                    ("user", f"Observation: {TOOL_SAID}"),
                ]
        self.final_call(messages, parent)

    def final_call(self, messages: Messages, parent: int | None) -> None:
        """The call that answers; it may say when the first token came, or be a stream."""
        if isinstance(self.write, GenAI) and parent is not None and self.chance(0.15):
            self.step("chat m", self.write.call(messages, None), parent)
            begun, self.now = self.now, self.now + 60
            record = self.write.call(messages, self.said)
            self.span("reply of the stream", record, parent, (begun + 50, begun + 50))
            return
        number = self.step("chat m", self.write.call(messages, self.said), parent)
        if self.chance(0.4):
            start, end = self._times(number)
            wait = round(self.draw.uniform(1, end - start - 1), 3)
            name = self.draw.choice(WAITS)
            seconds = self.draw.choice([wait / 1000, wait])  # some write milliseconds
            self.trace.spans[number - 1]["attributes"] += pairs({name: seconds})
            self.trace.first_byte_ms = wait if parent is None else start + wait

    def pass_through(self, parent: int | None) -> None:
        """A chain inside that hands on what it was given."""
        chain = OpenInference(self.draw).plain("CHAIN", self.asked, "\n".join(PASSAGES[:2]))
        self.step("format", chain, parent)

    def checking_chain(self, parent: int | None) -> None:
        """A guard that is written as a chain."""
        chain = OpenInference(self.draw).plain("CHAIN", "{}", self.draw.choice(VERDICTS))
        self.step(self.draw.choice(["input_guardrail", "SafetyCheck", "router"]), chain, parent)

    # --- whole traces ---

    def request(self) -> Trace:
        """A request of a user."""
        self.trace.question, self.trace.answer = self.asked, self.said
        shape = self.draw.choice(["web", "web_request", "request", "unreadable", "silent", "bare"])
        root = None if shape == "bare" else self._root(shape)
        parent = root
        if shape != "bare":
            self.early(root)
        if shape == "web_request" or (root is not None and self.chance(0.15)):
            readable = shape == "web_request" and self.asked in PLAIN and self.chance(0.7)
            parent = self._request(root, readable)
        if shape != "bare" and self.chance(0.6):
            self.search(parent)
            if self.chance(0.2):
                self.pass_through(parent)
        if shape == "bare":
            self.final_call([("user", self.asked)], None)
        elif shape == "request" and self.asked in PLAIN and self.chance(0.15):
            pass  # nobody instrumented the model
        else:
            self.answer(parent)
        if shape != "bare":
            self.late(root)
        self._close(root, parent)
        return self.trace

    def _root(self, shape: str) -> int:
        web = Written({"http.request.method": "POST", "url.path": "/ask"})
        if shape.startswith("web"):
            return self.span("POST /ask", web, None, (0, 1), kind=2)
        given, said = {
            "request": (self.asked if self.asked in PLAIN else None, self.said),
            "unreadable": (self.draw.choice(UNREADABLE), self.draw.choice(UNREADABLE)),
            "silent": (None, None),
        }[shape]
        return self.span("answer", self.write.request(given, said), None, (0, 1))

    def _request(self, root: int | None, readable: bool) -> int:
        """A chain or an agent below the root."""
        given = self.asked if readable else self.draw.choice([None, *UNREADABLE])
        said = self.said if readable else self.draw.choice([None, *UNREADABLE])
        return self.span("rag", self.write.request(given, said), root, (self.now, self.now + 1))

    def _close(self, *numbers: int | None) -> None:
        """Let the spans that surround others end after them."""
        for number in {n for n in numbers if n is not None}:
            self.trace.spans[number - 1]["endTimeUnixNano"] = str(
                START_NS + round((self.now + 1) * 1e6)
            )

    def no_request(self) -> Trace:
        """Work that nobody asked a question for."""
        oi = OpenInference(self.draw)
        reason, written = self.draw.choice(
            [
                ("lone_tool", self.write.tool("{}", TOOL_SAID)),
                ("lone_embedding", self.write.embedding(self.asked)),
                ("lone_guardrail", self.write.guard(self.asked, "SAFE")),
                ("lone_prompt", oi.prompt(TEMPLATE, TEMPLATE)),
                ("evaluation", self.write.judge(self.said, "4")),
                ("agent_created", Written({"gen_ai.operation.name": "create_agent"})),
                ("no_model_call", Written({"http.request.method": "GET"})),
                ("nothing_said", oi.plain("CHAIN")),
            ]
        )
        number = self.step("work", written, None)
        if reason == "evaluation":
            call = self.write.call([("user", f"Rate: {self.said}")], "4")
            self.step("chat m", call, number)
        if reason == "no_model_call":
            self.step("SELECT", Written({"db.system": "postgresql"}), number)
        self.trace.dropped = reason
        return self.trace


def make(seed: int) -> Trace:
    """The trace of a seed, always the same; about one in ten is no request of a user."""
    maker = _Maker(seed)
    trace = maker.no_request() if maker.chance(0.1) else maker.request()
    if maker.chance(0.3):
        maker.draw.shuffle(trace.spans)
    return trace


def bodies(traces: Sequence[Trace]) -> bytes:
    """The traces as one OTLP/JSON request."""
    spans = [span for trace in traces for span in trace.spans]
    resource = {"attributes": pairs({"service.name": "ferry-desk"})}
    scopes = [{"scope": {"name": "tests"}, "spans": spans}]
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}).encode()

"""A judge by script: it knows what to say of each trace, and says garbage now and then.

    python -m tests.chaos.judge PORT GARBAGE STUBBORN

GARBAGE is the share of replies that are garbage once, STUBBORN the share of traces about which it
never says anything that can be read. What it says of a trace is drawn from the trace's id, so that
whoever reads the database afterwards knows which numbers are the judge's own. `GET /counts` gives
how often it said what.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
import sys
from collections import Counter
from typing import Any

from benchmarks.stub_server import Answer, Body, StubServer, completion, schema_of
from tests.chaos.garbage import KINDS, USELESS, spoilt

QUESTION = "Case {}: how long does the standard warranty last?"
"""The question of every trace; it carries the trace's id."""
_CASE = re.compile(r"Case ([0-9a-f]{32})")


def truth(trace_id: str, aspect: str, index: int) -> float:
    """What the judge says of one statement, passage or answer: 0.02 to 0.98."""
    digest = hashlib.sha256(f"{trace_id} {aspect} {index}".encode()).digest()
    return round(0.02 + 0.96 * digest[0] / 255, 4)


def stubborn(trace_id: str, share: float) -> bool:
    """Whether it never says anything useful about this trace."""
    return int(trace_id[:8], 16) < share * 2**32


def filled(body: Body, trace_id: str) -> dict[str, Any]:
    """The reply that was asked for."""
    schema = schema_of(body)
    assert schema is not None, "asked without a form"
    reply: dict[str, Any] = {}
    for name, part in schema["properties"].items():
        if name == "nonce":
            reply[name] = part["enum"][0]
        elif name == "rests_on":
            reply[name] = dict.fromkeys(part["properties"], 1)
        elif part["type"] == "number":
            reply[name] = truth(trace_id, name, 0)
        elif part["type"] == "object":
            reply[name] = {k: truth(trace_id, name, int(k) - 1) for k in part["properties"]}
        else:
            text, value = part["items"]["properties"]
            reply[name] = [{text: "the warranty lasts 24 months", value: truth(trace_id, name, 0)}]
    return reply


class Judge:
    """The script of the server."""

    def __init__(self, garbage: float, stubborn_share: float) -> None:
        self._garbage = garbage
        self._stubborn = stubborn_share
        self._draw = random.Random(40)
        self.counts: Counter[str] = Counter()

    def __call__(self, path: str, body: Body) -> Answer:
        """Answer one request."""
        if path == "/counts":
            return Answer(payload=dict(self.counts))
        text = " ".join(str(message.get("content")) for message in body["messages"])
        case = _CASE.search(text)
        if case is None:
            return Answer(payload={"error": "no case"}, status=400)
        reply = filled(body, case[1])
        never = stubborn(case[1], self._stubborn)
        if never or self._draw.random() < self._garbage:
            kind = self._draw.choice(USELESS if never else KINDS)
            self.counts[kind] += 1
            return spoilt(kind, reply)
        self.counts["right"] += 1
        return Answer(payload=completion(json.dumps(reply), input_tokens=500, output_tokens=50))


async def _serve(port: int, garbage: float, share: float) -> None:
    async with StubServer(Judge(garbage, share), keep=False, port=port):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])))

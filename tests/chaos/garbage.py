"""Forty ways in which a judge's reply is not what was asked for."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.stub_server import Answer, completion

Reply = dict[str, Any]


def _first_number(reply: Reply) -> tuple[Reply, Any]:
    """The object that holds the reply's first probability, and its key there."""
    for name, value in reply.items():
        if name in ("nonce", "rests_on"):
            continue
        if isinstance(value, dict) and value:
            return value, next(iter(value))
        if type(value) is float:
            return reply, name
    raise AssertionError(f"no probability in {reply}")


def _with(value: Any) -> Callable[[Reply], str]:
    """The right reply with one probability replaced; NaN and Infinity as Python writes them."""

    def spoil(reply: Reply) -> str:
        spoilt = copy.deepcopy(reply)
        holder, key = _first_number(spoilt)
        holder[key] = value
        return json.dumps(spoilt, ensure_ascii=False)

    return spoil


def _raw(literal: str) -> Callable[[Reply], str]:
    """The right reply with one probability replaced by a literal that is not JSON of ours."""
    return lambda reply: _with("@@")(reply).replace('"@@"', literal)


def _extra(reply: Reply) -> str:
    return json.dumps({**reply, "score": 1.0})


def _another_statement(reply: Reply) -> str:
    spoilt = copy.deepcopy(reply)
    for value in spoilt.values():
        if isinstance(value, dict):
            value["99"] = 1.0
            break
    else:
        spoilt["more"] = 1.0
    return json.dumps(spoilt)


def _twice(reply: Reply) -> str:
    good = json.dumps(reply)
    return good[:-1] + f', "nonce": "{reply["nonce"]}"' + "}"


def _another_nonce(reply: Reply) -> str:
    spoilt = copy.deepcopy(reply)
    holder, key = _first_number(spoilt)
    holder[key] = 1.0
    return json.dumps(spoilt | {"nonce": "0" * len(str(reply["nonce"]))})


_TEXTS: Mapping[str, Callable[[Reply], str | None]] = {
    "nothing": lambda _: None,
    "empty": lambda _: "",
    "blank": lambda _: " \n\t ",
    "prose": lambda _: "The answer is well supported; I would give it full marks.",
    "prose in Chinese": lambda _: "该回答完全有依据，满分。",
    "refusal": lambda _: "I'm sorry, but I can't help with that.",
    "yes": lambda _: "yes",
    "number": lambda _: "0.9",
    "fraction": lambda _: "11/10",
    "true": lambda _: "true",
    "null": lambda _: "null",
    "list": lambda _: "[1.0, 1.0]",
    "wrapped in a list": lambda reply: json.dumps([reply]),
    "a string of JSON": lambda reply: json.dumps(json.dumps(reply)),
    "fenced": lambda reply: f"```json\n{json.dumps(reply)}\n```",
    "prose before": lambda reply: f"Here you are: {json.dumps(reply)}",
    "prose after": lambda reply: f"{json.dumps(reply)}\nI hope this helps.",
    "two objects": lambda reply: json.dumps(reply) * 2,
    "another object first": lambda reply: '{"score": 1.0}' + json.dumps(reply),
    "cut in half": lambda reply: json.dumps(reply)[: len(json.dumps(reply)) // 2],
    "last brace missing": lambda reply: json.dumps(reply)[:-1],
    "single quotes": lambda reply: json.dumps(reply).replace('"', "'"),
    "trailing comma": lambda reply: json.dumps(reply)[:-1] + ",}",
    "comment": lambda reply: json.dumps(reply).replace("{", "{ // verdicts\n", 1),
    "byte order mark": lambda reply: "\ufeff" + json.dumps(reply),
    "NaN": _with(float("nan")),
    "infinite": _with(float("inf")),
    "overflow": _raw("1e999"),
    "above one": _with(1.5),
    "out of ten": _with(9),
    "below zero": _with(-0.1),
    "text for a number": _with("0.9"),
    "percent": _with("100%"),
    "boolean": _with(True),
    "list for a number": _with([1.0]),
    "duplicate key": _twice,
    "a field nobody asked for": _extra,
    "a verdict too many": _another_statement,
    "another request's nonce": _another_nonce,
}
_PAGE = b"<html><body>502 Bad Gateway</body></html>"

KINDS: tuple[str, ...] = (*_TEXTS, "HTML with status 200")
READABLE = frozenset(
    {
        "wrapped in a list", "fenced", "prose before", "prose after", "another object first",
        "byte order mark",
    }
)  # fmt: skip
"""Those around the one object that repeats the nonce: the monitor reads it, and its numbers are the
judge's own."""
USELESS: tuple[str, ...] = tuple(kind for kind in KINDS if kind not in READABLE)


def spoilt(kind: str, reply: Reply) -> Answer:
    """The answer of a server that says `kind` instead of `reply`."""
    if kind not in _TEXTS:
        return Answer(payload=_PAGE, headers=(("content-type", "text/html"),))
    return Answer(payload=completion(_TEXTS[kind](reply), input_tokens=500, output_tokens=50))

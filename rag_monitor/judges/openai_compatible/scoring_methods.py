"""How a server gives the probabilities of single labels, found by asking it once.

Tried in this order: SGLang's `/v1/score`, chat with vLLM's `logprob_token_ids`, vLLM's
`/generative_scoring`, and what every server understands: `top_logprobs`, or the text itself. The
scoring endpoints know no chat template, so they are used only where `/tokenize` renders one.
Source: reference/judging.md 2.3 and 2.4.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from rag_monitor.errors import (
    JudgeError,
    JudgeOutputInvalid,
    JudgeRefused,
    OtherModelServed,
    QuotaExhausted,
)
from rag_monitor.judges.openai_compatible.address import address_of
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions
from rag_monitor.judges.openai_compatible.transport import ChatMessage, ChatTransport
from rag_monitor.judges.prompts import PromptSet

_TRIAL: Final = (
    {"role": "user", "content": "Is water wet? Reply Yes or No."},
    {"role": "user", "content": "Is water dry? Reply Yes or No."},
)
_ABOUT_ACCOUNT: Final = (QuotaExhausted, OtherModelServed)
"""Refusals that say nothing about what the server can do."""
_SLACK: Final = 1e-3
"""Probabilities of servers that compute in half precision may add up to a little over 1."""


class Scoring(StrEnum):
    """Where label probabilities come from."""

    SGLANG_SCORE = "sglang_score"
    LABEL_IDS = "logprob_token_ids"
    VLLM_SCORING = "vllm_generative_scoring"
    TOP_LOGPROBS = "top_logprobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringMethod:
    """How one server and model are asked for one pair of labels."""

    scoring: Scoring = Scoring.TOP_LOGPROBS
    yes: tuple[int, ...] = ()
    """Ids of the spellings of yes that are one token."""
    no: tuple[int, ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """All label ids."""
        return self.yes + self.no

    def masses(self, probabilities: Mapping[int, float]) -> tuple[float, float]:
        """What yes and no hold.

        Raises:
            JudgeOutputInvalid: A label is not listed, or the numbers are no probabilities.
        """
        if not set(self.ids) <= probabilities.keys():
            raise JudgeOutputInvalid("the server left out the probability of a label")
        values = [probabilities[label] for label in self.ids]
        total = sum(values)
        if not all(0.0 <= value <= 1.0 + _SLACK for value in values) or total > 1.0 + _SLACK:
            raise JudgeOutputInvalid("the server's label probabilities are none")
        yes = sum(values[: len(self.yes)])
        return yes, total - yes


@dataclass(slots=True)
class _Cache:
    methods: dict[tuple[str, str, tuple[str, ...]], ScoringMethod] = field(default_factory=dict)


_METHODS: Final = _Cache()


def forget_scoring_methods() -> None:
    """Forget what is known of all servers."""
    _METHODS.methods.clear()


class ScoringProbe:
    """Finds and remembers the way, per URL, model and labels."""

    def __init__(self, options: OpenAICompatibleOptions, transport: ChatTransport) -> None:
        self._options = options
        self._transport = transport
        self._base = address_of(options).base
        self._turn = asyncio.Lock()

    async def method(self, prompts: PromptSet, meter: Meter) -> ScoringMethod:
        """The best way that works; when the server is down now, the plain one, not remembered."""
        if not self._options.scoring_endpoints:
            return ScoringMethod()
        key = self._key(prompts)
        async with self._turn:
            if key not in _METHODS.methods:
                try:
                    _METHODS.methods[key] = await self._find(prompts, meter)
                except JudgeError:
                    return ScoringMethod()
            return _METHODS.methods[key]

    def disable(self, prompts: PromptSet) -> None:
        """Go the plain way from now on: the server refused what it took before."""
        _METHODS.methods[self._key(prompts)] = ScoringMethod()

    async def scores(
        self, method: ScoringMethod, prompts: Sequence[Sequence[int]], meter: Meter
    ) -> list[tuple[float, float]]:
        """Masses of yes and no after each of `prompts`, which share what they can.

        Raises:
            JudgeError: The server does not give them.
        """
        shared = _common_length(prompts)
        query, items = list(prompts[0][:shared]), [list(prompt[shared:]) for prompt in prompts]
        if method.scoring is Scoring.SGLANG_SCORE:
            rows = await self._sglang(method, query, items, meter)
        else:
            rows = await self._vllm(method, query, items, meter)
        return [method.masses(row) for row in rows]

    async def token_ids(self, messages: Sequence[ChatMessage]) -> list[int]:
        """The tokens of a rendered chat, up to where the reply begins.

        Raises:
            JudgeError: The server does not render chats.
        """
        body: dict[str, Any] = {"messages": list(messages), "add_generation_prompt": True}
        template = self._options.extra_body.get("chat_template_kwargs")
        return await self._tokenize(body | ({"chat_template_kwargs": template} if template else {}))

    def label_probabilities(self, listed: Sequence[tuple[str, float]]) -> dict[int, float]:
        """By id, from tokens named `token_id:<id>` and their logprobs."""
        return {
            int(token.removeprefix("token_id:")): math.exp(logprob)
            for token, logprob in listed
            if token.startswith("token_id:") and token[9:].isdigit()
        }

    def _key(self, prompts: PromptSet) -> tuple[str, str, tuple[str, ...]]:
        return self._options.base_url, self._options.model, (*prompts.yes, *prompts.no)

    async def _find(self, prompts: PromptSet, meter: Meter) -> ScoringMethod:
        try:
            yes, no = await self._single(prompts.yes), await self._single(prompts.no)
        except _ABOUT_ACCOUNT:
            raise
        except (JudgeRefused, JudgeOutputInvalid):
            return ScoringMethod()
        if not yes or not no or set(yes) & set(no):
            return ScoringMethod()
        for scoring in (Scoring.SGLANG_SCORE, Scoring.LABEL_IDS, Scoring.VLLM_SCORING):
            method = ScoringMethod(scoring=scoring, yes=yes, no=no)
            try:
                await self._try(method, meter)
            except _ABOUT_ACCOUNT:
                raise
            except (JudgeRefused, JudgeOutputInvalid):
                continue
            return method
        return ScoringMethod()

    async def _try(self, method: ScoringMethod, meter: Meter) -> None:
        if method.scoring is Scoring.LABEL_IDS:
            body = {"max_tokens": 1, "temperature": 0} | label_fields(method)
            reply = await self._transport.chat(
                _TRIAL[:1], body | dict(self._options.extra_body), meter
            )
            method.masses(self.label_probabilities(reply.top_logprobs or ()))
            return
        prompts = [await self.token_ids([message]) for message in _TRIAL]
        await self.scores(method, prompts, meter)

    async def _single(self, labels: Sequence[str]) -> tuple[int, ...]:
        single: dict[int, None] = {}
        for label in labels:
            ids = await self._tokenize({"prompt": label, "add_special_tokens": False})
            if len(ids) == 1:
                single[ids[0]] = None
        return tuple(single)

    async def _tokenize(self, body: Mapping[str, Any]) -> list[int]:
        raw = await self._transport.post(self._url("/tokenize"), body)
        ids = raw.get("tokens")
        if not isinstance(ids, list) or not ids or not all(type(i) is int for i in ids):
            raise JudgeOutputInvalid("the server gives no token ids")
        return ids

    def _url(self, path: str) -> str:
        """Of an endpoint that stands beside `/v1`."""
        return self._base.removesuffix("/v1") + path

    async def _sglang(
        self, method: ScoringMethod, query: list[int], items: list[list[int]], meter: Meter
    ) -> list[dict[int, float]]:
        body = _scoring_body(query, items, method.ids)
        read = len(query) + sum(map(len, items))
        async with meter.call(read) as call:
            raw = await self._transport.post(self._base + "/score", body)
            call.used(read, 0)
        rows = _numbers(raw.get("scores"), len(items))
        return [dict(zip(method.ids, _numbers(row, len(method.ids)), strict=True)) for row in rows]

    async def _vllm(
        self, method: ScoringMethod, query: list[int], items: list[list[int]], meter: Meter
    ) -> list[dict[int, float]]:
        """One call per label: the endpoint gives the probability of the first id only."""
        probabilities: list[dict[int, float]] = [{} for _ in items]
        for label in method.ids:
            ids = (label, *(other for other in method.ids if other != label))
            body = _scoring_body(query, items, ids) | {"add_special_tokens": False}
            read = len(query) + sum(map(len, items))
            async with meter.call(read) as call:
                raw = await self._transport.post(self._url("/generative_scoring"), body)
                call.used(read, 0)
            rows = _numbers(raw.get("data"), len(items))
            scores = _numbers([row.get("score") for row in rows if isinstance(row, Mapping)])
            for row, score in zip(probabilities, _numbers(scores, len(items)), strict=True):
                row[label] = score
        return probabilities


def label_fields(method: ScoringMethod) -> dict[str, Any]:
    """What a chat request says to get the labels' logprobs and no others."""
    return {
        "logprobs": True,
        "logprob_token_ids": list(method.ids),
        "return_tokens_as_token_ids": True,
    }


def _scoring_body(
    query: list[int], items: list[list[int]], labels: Sequence[int]
) -> dict[str, Any]:
    # Without softmax the numbers are shares of the whole vocabulary: they hold the label mass.
    return {
        "query": query,
        "items": items,
        "label_token_ids": list(labels),
        "apply_softmax": False,
        "item_first": False,
    }


def _numbers(value: Any, count: int | None = None) -> list[Any]:
    """A list, of `count` entries; numbers in it are finite."""
    if not isinstance(value, list) or (count is not None and len(value) != count):
        raise JudgeOutputInvalid("the server's scores do not fit what was asked")
    for entry in value:
        number = type(entry) in (int, float)
        if not number and not isinstance(entry, (list, Mapping)):
            raise JudgeOutputInvalid("the server's scores are no numbers")
        if number and not math.isfinite(entry):
            raise JudgeOutputInvalid("the server's scores are not finite")
    return value


def _common_length(prompts: Sequence[Sequence[int]]) -> int:
    """How many tokens all prompts begin with alike, leaving each at least one of its own."""
    most = min(len(prompt) for prompt in prompts) - 1
    for place in range(most):
        if len({prompt[place] for prompt in prompts}) > 1:
            return place
    return most

"""The judge behind any OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Final

from rag_monitor import telemetry
from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    JudgeUsage,
)
from rag_monitor.domain.ports import BudgetLedger, Embedder, ReplyCache
from rag_monitor.domain.session_verdict import ConversationReply, ConversationRequest
from rag_monitor.errors import JudgeError
from rag_monitor.judges import reply_cache
from rag_monitor.judges.accounting import Account, estimate_texts, estimate_usage
from rag_monitor.judges.limits import Limits
from rag_monitor.judges.openai_compatible.capabilities import AdaptiveChat, Capabilities
from rag_monitor.judges.openai_compatible.conversation import (
    CANARY_LEAKED,
    ConversationAsker,
    conversation_prompts_hash,
)
from rag_monitor.judges.openai_compatible.judge_run import JudgeRunner
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions, VerdictMode
from rag_monitor.judges.openai_compatible.probe import WRONG, passed, probe_request, probe_server
from rag_monitor.judges.openai_compatible.scoring_methods import ScoringProbe
from rag_monitor.judges.openai_compatible.served_model import recorded
from rag_monitor.judges.openai_compatible.structured import InputBudget
from rag_monitor.judges.openai_compatible.transport import ChatTransport
from rag_monitor.judges.prompt_injection import injection_reason
from rag_monitor.judges.prompts import LANGUAGES, load, prompts_hash
from rag_monitor.judges.questions import ASKABLE, Plan, make_plan

_log = logging.getLogger(__name__)

NAME: Final = "openai_compatible"
_PROBE_DEADLINE_S: Final = 30.0
"""Somebody waits for the answer."""


class OpenAICompatibleJudge:
    """Asks a model over HTTP. One instance per event loop.

    Args:
        options: Server, model and how to ask.
        ledger: Keeps the budget; None: no budget.
        cache: Remembers judgements; None: nothing is remembered.
        embedder: For answer_relevancy; None: the server's `embedding_model`, if one is set.
        limits: Retries and deadlines; None: made from the options.
    """

    def __init__(
        self,
        options: OpenAICompatibleOptions,
        *,
        ledger: BudgetLedger | None = None,
        cache: ReplyCache | None = None,
        embedder: Embedder | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._options = options
        self._cache = cache
        self._account = Account(ledger, NAME)
        self._transport = ChatTransport(options)
        self._limits = limits or Limits(options.limits)
        self._chat = AdaptiveChat(options, self._transport, self._limits)
        self._canary = secrets.token_hex(8)
        self._runner = JudgeRunner(
            options, self._chat, self._transport, self._limits, embedder, self._canary
        )
        self._conversations = ConversationAsker(self._chat, self._canary, options.reasks)
        self._embeds = embedder is not None or options.embedding_model is not None
        self._configured = self._answering = JudgeIdentity(
            name=NAME, model=_model_name(options, embedder), prompts=prompts_hash()
        )
        self._judged = 0
        self._probes = 0

    @property
    def identity(self) -> JudgeIdentity:
        """Name, model and how it is asked, hash of all prompts; another model that answers."""
        return self._answering

    @property
    def aspects(self) -> frozenset[Aspect]:
        """All; QUESTION_SIMILARITY needs an embedder."""
        return ASKABLE - (set() if self._embeds else {Aspect.QUESTION_SIMILARITY})

    async def judge(self, request: JudgeRequest) -> Judgement:
        """Judge one trace within the deadline.

        Raises:
            JudgeUnavailable: Not reachable, overloaded, or it refuses our key.
            JudgeTimeout: No answer within the deadline.
            JudgeOutputInvalid: No usable reply, however often it was asked.
            BudgetExhausted: The budget does not allow another judgement.
        """
        key = ""
        if self._cache is not None:
            key = reply_cache.cache_key(request, self._configured, self._parameters())
            stored = await asyncio.to_thread(self._cache.get, key)
            cached = None if stored is None else reply_cache.load(stored, self._configured)
            if cached is not None:
                return cached
        judgement = await self._judge_fresh(request)
        if self._cache is not None and reply_cache.is_cacheable(judgement):
            await asyncio.to_thread(
                lambda cache: cache.put(
                    key, reply_cache.dump(judgement), project=request.project, trace_id=request.key
                ),
                self._cache,
            )
        return judgement

    async def judge_conversation(self, request: ConversationRequest) -> ConversationReply:
        """Judge a whole conversation within the deadline, in one call where its reply is usable.

        Raises:
            JudgeError: As for `judge`.
        """
        texts = [text for turn in request.turns for text in (turn.question, turn.answer)]
        began = time.perf_counter()
        purse = await self._account.open(request.project, estimate_texts(texts, self._price))
        meter = Meter(purse, self._price)
        budget = InputBudget(self._options.max_input_chars)
        try:
            probability = await self._conversations.ask(
                request, budget, self._limits.deadline(), meter
            )
        finally:
            usage = self._usage(meter, time.perf_counter() - began)
            if purse is not None:
                await purse.settle(usage)
        identity = replace(self._answered_by(meter), prompts=conversation_prompts_hash())
        leaked = CANARY_LEAKED if CANARY_LEAKED in meter.notes else None
        return ConversationReply(
            probability=probability,
            judge=str(identity),
            suspect=leaked or injection_reason(texts),
        )

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """Judge several traces at once; `limits.concurrency` calls are in flight.

        A known-answer probe joins every `probe_every` traces. When one fails, the batch's
        judgements are marked suspect.
        """
        probe = self._due_probe(requests)
        everything = [*requests, probe] if probe is not None else list(requests)
        results = await asyncio.gather(*(self._outcome(request) for request in everything))
        if probe is None:
            return results
        *real, check = results
        if isinstance(check, Judgement) and passed(check):
            return real
        telemetry.dropped("judges", WRONG)
        if not isinstance(check, Judgement):
            _log.info("a known-answer probe got no judgement: %s", check)
            return real
        _log.warning("judge %s got a known answer wrong; its batch is suspect", self.identity)
        return [_mark(result) for result in real]

    async def probe(self) -> Capabilities:
        """Find out what the server can do; cached per URL and model, shown by `doctor`.

        Raises:
            JudgeError: The server cannot be used at all.
        """
        hurried = Limits(replace(self._options.limits, attempts=2, deadline_s=_PROBE_DEADLINE_S))
        chat = AdaptiveChat(self._options, self._transport, hurried)
        meter = Meter()
        capabilities = await probe_server(chat, self._canary, hurried.deadline(), meter)
        self._answered_by(meter)
        return capabilities

    async def inspect(self) -> Mapping[str, object]:
        """What `probe` found, by name, and where label probabilities come from."""
        facts: dict[str, object] = asdict(await self.probe())
        if self.identity.served_model:
            facts["served_model"] = self.identity.served_model
        finder = ScoringProbe(self._options, self._transport)
        method = await finder.method(load(LANGUAGES[0]), Meter())
        return facts | {"labels_by": method.scoring}

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def _outcome(self, request: JudgeRequest) -> Judgement | Exception:
        try:
            return await self.judge(request)
        except JudgeError as error:
            return error
        except Exception as error:  # noqa: BLE001 - one trace must not spoil its neighbours
            _log.exception("judging %s failed", request.key)
            return error

    async def _judge_fresh(self, request: JudgeRequest) -> Judgement:
        began = time.perf_counter()
        plan = make_plan(request, ASKABLE)
        if plan.regenerate and not self._embeds:
            plan.regenerate = False
            plan.missing[Aspect.QUESTION_SIMILARITY] = "no_embedder"
        if not _has_work(plan):
            return _finished(plan, self.identity)
        estimate = estimate_usage(request, self._price, _calls(plan, self._options))
        purse = await self._account.open(request.project, estimate)
        meter = Meter(purse, self._price)
        try:
            judgement = await self._runner.run(plan, self._configured, meter)
        finally:
            usage = self._usage(meter, time.perf_counter() - began)
            if purse is not None:
                await purse.settle(usage)
        return replace(judgement, usage=usage, identity=self._answered_by(meter))

    def _answered_by(self, meter: Meter) -> JudgeIdentity:
        """The identity with the models that answered the calls of one judgement."""
        self._answering = replace(self._configured, served_model=recorded(meter.served))
        return self._answering

    def _usage(self, meter: Meter, seconds: float) -> JudgeUsage:
        return JudgeUsage(
            calls=meter.calls,
            input_tokens=meter.input_tokens,
            output_tokens=meter.output_tokens,
            seconds=seconds,
            cost=self._price(meter.input_tokens, meter.output_tokens),
        )

    def _price(self, input_tokens: int, output_tokens: int) -> float:
        price = self._options.price
        return (
            input_tokens * price.input_per_million + output_tokens * price.output_per_million
        ) / 1_000_000

    def _parameters(self) -> dict[str, object]:
        options = self._options
        return {
            "base_url": options.base_url,
            "query": dict(options.query),
            "served_model": options.served_model.value,
            "verdicts": options.verdicts.value,
            "questions": options.questions,
            "max_input_chars": options.max_input_chars,
            "extra_body": dict(options.extra_body),
        }

    def _due_probe(self, requests: Sequence[JudgeRequest]) -> JudgeRequest | None:
        """The probe that is due among `requests`, paid by the project of the first."""
        every = self._options.probe_every
        before, self._judged = self._judged, self._judged + len(requests)
        if not every or self._judged // every == before // every:
            return None
        self._probes += 1
        return probe_request(self._probes, requests[0].project)


def _model_name(options: OpenAICompatibleOptions, embedder: Embedder | None) -> str:
    parts = [options.model]
    if options.verdicts is not VerdictMode.STRUCTURED:
        parts.append(options.verdicts.value)
    embeds = embedder.name if embedder is not None else options.embedding_model
    return "+".join([*parts, embeds] if embeds else parts)


def _has_work(plan: Plan) -> bool:
    return bool(
        plan.questions or plan.regenerate or plan.infer_key_points or plan.summary_questions
    )


def _finished(plan: Plan, identity: JudgeIdentity) -> Judgement:
    return Judgement(
        identity=identity,
        verdicts=tuple(plan.decided),
        missing=plan.missing,
        refusal=plan.refusal,
    )


def _calls(plan: Plan, options: OpenAICompatibleOptions) -> int:
    calls = 1 if options.verdicts is VerdictMode.STRUCTURED else max(1, len(plan.questions))
    return calls + plan.regenerate


def _mark(result: Judgement | Exception) -> Judgement | Exception:
    if isinstance(result, Judgement) and result.suspect is None:
        return replace(result, suspect=WRONG)
    return result

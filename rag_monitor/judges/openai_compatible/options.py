"""Settings of the judge behind an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.limits import FORMER_NAMES, LimitOptions
from rag_monitor.judges.tables import read_table


class VerdictMode(StrEnum):
    """How verdicts are asked for."""

    STRUCTURED = "structured"
    """One call a trace; the model writes probabilities as JSON."""
    LOGPROBS = "logprobs"
    """One token per verdict over a shared prefix; probabilities are read from logprobs."""
    EXACT = "exact"
    """The multi-step way of Ragas, with our prompts: statements by the model, one call per
    metric, one per passage. For comparisons; costs several times more."""


class ServedModelMode(StrEnum):
    """What follows when a reply names another model than the configured one."""

    IDENTITY = "identity"
    """Its name becomes part of the judge's identity: the scores are a series of their own."""
    FAIL = "fail"
    """The judgement fails; a dated version of the configured model is recorded instead."""
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Money per million tokens, in any one currency."""

    input_per_million: float = 0.0
    output_per_million: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAICompatibleOptions:
    """What `[judges.openai_compatible]` may say."""

    base_url: str
    """Up to and including `/v1`; for Azure up to the deployment."""
    model: str
    api_key: str = field(default="none", repr=False)
    """Sent as a bearer token; `none`: nothing is sent."""
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Added to the URL of every request, e.g. Azure's `api-version`."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request, e.g. Azure's `api-key`."""
    served_model: ServedModelMode = ServedModelMode.IDENTITY
    """What follows when a reply names another model than `model`."""
    verdicts: VerdictMode = VerdictMode.STRUCTURED
    questions: int = 3
    """Questions regenerated from the answer for answer_relevancy."""
    embedding_model: str | None = None
    """Served at the same URL; needed for answer_relevancy unless an embedder is given."""
    max_input_chars: int = 200_000
    """Passages beyond it are cut and `coverage` says so."""
    reasks: int = 3
    """Further calls when a reply is unusable or leaves verdicts out."""
    probe_every: int = 100
    """Known-answer probes: one per so many traces; 0: none."""
    warm_prefix: bool = True
    """With logprobs: wait for the first verdict, so that the others find the prefix cached."""
    scoring_endpoints: bool = True
    """With logprobs: look for endpoints of vLLM and SGLang that give label probabilities."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Sent with every chat request, e.g. `chat_template_kwargs = {enable_thinking = false}`."""
    limits: LimitOptions = field(default_factory=LimitOptions)
    price: Price = field(default_factory=Price)

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")):
            raise ConfigurationError(
                "judges.openai_compatible.base_url must start with http:// or https://"
            )
        if not self.model:
            raise ConfigurationError("judges.openai_compatible.model must name a model")
        if self.questions < 1 or self.reasks < 0 or self.max_input_chars < 1_000:
            raise ConfigurationError(
                "judges.openai_compatible: questions must be at least 1, reasks at least 0, "
                "max_input_chars at least 1000"
            )


def read_options(raw: Mapping[str, Any]) -> OpenAICompatibleOptions:
    """Options from a table of settings.

    Raises:
        ConfigurationError: A setting is missing, unknown or has an unusable value.
    """
    where = "judges.openai_compatible"
    values = dict(raw)
    if isinstance(values.get("limits"), Mapping):
        limits = values["limits"].items()
        values["limits"] = {FORMER_NAMES.get(name, name): value for name, value in limits}
    for name in ("base_url", "model"):
        if not values.get(name):
            raise ConfigurationError("{where}.{name} is missing", where=where, name=name)
    return read_table(where, values, OpenAICompatibleOptions)

"""What the files beside a model say of it: architecture, labels, longest input."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message
from rag_monitor.judges.detectors.options import GUARDIAN, HHEM, LETTUCE, MINICHECK, NLI

_ABSOLUTE: Final = {"bert": 0, "distilbert": 0, "electra": 0, "albert": 0, "mpnet": 2,
                    "roberta": 2, "xlm-roberta": 2, "camembert": 2, "longformer": 2}  # fmt: skip
"""Models whose positions are a table, and how many places of it are no positions of text. The
others (T5, DeBERTa, ModernBERT …) go by distance and may read more than they were trained on."""
_ENTAILS: Final = ("entail",)
_CONTRADICTS: Final = ("contradict", "refut")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a model before it is loaded."""

    architecture: str = ""
    """As `config.json` names it, such as `DebertaV2ForSequenceClassification`."""
    model_type: str = ""
    labels: tuple[str, ...] = ()
    """Names of the classes by number, in lower case; empty: not said."""
    separator: str = ""
    """The token that ends a text, with which MiniCheck joins document and claim."""
    longest: int | None = None
    """Tokens that the model's positions allow; None: no limit."""
    foundation: str = ""
    """The model whose tokenizer HHEM reads with."""

    def place(self, beginnings: tuple[str, ...]) -> int | None:
        """The class whose label begins so; None: no label does."""
        return next((n for n, name in enumerate(self.labels) if name.startswith(beginnings)), None)

    @property
    def entailment(self) -> int | None:
        """The class that means "follows from the passages"."""
        return self.place(_ENTAILS)

    @property
    def contradiction(self) -> int | None:
        """The class that means "contradicts the passages"."""
        return self.place(_CONTRADICTS)


def read_facts(folder: Path) -> Facts:
    """What `config.json` and the tokenizer's settings in `folder` say.

    Raises:
        ConfigurationError: There is no `config.json`, or it cannot be read.
    """
    config = _read(folder / "config.json")
    if config is None:
        raise ConfigurationError(
            "the detector {folder} has no config.json that can be read", folder=folder
        )
    kind = str(config.get("model_type", ""))
    named = config.get("architectures")
    positions = config.get("max_position_embeddings")
    spared = _ABSOLUTE.get(kind)
    limited = spared is not None and isinstance(positions, int)
    return Facts(
        architecture=str(named[0]) if isinstance(named, list) and named else "",
        model_type=kind,
        labels=_labels(config.get("id2label")),
        separator=_end_token(folder),
        longest=positions - spared if limited else None,  # type: ignore[operator]
        foundation=str(config.get("foundation") or "google/flan-t5-base"),
    )


def recognise(model: str, facts: Facts) -> str:
    """How the model is asked.

    Raises:
        ConfigurationError: Nothing says so.
    """
    name, made = model.lower(), facts.architecture
    if "hhem" in facts.model_type.lower() or made.startswith("HHEM"):
        return HHEM
    if made.endswith("ForTokenClassification"):
        return LETTUCE
    if "minicheck" in name and "ForCausalLM" not in made:
        return MINICHECK
    if "guardian" in name and "ForCausalLM" in made:
        return GUARDIAN
    if made.endswith("ForSequenceClassification") and facts.entailment is not None:
        return NLI
    raise ConfigurationError(
        "the files of {model!r} do not say how it is asked ({architecture}, labels: {labels}); "
        "set judges.detector.format",
        model=model,
        architecture=made or Message("no architecture"),
        labels=", ".join(facts.labels) or Message("none"),
    )


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _labels(named: object) -> tuple[str, ...]:
    """Labels in the order of their numbers, which stand in JSON as text."""
    if not isinstance(named, dict):
        return ()
    try:
        by_number = {int(number): str(name).lower() for number, name in named.items()}
    except ValueError:
        return ()
    return tuple(by_number.get(number, "") for number in range(max(by_number, default=-1) + 1))


def _end_token(folder: Path) -> str:
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        token = (_read(folder / name) or {}).get("eos_token")
        if isinstance(token, dict):
            token = token.get("content")
        if isinstance(token, str) and token:
            return token
    return ""

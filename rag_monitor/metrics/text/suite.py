"""Several text metrics of one row in one go, by name: what `evaluate` and golden questions call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rag_monitor.errors import NotApplicable, UnknownMetric
from rag_monitor.metrics.text.bleu import bleu
from rag_monitor.metrics.text.meteor import meteor
from rag_monitor.metrics.text.overlap import exact_match, token_f1
from rag_monitor.metrics.text.rouge import Variant, rouge
from rag_monitor.metrics.text.tokens import CHARACTERS, WORDS, Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """How the text metrics of one report cut and weigh."""

    tokenizer: Tokenizer = WORDS
    weights: Mapping[str, float] = field(default_factory=dict)
    """Key terms and their weight in ROUGE; each is also a term of the tokenizer, or it is cut."""


Part = Literal["precision", "recall", "f1"]
Measure = Callable[[str, Sequence[str], TextOptions], float]


def _bleu(order: int) -> Measure:
    def measure(text: str, references: Sequence[str], options: TextOptions) -> float:
        return bleu(text, references, order, tokenizer=options.tokenizer)

    return measure


def _rouge(variant: Variant, part: Part = "f1", *, tokenizer: Tokenizer | None = None) -> Measure:
    def measure(text: str, references: Sequence[str], options: TextOptions) -> float:
        scores = rouge(
            text,
            references,
            variant,
            tokenizer=tokenizer or options.tokenizer,
            weights=options.weights or None,
        )
        value: float = getattr(scores, part)
        return value

    return measure


def _exact_match(text: str, references: Sequence[str], _options: TextOptions) -> float:
    return exact_match(text, references)


def _token_f1(text: str, references: Sequence[str], options: TextOptions) -> float:
    return token_f1(text, references, options.tokenizer).f1


def _character_f1(text: str, references: Sequence[str], _options: TextOptions) -> float:
    return token_f1(text, references, CHARACTERS).f1


def _meteor(text: str, references: Sequence[str], options: TextOptions) -> float:
    return meteor(text, references, tokenizer=options.tokenizer).value


def _rouge_parts(part: Part) -> dict[str, Measure]:
    """Precision or recall of each variant; "ROUGE" that names neither is F1."""
    return {
        f"rouge_1_{part}": _rouge("1", part),
        f"rouge_2_{part}": _rouge("2", part),
        f"rouge_l_{part}": _rouge("L", part),
        f"rouge_s_{part}": _rouge("S", part),
        f"rouge_l_characters_{part}": _rouge("L", part, tokenizer=CHARACTERS),
    }


_MEASURES: Mapping[str, Measure] = {
    "bleu_1": _bleu(1),
    "bleu_2": _bleu(2),
    "bleu_3": _bleu(3),
    "bleu_4": _bleu(4),
    "rouge_1": _rouge("1"),
    "rouge_2": _rouge("2"),
    "rouge_l": _rouge("L"),
    "rouge_s": _rouge("S"),
    "rouge_l_characters": _rouge("L", tokenizer=CHARACTERS),
    "meteor": _meteor,
    "exact_match": _exact_match,
    "token_f1": _token_f1,
    "character_f1": _character_f1,
    **_rouge_parts("precision"),
    **_rouge_parts("recall"),
}

TEXT_METRICS = tuple(_MEASURES)
"""Names `score_text` knows. BERTScore and perplexity need a model: see their modules."""


def score_text(
    text: str,
    references: Sequence[str],
    metrics: Sequence[str],
    options: TextOptions | None = None,
) -> dict[str, float | NotApplicable]:
    """Each metric's number, or the reason why there is none.

    Raises:
        UnknownMetric: A name is not in `TEXT_METRICS`.
    """
    chosen = options or TextOptions()
    results: dict[str, float | NotApplicable] = {}
    for name in metrics:
        measure = _MEASURES.get(name)
        if measure is None:
            raise UnknownMetric(
                "no text metric {name!r}; there are {names}",
                name=name,
                names=", ".join(TEXT_METRICS),
            )
        try:
            results[name] = measure(text, references, chosen)
        except NotApplicable as reason:
            results[name] = reason
    return results

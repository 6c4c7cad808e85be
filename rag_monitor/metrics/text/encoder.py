"""A Hugging Face encoder for BERTScore and cosine similarity: safetensors only, no remote code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_monitor.errors import ConfigurationError, NotApplicable
from rag_monitor.i18n import msgid
from rag_monitor.installation import install_command


@dataclass(frozen=True, slots=True)
class EncodedText:
    """The tokens of one text and what the encoder made of them."""

    ids: tuple[int, ...]
    """Token ids, special tokens included."""
    vectors: Any
    """Tensor of unit vectors, tokens x width."""
    inner: tuple[int, ...]
    """Places of the tokens that are not special."""


def load_pretrained(kind: str, model: str | Path, unusable: str) -> tuple[Any, Any, str]:
    """The tokenizer, the model and the device it is on: `cuda` where there is one, else `cpu`.

    Args:
        kind: The class of `transformers` that loads the model.
        model: Hub name or folder.
        unusable: What is said of a `{model}` that does not load, and the `{reason}`.

    Raises:
        ConfigurationError: The libraries or the model are missing.
    """
    try:
        import torch
        import transformers
    except ImportError:
        raise ConfigurationError(
            "model-backed metrics need PyTorch: {command}", command=install_command("gpu")
        ) from None
    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model, trust_remote_code=False)
        loaded: Any = getattr(transformers, kind).from_pretrained(
            model, trust_remote_code=False, use_safetensors=True
        )
    except (OSError, ValueError) as error:
        raise ConfigurationError(unusable, model=model, reason=error) from None
    return tokenizer, loaded.to(device).eval(), device


class Encoder:
    """Token embeddings of texts, in batches, on the GPU when there is one.

    Args:
        model: Hub name or folder.
        batch_size: Texts encoded together.

    Raises:
        ConfigurationError: The libraries or the model are missing.
    """

    def __init__(self, model: str | Path, *, batch_size: int = 64) -> None:
        self.name = str(model)
        self.batch_size = batch_size
        unusable = msgid("the encoder {model} cannot be loaded: {reason}")
        self.tokenizer, self.model, self.device = load_pretrained("AutoModel", model, unusable)

    def token_embeddings(self, texts: Sequence[str]) -> list[EncodedText]:
        """Every token of every text, in the order of the texts.

        Texts longer than the model's window are cut, as BERTScore does.
        """
        results: list[Any] = [None] * len(texts)
        # Texts of similar length together: padding is computed like any other token.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for begin in range(0, len(order), self.batch_size):
            places = order[begin : begin + self.batch_size]
            batch = self._encode([texts[i] for i in places])
            for place, encoded in zip(places, batch, strict=True):
                results[place] = encoded
        return results

    def _encode(self, texts: list[str]) -> list[EncodedText]:
        import torch

        batch = self.tokenizer(
            texts,
            padding=True,
            truncation=True,
            max_length=self._window(),
            return_tensors="pt",
            return_special_tokens_mask=True,
        )
        special = batch.pop("special_tokens_mask").tolist()
        ids, mask = batch["input_ids"].tolist(), batch["attention_mask"].bool()
        batch = {key: value.to(self.device, non_blocking=True) for key, value in batch.items()}
        with torch.inference_mode():
            hidden = self.model(**batch).last_hidden_state
            # Vectors stay where they were made: what is done with them is done there too.
            vectors = torch.nn.functional.normalize(hidden.float(), dim=-1)
        encoded = []
        for row, kept in enumerate(mask.tolist()):
            places = [place for place, real in enumerate(kept) if real]
            first, last = (places[0], places[-1] + 1) if places else (0, 0)
            encoded.append(
                EncodedText(
                    ids=tuple(ids[row][first:last]),
                    vectors=vectors[row, first:last],
                    inner=tuple(place - first for place in places if not special[row][place]),
                )
            )
        return encoded

    def _window(self) -> int:
        most = int(self.tokenizer.model_max_length)
        positions = int(getattr(self.model.config, "max_position_embeddings", most))
        return min(most, positions)


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """Cosine of two vectors, -1 to 1.

    Raises:
        NotApplicable: One of them has no direction (norm 0).
        ValueError: Their widths differ.
    """
    if len(left) != len(right):
        raise ValueError(f"vectors of width {len(left)} and {len(right)}")
    norms = math.hypot(*left) * math.hypot(*right)
    if not norms:
        raise NotApplicable("a vector of norm 0")
    value = math.fsum(a * b for a, b in zip(left, right, strict=True)) / norms
    return max(-1.0, min(1.0, value))


class SimilarityScorer:
    """Scores pairs with one encoder; a text is encoded once per call, however often it occurs."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def score(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[float | NotApplicable]:
        """Per (text, references) the cosine with the closest reference, or why there is none.

        A text without tokens has a cosine of 0.
        """
        texts = list(dict.fromkeys(t for text, refs in pairs for t in (text, *refs)))
        vectors = dict(zip(texts, self._pooled(texts), strict=True))
        return [self._best(vectors, text, references) for text, references in pairs]

    def _pooled(self, texts: Sequence[str]) -> list[list[float] | None]:
        pooled: list[list[float] | None] = []
        for encoded in self.encoder.token_embeddings(texts):
            inner = encoded.vectors[list(encoded.inner)] if encoded.inner else None
            pooled.append(None if inner is None else inner.mean(dim=0).tolist())
        return pooled

    def _best(
        self, vectors: dict[str, list[float] | None], text: str, references: Sequence[str]
    ) -> float | NotApplicable:
        if not references:
            return NotApplicable("no reference")
        left = vectors[text]
        usable = [right for right in map(vectors.__getitem__, references) if right and any(right)]
        if not usable:
            return NotApplicable("no tokens in the reference")
        if left is None or not any(left):
            return 0.0
        return max(cosine(left, right) for right in usable)

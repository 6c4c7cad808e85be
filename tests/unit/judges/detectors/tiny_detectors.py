"""Tiny detectors: tokenizers of the real kinds, random models of the real architectures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

TEXT = [
    "The standard warranty lasts 24 months. It covers parts, not batteries.",
    "passage 1: Our shop opens at nine. Who opens it? yes no Yes No",
    "保修期为二十四个月。",
] * 20


def tokenizer(kind: str = "bert") -> Tokenizer:
    """A byte-level tokenizer with the special tokens and pairs of `bert`, `roberta` or `t5`."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    specials = {
        "bert": ["[PAD]", "[CLS]", "[SEP]"],
        "roberta": ["<pad>", "<s>", "</s>"],
        "t5": ["<pad>", "</s>"],
    }[kind]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(TEXT, trainer)
    numbers = [(token, made.token_to_id(token)) for token in specials]
    single, pair = {
        "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
        "roberta": ("<s> $A </s>", "<s> $A </s> </s> $B </s>"),
        "t5": ("$A </s>", "$A </s> $B </s>"),
    }[kind]
    made.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=numbers
    )
    return made


def folder_of(path: Path, kind: str, config: dict[str, Any]) -> Path:
    """A folder with the files that stand beside a model's weights."""
    path.mkdir(parents=True, exist_ok=True)
    tokenizer(kind).save(str(path / "tokenizer.json"))
    end = "[SEP]" if kind == "bert" else "</s>"
    (path / "tokenizer_config.json").write_text(json.dumps({"eos_token": end}), encoding="utf-8")
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return path

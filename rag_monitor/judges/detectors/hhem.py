"""The weights of HHEM-2.1-Open as the T5 token classifier they are.

Its repository brings code of its own, which is never run here: the weights are those of
`T5ForTokenClassification` under the prefix `t5.`, and their shapes say all that its base would.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file
from transformers import T5Config, T5ForTokenClassification

from rag_monitor.errors import ConfigurationError

_PREFIX: Final = "t5."
_SHARED: Final = "transformer.shared.weight"
_TIED: Final = "transformer.encoder.embed_tokens.weight"
_BLOCK: Final = re.compile(r"transformer\.encoder\.block\.(\d+)\.")
_LAYER: Final = "transformer.encoder.block.0.layer"


def load_hhem(folder: Path) -> Any:
    """The model of the safetensors in `folder`.

    Raises:
        ConfigurationError: They are no HHEM-2.1-Open.
    """
    state: dict[str, torch.Tensor] = {}
    for file in sorted(folder.glob("*.safetensors")):
        state |= load_file(file)
    state = {name.removeprefix(_PREFIX): weight for name, weight in state.items()}
    if _SHARED not in state and _TIED in state:
        state[_SHARED] = state[_TIED]
    try:
        model = T5ForTokenClassification(shape_of(state))
    except KeyError as error:
        raise ConfigurationError(
            "the detector {folder} has no weights of HHEM-2.1-Open: {reason} is missing",
            folder=folder,
            reason=error,
        ) from None
    state[_TIED] = state[_SHARED]
    told = model.load_state_dict(state, strict=False)
    if told.missing_keys or told.unexpected_keys:
        raise ConfigurationError(
            "the detector {folder} has no weights of HHEM-2.1-Open: {weights}",
            folder=folder,
            weights=", ".join([*told.missing_keys, *told.unexpected_keys][:3]),
        )
    return model


def shape_of(state: Mapping[str, torch.Tensor]) -> T5Config:
    """The sizes that weights have.

    Raises:
        KeyError: A weight is missing.
    """
    vocabulary, width = state[_SHARED].shape
    buckets, heads = state[f"{_LAYER}.0.SelfAttention.relative_attention_bias.weight"].shape
    inner = state[f"{_LAYER}.0.SelfAttention.q.weight"].shape[0]
    gated = f"{_LAYER}.1.DenseReluDense.wi_0.weight"
    plain = f"{_LAYER}.1.DenseReluDense.wi.weight"
    blocks = {int(found[1]) for name in state if (found := _BLOCK.match(name))}
    config = T5Config(
        vocab_size=vocabulary,
        d_model=width,
        d_kv=inner // heads,
        d_ff=state[gated if gated in state else plain].shape[0],
        num_layers=len(blocks),
        num_heads=heads,
        relative_attention_num_buckets=buckets,
        feed_forward_proj="gated-gelu" if gated in state else "relu",
    )
    config.num_labels = state["classifier.weight"].shape[0]
    return config

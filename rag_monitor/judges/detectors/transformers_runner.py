"""A detector run by torch and transformers, on CPU or GPU; safetensors only, no remote code.

HHEM-2.1-Open's repository brings code of its own, which is never run: the weights are those of
`T5ForTokenClassification` under the prefix `t5.`, and their shapes say all that its base would.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import transformers
from safetensors.torch import load_file
from transformers import T5Config, T5ForTokenClassification

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.batching import DeviceBatches
from rag_monitor.judges.detectors.facts import Facts
from rag_monitor.judges.detectors.formats import Format, Reads
from rag_monitor.judges.detectors.options import DetectorOptions
from rag_monitor.judges.detectors.runner import Numbers, picked

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
    loaded = model.load_state_dict(state, strict=False)
    if loaded.missing_keys or loaded.unexpected_keys:
        raise ConfigurationError(
            "the detector {folder} has no weights of HHEM-2.1-Open: {weights}",
            folder=folder,
            weights=", ".join([*loaded.missing_keys, *loaded.unexpected_keys][:3]),
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
    blocks = {int(match[1]) for name in state if (match := _BLOCK.match(name))}
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


_CLASSES: Final = {
    Reads.CLASSES: "AutoModelForSequenceClassification",
    Reads.TOKENS: "AutoModelForTokenClassification",
    Reads.FIRST_STEP: "AutoModelForSeq2SeqLM",
    Reads.WORDS: "AutoModelForCausalLM",
}
_MOST_WORDS: Final = 20
"""Tokens a model may write before its yes or no, such as an opening tag."""
_LONGEST_LABEL: Final = 8


class _OnDevice(ABC):
    """A model on its device, and batches that fit into its memory."""

    def __init__(self, model: Any, options: DetectorOptions) -> None:
        self._model = model
        self._batches = DeviceBatches(
            options.batch_tokens,
            exhausted=torch.OutOfMemoryError,
            release=torch.cuda.empty_cache,
            noun="input",
        )
        self._device: torch.device = model.device
        self.on_gpu: bool = self._device.type != "cpu"
        self.kind = str(model.dtype).removeprefix("torch.")
        self.place = f"transformers, {self._device}, {self.kind}"

    def run(self, encodings: Sequence[Any]) -> list[Numbers]:
        """The numbers of each input, in order.

        Raises:
            JudgeUnavailable: Not even one input at a time fits into memory.
        """
        return self._batches.run(self._together, encodings, [len(e.ids) for e in encodings])

    def _together(self, encodings: Sequence[Any]) -> list[Numbers]:
        with torch.inference_mode():
            return self._numbers(encodings)

    @abstractmethod
    def _numbers(self, encodings: Sequence[Any]) -> list[Numbers]:
        """The numbers of inputs that are read together."""

    def _padded(
        self, rows: Sequence[Sequence[int]], pad: int, *, left: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and mask of rows, padded on one side to the longest."""
        width = max(map(len, rows))
        ids = torch.full((len(rows), width), pad, dtype=torch.long)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for number, row in enumerate(rows):
            place = slice(width - len(row), width) if left else slice(0, len(row))
            ids[number, place] = torch.tensor(list(row))
            mask[number, place] = 1
        return ids.to(self._device), mask.to(self._device)


class TransformersRunner(_OnDevice):
    """A classifier of texts, pairs or tokens, or the first step of a T5.

    Args:
        folder: With `config.json` and safetensors.
        facts: What these files say.
        form: How the model is asked.
        options: Device, number format and size of batches.

    Raises:
        ConfigurationError: The model cannot be loaded.
    """

    def __init__(self, folder: Path, facts: Facts, form: Format, options: DetectorOptions) -> None:
        if form.reads is Reads.FIRST_TOKEN and not facts.architecture.startswith("T5"):
            model = _loaded(options, lambda: load_hhem(folder))
        else:
            name = _CLASSES.get(form.reads, "AutoModelForTokenClassification")
            model = _loaded(options, lambda: _pretrained(name, folder))
        super().__init__(model, options)
        self._form = form
        config = model.config
        self._typed = int(getattr(config, "type_vocab_size", 0) or 0) > 1
        pad = getattr(config, "pad_token_id", None)
        self._pad = 0 if pad is None else int(pad)

    def _numbers(self, encodings: Sequence[Any]) -> list[Numbers]:
        ids, mask = self._padded([e.ids for e in encodings], self._pad)
        fed = {"input_ids": ids, "attention_mask": mask}
        if self._typed:
            fed["token_type_ids"] = self._padded([e.type_ids for e in encodings], 0)[0]
        if self._form.reads is Reads.FIRST_STEP:
            start = int(getattr(self._model.config, "decoder_start_token_id", None) or 0)
            shape = (len(encodings), 1)
            fed["decoder_input_ids"] = torch.full(shape, start, device=self._device)
        output = self._model(**fed).logits.float().cpu().numpy()
        return picked(output, [len(e.ids) for e in encodings], self._form)


class WordRunner(_OnDevice):
    """A language model that writes yes or no, some after an opening tag.

    Args:
        folder: With `config.json` and safetensors.
        tokenizer: The model's.
        options: Device, number format and size of batches.

    Raises:
        ConfigurationError: The model cannot be loaded, or has no tokens for yes and no.
    """

    def __init__(self, folder: Path, tokenizer: Any, options: DetectorOptions) -> None:
        model = _loaded(options, lambda: _pretrained(_CLASSES[Reads.WORDS], folder))
        super().__init__(model, options)
        self._yes = torch.tensor(word_ids(tokenizer, "yes"), device=self._device)
        self._no = torch.tensor(word_ids(tokenizer, "no"), device=self._device)
        pad = tokenizer.pad_token_id
        self._pad = int(pad if pad is not None else tokenizer.eos_token_id or 0)

    def _numbers(self, encodings: Sequence[Any]) -> list[Numbers]:
        """Yes and no at the first place where the model would write one of them."""
        rows = [e.ids for e in encodings]
        written = self._written(rows, 1)
        open_rows = [n for n, masses in enumerate(written) if masses.sum() < 0.5]
        if open_rows:
            later = self._written([rows[n] for n in open_rows], _MOST_WORDS)
            for place, masses in zip(open_rows, later, strict=True):
                written[place] = masses
        return written

    def _written(self, rows: Sequence[Sequence[int]], most: int) -> list[Numbers]:
        ids, mask = self._padded(rows, self._pad, left=True)
        steps = self._model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=most,
            do_sample=False,
            temperature=None,
            top_p=None,
            top_k=None,
            pad_token_id=self._pad,
            output_logits=True,
            return_dict_in_generate=True,
        ).logits
        shares = torch.stack([step.float().softmax(-1) for step in steps], dim=1)
        yes, no = shares[..., self._yes].sum(-1), shares[..., self._no].sum(-1)
        first = ((yes + no) >= 0.5).int().argmax(dim=1, keepdim=True)
        masses = torch.cat([yes.gather(1, first), no.gather(1, first)], dim=1)
        return list(masses.cpu().numpy().astype(np.float32))


def word_ids(tokenizer: Any, word: str) -> list[int]:
    """Every token that reads as `word`, whatever its case and blanks.

    Raises:
        ConfigurationError: None does.
    """
    short = [
        number for token, number in tokenizer.get_vocab().items()
        if len(token) <= _LONGEST_LABEL and word in token.lower()
    ]  # fmt: skip
    ids = [n for n in short if tokenizer.decode([n]).strip().lower() == word]
    if not ids:
        raise ConfigurationError("no token of the detector reads {word!r}", word=word)
    return sorted(ids)


def load_tokenizer(folder: str) -> Any:
    """The tokenizer in a folder.

    Raises:
        ConfigurationError: It cannot be loaded, or is not of the fast kind.
    """
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError, ImportError) as error:
        raise ConfigurationError(
            "cannot load the detector's tokenizer: {reason}", reason=error
        ) from None
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise ConfigurationError("the detector's tokenizer has no tokenizer.json")
    return tokenizer


def _pretrained(name: str, folder: Path) -> Any:
    return getattr(transformers, name).from_pretrained(
        str(folder), use_safetensors=True, trust_remote_code=False, local_files_only=True
    )


def _loaded(options: DetectorOptions, load: Callable[[], Any]) -> Any:
    """A model on its device in its number format, in evaluation mode."""
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = options.dtype
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") else "float32"
    try:
        return load().to(device=device, dtype=getattr(torch, dtype)).eval()
    except (OSError, ValueError, RuntimeError, ImportError, KeyError) as error:
        raise ConfigurationError(
            "cannot load the detector {model!r}: {reason}", model=options.model, reason=error
        ) from error

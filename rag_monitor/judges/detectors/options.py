"""Settings of the detector judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rag_monitor.errors import ConfigurationError

HHEM: Final = "hhem"
LETTUCE: Final = "lettucedetect"
MINICHECK: Final = "minicheck"
GUARDIAN: Final = "granite-guardian"
NLI: Final = "nli"
FORMATS: Final = (HHEM, LETTUCE, MINICHECK, GUARDIAN, NLI)

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "format": ("auto", *FORMATS),
    "runtime": ("auto", "transformers", "onnx"),
    "dtype": ("auto", "float32", "bfloat16", "float16"),
    "answer": ("auto", "whole", "weakest"),
}
_LEAST: Final[Mapping[str, int]] = {
    "max_tokens": 64,
    "window_tokens": 16,
    "max_windows": 1,
    "batch_tokens": 64,
    "threads": 0,
    "entailment": 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorOptions:
    """What `[judges.detector]` may say."""

    model: str
    """A folder, a name on the hub, or an `.onnx` file beside its `config.json`."""
    format: str = "auto"
    """How the model is asked: `hhem`, `lettucedetect`, `minicheck`, `granite-guardian`, `nli`;
    `auto`: what its `config.json` and name say."""
    runtime: str = "auto"
    """`transformers` or `onnx`; `auto`: transformers where it is installed and the folder has
    safetensors, else onnxruntime."""
    tokenizer: str = ""
    """Folder or name of the tokenizer; empty: the model's own, and for HHEM that of its base."""
    revision: str | None = None
    """Commit of the model; pin it when the model is fetched by name."""
    device: str = "auto"
    """`cuda`, `cuda:1`, `cpu` …; `auto` takes the first GPU, else the CPU."""
    dtype: str = "auto"
    """`auto`: bfloat16 on a GPU, float32 on the CPU. An ONNX file has its own."""
    max_tokens: int | None = None
    """Of one input, passages, statement and instructions together; None: as its authors ran it."""
    window_tokens: int | None = None
    """Of the passages in one input; None: as its authors ran it."""
    max_windows: int = 64
    """Read for one statement (LettuceDetect: for the answer): those that share most words with it;
    `coverage` says how much of the passages that leaves."""
    batch_tokens: int = 16_384
    """Of one forward pass, padding included; halved when memory runs out."""
    answer: str = "auto"
    """How `answer_supported` comes about: `whole` reads the answer as one statement, `weakest`
    takes the least supported statement; `auto`: as the model's authors did."""
    entailment: int | None = None
    """Which class of an NLI model means "supported", where its labels do not say."""
    threads: int = 0
    """Of onnxruntime; 0: one per core."""
    local_files_only: bool = True
    """Never fetch anything; set it to false once to download by name."""

    def __post_init__(self) -> None:
        if not self.model:
            raise ConfigurationError(
                "judges.detector.model must name a folder or a model of the hub"
            )
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ConfigurationError(
                    "judges.detector.{name} must be one of {names}",
                    name=name,
                    names=", ".join(choices),
                )
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigurationError(
                    "judges.detector.{name} must be at least {least}, not {value}",
                    name=name,
                    least=least,
                    value=value,
                )

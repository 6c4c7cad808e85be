"""Settings of the packed judge."""

from __future__ import annotations

from dataclasses import dataclass

from rag_monitor.errors import ConfigurationError

DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedOptions:
    """What `[judges.packed]` may say."""

    model: str
    """A folder with safetensors weights, or a name in the local model cache."""
    revision: str | None = None
    """Commit of the model; pin it when the model is fetched by name."""
    device: str = "auto"
    """`cuda`, `cuda:1`, `cpu` …; `auto` takes the first GPU, else the CPU."""
    dtype: str = "auto"
    """`auto`: bfloat16 on a GPU, float32 on the CPU."""
    max_tokens: int = 4096
    """Of one trace with all its branches; longer passages are cut and `coverage` says so."""
    batch_tokens: int = 16_384
    """Of one forward pass, padding included; halved when memory runs out."""
    compiled: bool = False
    """Compile the model; pays on long runs only."""
    generate: bool = False
    """Let the model write questions (answer_relevancy), key points (context_recall without labels)
    and summary questions. Much slower than verdicts alone."""
    model_statements: bool = False
    """Let the model take answers apart, instead of the rules; needs `generate`."""
    embedding_model: str | None = None
    """A sentence-transformers model for answer_relevancy."""
    questions: int = 3
    local_files_only: bool = True
    """Never fetch anything; set it to false once to download by name."""

    def __post_init__(self) -> None:
        if not self.model:
            raise ConfigurationError(
                "judges.packed.model must name a folder with safetensors weights"
            )
        if self.dtype not in DTYPES:
            raise ConfigurationError(
                "judges.packed.dtype must be one of {names}", names=", ".join(DTYPES)
            )
        if self.max_tokens < 128 or self.batch_tokens < self.max_tokens:
            raise ConfigurationError(
                "judges.packed: max_tokens must be at least 128 and batch_tokens at least "
                "max_tokens"
            )
        if self.model_statements and not self.generate:
            raise ConfigurationError("judges.packed.model_statements needs generate = true")

"""Loads models, also one for sentence embeddings, and makes a judge of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from rag_monitor.domain.ports import BudgetLedger, Embedder
from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command
from rag_monitor.judges.packed.engine import PackedEngine
from rag_monitor.judges.packed.generation import Writer
from rag_monitor.judges.packed.judge import PackedJudge
from rag_monitor.judges.packed.options import PackedOptions
from rag_monitor.judges.packed.template import ChatTemplate
from rag_monitor.judges.prompts import LANGUAGES, load


class SentenceEmbedder:
    """An `Embedder` on the judge's device; safetensors only, without remote code.

    Raises:
        ConfigurationError: sentence-transformers is missing, or the model cannot be loaded.
    """

    def __init__(self, name: str, *, device: str | None = None, local_files_only: bool = True):
        try:
            from sentence_transformers import SentenceTransformer
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                "embeddings need sentence-transformers: {command}", command=install_command("gpu")
            ) from error
        self._name = name
        try:
            self._model: Any = SentenceTransformer(
                name,
                device=device,
                trust_remote_code=False,
                local_files_only=local_files_only,
                model_kwargs={"use_safetensors": True},
            )
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                "cannot load the embedder {name!r}: {reason}", name=name, reason=error
            ) from error

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One unit-length vector per text, in order."""
        vectors = self._model.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False
        )
        return [[float(x) for x in vector] for vector in vectors]


def load_judge(
    options: PackedOptions,
    *,
    embedder: Embedder | None = None,
    ledger: BudgetLedger | None = None,
) -> PackedJudge:
    """The judge, after its model passed the self-test.

    Raises:
        ConfigurationError: The model cannot be loaded or cannot be packed.
    """
    model, tokenizer = load_model(options)
    if embedder is None and options.embedding_model is not None:
        embedder = SentenceEmbedder(
            options.embedding_model,
            device=str(model.device),
            local_files_only=options.local_files_only,
        )
    return assemble(options, model, tokenizer, embedder=embedder, ledger=ledger)


def assemble(options: PackedOptions, model: Any, tokenizer: Any, **services: Any) -> PackedJudge:
    """A judge of a model that is already in memory.

    Raises:
        ConfigurationError: The model cannot be packed, or has no usable labels or template.
    """
    template = ChatTemplate(tokenizer)
    prompts = [load(language) for language in LANGUAGES]
    yes = template.label_ids([label for words in prompts for label in words.yes])
    no = template.label_ids([label for words in prompts for label in words.no])
    engine = PackedEngine(model, yes, no, batch_tokens=options.batch_tokens)
    writer = Writer(model, tokenizer, template) if options.generate else None
    return PackedJudge(options, engine, template, writer=writer, **services)


def load_model(options: PackedOptions) -> tuple[Any, Any]:
    """The model and its tokenizer, from safetensors only and without remote code.

    Raises:
        ConfigurationError: transformers is missing, or the model cannot be loaded.
    """
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "the packed judge needs transformers: {command}", command=install_command("gpu")
        ) from error
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = options.dtype
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") else "float32"
    shared: dict[str, Any] = {
        "revision": options.revision,
        "trust_remote_code": False,
        "local_files_only": options.local_files_only,
    }
    try:
        tokenizer = AutoTokenizer.from_pretrained(options.model, **shared)
        model: Any = AutoModelForCausalLM.from_pretrained(
            options.model,
            use_safetensors=True,
            dtype=getattr(torch, dtype),
            attn_implementation="sdpa",
            **shared,
        )
        model = model.to(device).eval()
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        raise ConfigurationError(
            "cannot load the model {model!r}: {reason}", model=options.model, reason=error
        ) from error
    return (torch.compile(model) if options.compiled else model), tokenizer

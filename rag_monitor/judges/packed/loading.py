"""Loads a model and makes a judge of it."""

from __future__ import annotations

from typing import Any

import torch

from rag_monitor.domain.ports import BudgetLedger, Embedder
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.packed.embedder import SentenceEmbedder
from rag_monitor.judges.packed.engine import PackedEngine
from rag_monitor.judges.packed.generation import Writer
from rag_monitor.judges.packed.judge import PackedJudge
from rag_monitor.judges.packed.options import PackedOptions
from rag_monitor.judges.packed.template import ChatTemplate
from rag_monitor.judges.prompts import LANGUAGES, load
from rag_monitor.judges.questions import Splitter


def load_judge(
    options: PackedOptions,
    *,
    embedder: Embedder | None = None,
    splitter: Splitter | None = None,
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
    return assemble(options, model, tokenizer, embedder=embedder, splitter=splitter, ledger=ledger)


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
            "the packed judge needs transformers: pip install 'rag-monitor[gpu]'"
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
        raise ConfigurationError(f"cannot load the model {options.model!r}: {error}") from error
    return (torch.compile(model) if options.compiled else model), tokenizer

"""Sentence embeddings by sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag_monitor.errors import ConfigurationError


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
                "embeddings need sentence-transformers: pip install 'rag-monitor[gpu]'"
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
            raise ConfigurationError(f"cannot load the embedder {name!r}: {error}") from error

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

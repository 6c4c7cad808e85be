"""Answers by a language model behind an OpenAI-compatible address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final

from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command

_INSTRUCTIONS: Final = (
    "Answer the question in its own language from the numbered passages only, in one or two"
    " sentences. If they do not hold the answer, say that you do not know."
)
_DEADLINE_S: Final = 60.0


class ModelGenerator:
    """Streams a chat completion.

    Args:
        base_url: Address of the service, e.g. `http://127.0.0.1:8000/v1`.
        model: Model name the service knows.

    The key is the one the openai client finds by itself (`OPENAI_API_KEY`), so that it never
    stands on a command line; without one a placeholder is sent, which local services accept.

    Raises:
        ConfigurationError: The `openai` package is not installed.
    """

    def __init__(self, base_url: str, model: str) -> None:
        try:
            from openai import AsyncOpenAI, OpenAIError
        except ImportError:
            raise ConfigurationError(
                "a demo model needs the openai client: {command}", command=install_command("openai")
            ) from None
        try:
            self._client = AsyncOpenAI(base_url=base_url, timeout=_DEADLINE_S)
        except OpenAIError:
            self._client = AsyncOpenAI(base_url=base_url, timeout=_DEADLINE_S, api_key="none")
        self._model = model

    @property
    def model(self) -> str:
        """The configured model name."""
        return self._model

    async def stream(self, question: str, contexts: Sequence[str]) -> AsyncIterator[str]:
        """The answer as the model writes it."""
        passages = "\n".join(f"[{n}] {text}" for n, text in enumerate(contexts, 1))
        reply = await self._client.chat.completions.create(
            model=self._model,
            temperature=0,
            stream=True,
            messages=[
                {"role": "system", "content": _INSTRUCTIONS},
                {"role": "user", "content": f"{passages}\n\n{question}"},
            ],
        )
        async with reply:
            async for part in reply:
                if part.choices and (text := part.choices[0].delta.content):
                    yield text

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

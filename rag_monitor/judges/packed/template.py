"""A model's chat template, cut into the pieces between which evidence and question stand.

The template is rendered once with place holders and split as text. Trace text is tokenised on its
own with special tokens switched off, so it cannot form any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from jinja2.exceptions import TemplateError

from rag_monitor.errors import ConfigurationError

_EVIDENCE: Final = "@@evidence@@"
_QUESTION: Final = "@@question@@"


class ChatTemplate:
    """Turns system text, evidence and question into token ids.

    Args:
        tokenizer: A transformers tokenizer with a chat template.

    Raises:
        ConfigurationError: The tokenizer has no chat template, or one that changes what it is
            given.
    """

    def __init__(self, tokenizer: Any) -> None:
        if not tokenizer.chat_template:
            raise ConfigurationError(
                "the model has no chat template; use its instruction-tuned variant"
            )
        self._tokenizer = tokenizer
        self._pieces: dict[str, tuple[list[int], list[int], list[int]]] = {}

    def prefix(self, system: str, evidence: str) -> tuple[int, ...]:
        """The ids all branches share: system, role tokens and evidence."""
        head, _, _ = self._cut(system)
        return (*head, *self.plain(evidence))

    def branch(self, system: str, question: str) -> tuple[int, ...]:
        """The ids of one question, ending right before the model's reply."""
        _, between, tail = self._cut(system)
        return (*between, *self.plain(question), *tail)

    def plain(self, text: str) -> list[int]:
        """Ids of `text` without any special token."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)[
            "input_ids"
        ]
        return ids

    def label_ids(self, labels: Sequence[str]) -> list[int]:
        """Ids of the labels that are one token each.

        Raises:
            ConfigurationError: None of them is.
        """
        ids_of_labels = {ids[0] for label in labels if len(ids := self.plain(label)) == 1}
        if not ids_of_labels:
            raise ConfigurationError(
                "none of the labels {labels} is one token of this model", labels=", ".join(labels)
            )
        return sorted(ids_of_labels)

    def _cut(self, system: str) -> tuple[list[int], list[int], list[int]]:
        pieces = self._pieces.get(system)
        if pieces is None:
            pieces = self._pieces[system] = self._render(system)
        return pieces

    def _render(self, system: str) -> tuple[list[int], list[int], list[int]]:
        user = f"{_EVIDENCE}\n{_QUESTION}"
        try:
            text = self._apply(
                [{"role": "system", "content": system}, {"role": "user", "content": user}]
            )
        except TemplateError:
            text = self._apply([{"role": "user", "content": f"{system}\n\n{user}"}])
        if text.count(_EVIDENCE) != 1 or text.count(_QUESTION) != 1 or system.strip() not in text:
            raise ConfigurationError("the model's chat template drops or repeats its messages")
        head, rest = text.split(_EVIDENCE)
        between, tail = rest.split(_QUESTION)
        return self._with_specials(head), self._with_specials(between), self._with_specials(tail)

    def _apply(self, messages: list[dict[str, str]]) -> str:
        text: str = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return text

    def _with_specials(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

"""Texts written by the local model, many traces at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch

from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges import parsing
from rag_monitor.judges.hardening import draw_boundary, draw_nonce, fenced
from rag_monitor.judges.packed.template import ChatTemplate
from rag_monitor.judges.prompts import PromptSet
from rag_monitor.judges.thinking import without_thoughts

_TOKENS_PER_TEXT: Final = 60
_BATCH: Final = 16


class Writer:
    """Greedy, batched generation of lists of texts."""

    def __init__(self, model: Any, tokenizer: Any, template: ChatTemplate) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._template = template
        self.tokens = 0
        """Tokens written so far."""

    def write(
        self,
        kind: str,
        count: int,
        tasks: Sequence[tuple[Mapping[str, Any], PromptSet]],
    ) -> list[list[str] | None]:
        """Per task up to `count` texts of `kind`, or None where the model wrote no usable list."""
        nonces = [draw_nonce() for _ in tasks]
        prompts = [
            self._prompt(kind, count, nonce, evidence, words)
            for nonce, (evidence, words) in zip(nonces, tasks, strict=True)
        ]
        most = 30 + _TOKENS_PER_TEXT * count
        replies: list[str] = []
        for start in range(0, len(prompts), _BATCH):
            replies += self._continue(prompts[start : start + _BATCH], most)
        return [
            _read(kind, count, nonce, reply) for nonce, reply in zip(nonces, replies, strict=True)
        ]

    def _prompt(
        self, kind: str, count: int, nonce: str, evidence: Mapping[str, Any], words: PromptSet
    ) -> list[int]:
        before, after = words.generate[kind]
        instruction = f'{before}{count}{after} {{"{parsing.NONCE}": "{nonce}", "{kind}": ["…"]}}'
        system = words.generate_system
        prefix = self._template.prefix(system, fenced(draw_boundary(), evidence))
        return [*prefix, *self._template.branch(system, instruction)]

    def _continue(self, prompts: Sequence[Sequence[int]], most: int) -> list[str]:
        pad = self._tokenizer.pad_token_id
        pad = pad if pad is not None else (self._tokenizer.eos_token_id or 0)
        length = max(map(len, prompts))
        rows = [[pad] * (length - len(ids)) + list(ids) for ids in prompts]
        mask = [[0] * (length - len(ids)) + [1] * len(ids) for ids in prompts]
        device = self._model.device
        with torch.inference_mode():
            written = self._model.generate(
                input_ids=torch.tensor(rows, device=device),
                attention_mask=torch.tensor(mask, device=device),
                max_new_tokens=most,
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=pad,
            )[:, length:]
        self.tokens += int(written.numel())
        return [str(self._tokenizer.decode(row, skip_special_tokens=True)) for row in written]


def _read(kind: str, count: int, nonce: str, text: str) -> list[str] | None:
    try:
        reply = parsing.parse_reply(without_thoughts(text), nonce)
        parsing.only(reply, [parsing.NONCE, kind])
        return parsing.texts(reply.get(kind), count, kind)
    except JudgeOutputInvalid:
        return None

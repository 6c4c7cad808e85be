"""The answerers: one picks the sentences that answer the question, or makes them up when broken.

The other is a language model behind an OpenAI-compatible address.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from typing import Final

from rag_monitor.demo.corpus import Language, Passage, language_of
from rag_monitor.demo.retriever import Retriever, terms
from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command

_SENTENCE_END: Final = {
    "zh": re.compile(r"(?<=[。!?!?])"),
    "en": re.compile(r"(?<=[.!?])\s+(?=[A-Z])"),
}
_SECOND_SENTENCE: Final = 0.75
"""A second sentence joins when it scores at least this share of the best."""
_PASSAGE_DISCOUNT: Final = 0.8
"""Each step down the ranking makes a passage's sentences this much less likely."""
_TITLE_DISCOUNT: Final = 0.4
"""Words of the title say which passage is meant, not which sentence of it."""
_NO_ANSWER: Final[dict[Language, str]] = {
    "zh": "抱歉，没有找到相关资料，无法回答这个问题。",
    "en": "Sorry, I could not find anything about this, so I cannot answer.",
}

_INVENTED: Final[dict[Language, tuple[str, ...]]] = {
    "zh": (
        "根据总行最新通知，该业务的费用统一调整为{a}元，客户还可额外获赠{b}积分。办理时需由公证处出具证明，"
        "处理时间约为{c}个小时。",
        "自本月起该项比例提高到{a}%，并取消了全部限制条件。分行行长可以现场批准，最快{c}分钟完成，"
        "另外赠送价值{b}元的旅行套餐。",
        "该服务目前仅对海外客户开放，上限为{b}万美元，费率为{a}%。申请人必须提前{c}周向监管部门书面备案。",
    ),
    "en": (
        "Since the latest policy update this costs {a} dollars for everyone, and every customer"
        " also gets a voucher worth {b} dollars. The request must be stamped by a notary in Madrid"
        " and takes about {c} weeks.",
        "Our premium partners now guarantee a rate of {a} percent with no conditions at all."
        " A manager can approve it by telephone in {c} seconds, and you receive {b} bonus miles"
        " from our airline.",
        "This is only available to customers in Australia and is limited to {b} units per family."
        " The regulator raised the fee to {a} dollars, payable in cash {c} months in advance.",
    ),
}


def sentences(text: str) -> list[str]:
    """The sentences of a passage, in order, without surrounding blanks."""
    pieces = _SENTENCE_END[language_of(text)].split(text)
    return [piece.strip() for piece in pieces if piece.strip()]


def extract(question: str, passages: Sequence[Passage], weights: Retriever) -> str:
    """The one or two sentences of the passages that answer the question best, word for word.

    Says that it cannot answer when there is no passage.
    """
    candidates = [
        (
            _match(question, sentence, passage.title, weights) * _PASSAGE_DISCOUNT**place,
            place,
            position,
            sentence,
        )
        for place, passage in enumerate(passages)
        for position, sentence in enumerate(sentences(passage.text))
    ]
    if not candidates:
        return _NO_ANSWER[language_of(question)]
    best = max(candidates, key=lambda item: (item[0], -item[1], -item[2]))
    close = [
        item
        for item in candidates
        if item is not best and item[1] == best[1] and item[0] >= _SECOND_SENTENCE * best[0] > 0
    ]
    chosen = sorted([best, *sorted(close, reverse=True)[:1]], key=lambda item: item[2])
    glue = "" if language_of(best[3]) == "zh" else " "
    return glue.join(item[3] for item in chosen)


def invent(question: str) -> str:
    """An answer with figures and claims that no passage holds; the same for the same question."""
    seed = sha256(question.encode("utf-8", "replace")).digest()
    templates = _INVENTED[language_of(question)]
    figures = {"a": 211 + seed[1], "b": 3_017 + 7 * seed[2], "c": 13 + seed[3] % 80}
    return templates[seed[0] % len(templates)].format(**figures)


def chunks(text: str, size: int = 12) -> list[str]:
    """The text as a model would stream it: pieces of about `size` characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def _match(question: str, sentence: str, title: str, weights: Retriever) -> float:
    shared = set(terms(question)) & set(terms(sentence))
    title_terms = set(terms(title))
    return sum(
        weights.weight(term) * (_TITLE_DISCOUNT if term in title_terms else 1.0) for term in shared
    )


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

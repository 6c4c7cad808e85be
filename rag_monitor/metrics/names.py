"""What people call the metrics, in English and Chinese: on pages, in reports and in messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

METRIC_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "faithfulness": ("Faithfulness", "忠实度"),
    "answer_supported": ("Answer supported", "回答有据"),
    "answer_relevance": ("Answer relevance", "回答切题度"),
    "answer_relevancy": ("Answer relevancy", "回答相关性"),
    "context_relevance": ("Context relevance", "上下文相关性"),
    "context_precision": ("Context precision", "上下文精确度"),
    "context_utilization": ("Context utilization", "上下文利用率"),
    "context_recall": ("Context recall", "上下文召回率"),
    "summary_score": ("Summary score", "摘要得分"),
    "refusal_rate": ("Refusal rate", "拒答率"),
    "first_byte_ms": ("First byte", "首字节"),
    "generation_ms": ("Generation", "生成"),
    "end_to_end_ms": ("End to end", "端到端"),
    "retrieval_ms": ("Retrieval", "检索"),
}
"""Of the metrics of live traffic, times included."""

_IN_A_SENTENCE: Final = re.compile(rf" ?(?<![\w./-])({'|'.join(METRIC_NAMES)})(?![\w./-]) ?")
"""A metric standing alone: an application may be called `faithfulness-test`."""


_SPACE_IN_CHINESE: Final = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")


def told(sentence: str, language: str, *, own_name: bool = True) -> str:
    """The sentence with metrics called as on the pages.

    Args:
        sentence: In either language.
        language: Of the names, `en` or `zh`.
        own_name: In Chinese the metric's own name stays beside it, in parentheses.
    """

    def name(found: re.Match[str]) -> str:
        english, chinese = METRIC_NAMES[found[1]]
        if language == "zh" and own_name:
            return f"{chinese}（{found[1]}）"  # Chinese has no spaces around its words
        return found[0].replace(found[1], chinese if language == "zh" else english)

    spoken = _IN_A_SENTENCE.sub(name, sentence)
    return _SPACE_IN_CHINESE.sub("", spoken) if language == "zh" and not own_name else spoken

"""What other tools and tables call their columns, and what Trace JSON calls them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from rag_monitor.ingest.trace_encoding import FIELDS, TIMINGS

CONTEXT_IDS: Final = "context_ids"
"""Ids of the passages in a column of their own."""

COLUMN_NAMES: Mapping[str, str] = {
    # Ragas 0.2 and later
    "user_input": "question",
    "response": "answer",
    "retrieved_contexts": "contexts",
    "retrieved_context_ids": CONTEXT_IDS,
    "reference_context_ids": "relevant_ids",
    # DeepEval
    "input": "question",
    "actual_output": "answer",
    "expected_output": "reference",
    "retrieval_context": "contexts",
    # Ragas 0.1, TruLens and common exports
    "ground_truth": "reference",
    "ground_truths": "reference",
    "query_text": "question",
    # Labels and predictions
    "prediction": "predicted",
    "predicted_label": "predicted",
    "y_pred": "predicted",
    "true_label": "label",
    "y_true": "label",
    # What people call them
    "user_question": "question",
    "user_query": "question",
    "actual_response": "answer",
    "model_answer": "answer",
    "model_output": "answer",
    "model_response": "answer",
    "generated_answer": "answer",
    "generated_text": "answer",
    "llm_answer": "answer",
    "llm_response": "answer",
    "rag_answer": "answer",
    "bot_answer": "answer",
    "prediction_text": "answer",
    "completion": "answer",
    "output": "answer",
    "outputs": "answer",
    "retrieved_documents": "contexts",
    "retrieved_docs": "contexts",
    "retrieved_chunks": "contexts",
    "retrieved_passages": "contexts",
    "retrieved_context": "contexts",
    "source_documents": "contexts",
    "source_nodes": "contexts",
    "search_results": "contexts",
    "retriever_resources": "contexts",
    "context": "contexts",
    "documents": "contexts",
    "docs": "contexts",
    "passages": "contexts",
    "chunks": "contexts",
    "ideal": "reference",
    "ideal_answer": "reference",
    "expected_answer": "reference",
    "expected_response": "reference",
    "reference_answer": "reference",
    "reference_output": "reference",
    "reference_outputs": "reference",
    "golden_answer": "reference",
    "gold_answer": "reference",
    "correct_answer": "reference",
    "ground_truth_answer": "reference",
    # Chinese
    "问题": "question",
    "用户问题": "question",
    "用户提问": "question",
    "提问": "question",
    "问": "question",
    "查询": "question",
    "用户输入": "question",
    "输入": "question",
    "回答": "answer",
    "模型回答": "answer",
    "实际回答": "answer",
    "系统回答": "answer",
    "回复": "answer",
    "模型回复": "answer",
    "模型输出": "answer",
    "生成答案": "answer",
    "生成的答案": "answer",
    "输出": "answer",
    "答案": "answer",
    "答": "answer",
    "上下文": "contexts",
    "检索内容": "contexts",
    "检索到的内容": "contexts",
    "检索结果": "contexts",
    "检索文档": "contexts",
    "召回内容": "contexts",
    "召回结果": "contexts",
    "召回片段": "contexts",
    "参考资料": "contexts",
    "参考内容": "contexts",
    "参考文档": "contexts",
    "参考上下文": "contexts",
    "知识片段": "contexts",
    "标准答案": "reference",
    "标准回答": "reference",
    "参考答案": "reference",
    "期望答案": "reference",
    "期望回答": "reference",
    "预期答案": "reference",
    "正确答案": "reference",
    "真实答案": "reference",
    # Conversations, of which the last turn counts, and what holds fields of a row
    "inputs": "question",
    "messages": "question",
    "conversation": "question",
    "conversations": "question",
    "对话": "question",
}
"""Columns of other systems and what Trace JSON calls them; of several that mean one field the first
of these with something in it is taken, and a column of our own name wins."""

_OWN: Final = frozenset({*FIELDS, *TIMINGS, CONTEXT_IDS})
_TEXT: Final = frozenset({"text", "content", "value"})
"""Fields of an object that are what it is named."""
_NOTE: Final = re.compile(r"\s*(?:[（(][^（()）]*[)）]|[*＊:：])\s*$")
"""Behind a name: what people are told of the column."""
_NEXT_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s-]+")


def names_with(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    """`COLUMN_NAMES` and what a user says of the file, which wins."""
    given = columns or {}
    return {**given, **{name: ours for name, ours in COLUMN_NAMES.items() if name not in given}}


def name_of(column: str, names: Mapping[str, str]) -> str:
    """What Trace JSON calls a column; `Retrieval Context` and `retrievalContext` are one name."""
    name = names.get(column)
    if name is not None or column in _OWN:
        return name or column
    folded = _NEXT_WORD.sub("_", _NOTE.sub("", column.strip("\ufeff \t"))).lower()
    if folded in names or folded in _OWN:
        return names.get(folded, folded)
    holder, dot, field = folded.partition(".")
    held = names.get(holder) if dot else None  # `inputs.question`, as a data frame flattens it
    if held is None or held == "reference" or field in _TEXT:
        return held or column
    return names.get(field, field if field in _OWN else column)


def rename(raw: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """`raw` with Trace JSON names, without what tables write into cells that are empty.

    What has no place keeps its own name.
    """
    fields = {name: value for name, value in raw.items() if not _is_gap(value)}
    order = {column: place for place, column in enumerate(names)}
    others = [name for name in fields if name_of(name, names) != name]
    for name in sorted(others, key=lambda name: order.get(name, len(order))):
        target = name_of(name, names)
        if fields.get(target) is None:
            fields[target] = fields.pop(name)
    if fields.get("question") is None and isinstance(fields.get("query"), str):
        fields["question"] = fields.pop("query")  # nothing else was asked
    return fields


def _is_gap(value: object) -> bool:
    """Whether a table has nothing here: NaN is how data frames say so."""
    return isinstance(value, float) and math.isnan(value)

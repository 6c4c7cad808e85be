"""Names of arguments and fields: those that hold the question, and those of a passage."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

QUERY_NAMES: Final = (
    "query", "user_query", "userQuery", "query_text", "queryText", "search_query", "searchQuery",
    "查询", "检索词",
)  # fmt: skip
QUESTION_NAMES: Final = (
    "question", "user_question", "userQuestion", "question_text", "questionText",
    "original_question", "问题", "用户问题", "提问", "问句",
    *QUERY_NAMES,
    "user_input", "userInput", "user_message", "userMessage", "user_prompt", "userPrompt",
    "user_text", "text_without_at_bot", "chat_input", "chatInput", "用户输入", "用户消息",
    "input", "inputs", "输入", "message", "messages", "消息", "msg", "utterance",
    "prompt", "input_text", "inputText", "inputTranscript", "text", "content", "contents",
    "提示词", "文本", "内容", "wenti", "tiwen", "chaxun", "xiaoxi",
)  # fmt: skip
"""The surest first."""
RANKS: Final[Mapping[str, float]] = {name: float(rank) for rank, name in enumerate(QUESTION_NAMES)}
GUESSED: Final = float(len(QUESTION_NAMES))
"""The rank of a text that nothing names a question."""
_LABELS: Final = frozenset(
    {
        "id", "uid", "uuid", "token", "auth", "authorization", "bearer", "key", "apikey", "secret",
        "password", "passwd", "pwd", "credential", "credentials", "csrf", "signature", "nonce",
        "hash", "cookie", "cookies", "header", "headers", "user", "username", "account", "email",
        "phone", "tenant", "org", "organization", "organisation", "project", "workspace", "team",
        "department", "role", "group", "session", "conversation", "thread", "trace", "agent", "ip",
        "host", "url", "uri", "path", "file", "filename", "lang", "language", "locale", "country",
        "region", "city", "timezone", "currency", "model", "provider", "engine", "name", "type",
        "kind", "mode", "format", "style", "tone", "level", "version", "release", "environment",
        "env", "app", "application", "channel", "source", "platform", "device", "client",
        "collection", "index", "namespace", "database", "db", "kb", "base", "dataset", "table",
        "schema", "category", "tag", "tags", "label", "filter", "sort", "order", "cursor", "page",
        "date", "time", "timestamp", "code", "status", "context", "contexts", "history",
        "document", "documents", "passages", "answer", "reference", "system", "instruction",
        "instructions", "persona", "template", "config",
        "用户", "用户名", "令牌", "密码", "密钥", "租户", "会话", "编号", "姓名", "邮箱", "电话",
        "手机", "语言", "模型", "地区", "部门", "角色", "上下文", "历史", "参考", "答案", "模板",
        "系统", "知识库",
    }
)  # fmt: skip
"""Last words in the names of arguments that are no question, whatever they hold."""
_CHINESE_LABELS: Final = tuple(name for name in _LABELS if not name.isascii())
_ELSEWHERE: Final = frozenset(
    {
        "system", "developer", "template", "default", "negative", "previous", "last", "error",
        "log", "welcome", "reply", "response", "answer", "output", "context", "source", "document",
        "page", "file",
    }
)  # fmt: skip
"""Words before `prompt`, `message` or `text` that say it is not the user's."""
_CHINESE_NAMES: Final = tuple(name for name in QUESTION_NAMES if not name.isascii())
_CHINESE_ELSEWHERE: Final = ("系统", "模板", "默认", "上一", "历史", "错误", "日志", "回复", "输出")
"""The same in Chinese, where names have no spaces."""
_OF_DOCUMENTS: Final = (
    "文档", "资料", "参考", "上下文", "背景", "知识", "片段", "来源", "检索", "网页", "文件",
    "回答", "答案",
)  # fmt: skip
_TEXTS_OF_DOCUMENTS: Final = ("文本", "内容")
"""What follows on these is theirs; a question about documents (文档问题) is one."""
_OF_TYPE: Final = frozenset({"str", "string", "txt", "text", "value", "raw"})
"""Last words that say only what kind of value it is, as in `query_str`."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\da-zA-Z_]+")


_DERIVED: Final = 0.25
"""What a name is behind the one that it is made of."""


def rank_of_argument(name: str) -> float | None:
    """As `rank_of`; a function calls its question `q`, an address anything."""
    return RANKS["content"] + _DERIVED if name == "q" else rank_of(name)


def rank_of(name: str) -> float | None:
    """The rank of a name, or of its last word; None where it is no name of a question."""
    rank = RANKS.get(name)
    if rank is not None:
        return rank
    words = _words(name)
    while len(words) > 1 and words[-1] in _OF_TYPE:
        words.pop()
    if not words or not _ELSEWHERE.isdisjoint(words):
        return None
    rank = RANKS.get("_".join(words), RANKS.get(words[-1]))
    if rank is None and not words[-1].isascii():
        rank = _rank_in_chinese(words[-1])
    return None if rank is None else rank + _DERIVED


def _rank_in_chinese(word: str) -> float | None:
    """The rank of the name that a Chinese one ends with, such as 用户的问题."""
    of_document = word.startswith(_OF_DOCUMENTS) and word.endswith(_TEXTS_OF_DOCUMENTS)
    if of_document or word.startswith(_CHINESE_ELSEWHERE):
        return None
    return next((RANKS[name] for name in _CHINESE_NAMES if word.endswith(name)), None)


def may_ask(name: str) -> bool:
    """Whether a text of that name may be a question: a token, an id or a language is none."""
    words = _words(name)
    last = words[-1] if words else ""
    return last not in _LABELS and (last.isascii() or not last.endswith(_CHINESE_LABELS))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


CONTENT_KEYS: Final = (
    "content", "page_content", "text", "pageContent", "body", "chunk_text", "chunk_content",
    "text_content", "content_text", "passage_text", "snippet", "snippets", "extractive_segments",
    "extractive_answers", "memory", "fact", "Content", "Text", "DocumentExcerpt",
    "AMAZON_BEDROCK_TEXT", "AMAZON_BEDROCK_TEXT_CHUNK", "内容", "正文", "文本",
)  # fmt: skip
WHOLE_KEYS: Final = ("document", "passage", "chunk", "doc", "data")
"""What is a passage's text where it is a text, and holds its fields where it is none."""
ANSWER_KEYS: Final = ("answer", "a")
"""The text of what knowledge bases of questions and answers keep, behind the question."""
PAIR_KEYS: Final = (("content", "answer"), ("question", "answer"), ("q", "a"))
"""Both texts of such a pair are the passage."""
METADATA_KEYS: Final = ("metadata", "meta", "Metadata")
ID_KEYS: Final = (
    "id", "_id", "id_", "doc_id", "document_id", "chunk_id", "node_id", "uuid", "pk", "key",
    "docid", "file_id", "objectID", "documentId", "Id", "编号", "文档编号",
)  # fmt: skip
METADATA_ID_KEYS: Final = (
    "id", "id_", "chunk_id", "segment_id", "doc_id", "document_id", "documentId", "_id",
)  # fmt: skip
"""What names a passage among its metadata, where `key` and its like may mean anything."""
SCORE_KEYS: Final = (
    "score", "relevance_score", "similarity", "_score", "similarity_score", "rerank_score",
    "_relevance_score", "@search.score", "_rankingScore", "vector_score", "certainty", "relevance",
    "text_match", "Score",
)  # fmt: skip
DISTANCE_KEYS: Final = ("distance", "_distance", "vector_distance", "$dist", "dist")
DISTANCE: Final = "distance"
"""Under this name a distance is kept in the metadata: smaller is better, so it is no score."""
BODY_KEYS: Final = (
    "node", "segment", "_source", "payload", "entity", "properties", "fields", "metadata",
    "cmetadata", "record", "kwargs", "derivedStructData", "_additional", *WHOLE_KEYS, "_data",
    "_data_store", "_body", "_properties",
)  # fmt: skip
"""What holds the fields of a passage, below the passage itself."""
LIST_KEYS: Final = (
    "documents", "docs", "source_documents", "source_nodes", "nodes", "retrievalResults",
    "retrieval_results", "ResultItems", "results", "result", "hits", "matches", "points", "objects",
    "passages", "chunks", "contexts", "context", "records", "rows", "items", "groups", "value",
    "response", "data", "output", "outputs", "root", "children", "_body", "_data_store", "_data",
    "json", "Get", "edges", "vectors", "Data", "Nodes",
)  # fmt: skip
"""What holds the list of passages in a result; also what holds the result in a reply."""
MAP_KEYS: Final = ("vectors", "documents", "docs")
"""What holds passages by their ids."""
COLUMN_KEYS: Final = (
    ("content", ("documents", "contents", "texts", "document", *CONTENT_KEYS)),
    ("id", ("ids", *ID_KEYS)),
    ("score", ("scores", *SCORE_KEYS)),
    (DISTANCE, ("distances", *DISTANCE_KEYS)),
    ("metadata", ("metadatas", *METADATA_KEYS)),
)
"""Lists side by side, one for each field, as Chroma gives them."""
NODE_KEY: Final = "_node_content"
"""Where LlamaIndex keeps a whole node in a payload, as JSON."""
VECTOR_KEYS: Final = frozenset(
    {"vector", "vectors", "embedding", "embeddings", "dense_vector", "sparse_vector", "values",
     "sparse_values", NODE_KEY, "_id", "_score"}
)  # fmt: skip
"""Fields that no person reads, or that are read already."""
LABEL_KEYS: Final = frozenset(
    {"title", "name", "url", "uri", "link", "href", "source", "file", "filename", "file_name",
     "path", "author", "type", "kind", "category", "lang", "language", "date", "created_at",
     "updated_at", "collection", "index", "_index", "namespace", "knowledge_base", "tenant",
     "hash", "model", "status", "question", "query", *ID_KEYS,
     "标题", "来源", "作者", "链接", "分类"}
)  # fmt: skip
"""Text fields that say something about a passage and are not its text."""

"""The names under which retrievers and vector databases keep a passage, its id and its score."""

from __future__ import annotations

from typing import Final

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

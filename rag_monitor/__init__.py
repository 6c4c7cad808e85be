"""rag-monitor: quality monitoring for retrieval-augmented generation in production."""

__version__ = "0.1.0"

"""How each instrumentation writes a RAG request into spans: one file per convention."""

"""A small real RAG application and the story of how it breaks."""

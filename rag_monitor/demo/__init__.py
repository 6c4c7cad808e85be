"""A small real RAG application, its corpus, and the story of how it breaks and is caught."""

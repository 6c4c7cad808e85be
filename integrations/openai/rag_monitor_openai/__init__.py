"""openai into rag-monitor."""

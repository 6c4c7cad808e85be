"""llama_index into rag-monitor."""

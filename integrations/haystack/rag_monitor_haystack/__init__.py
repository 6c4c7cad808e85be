"""haystack into rag-monitor."""

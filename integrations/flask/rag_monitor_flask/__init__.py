"""flask into rag-monitor."""

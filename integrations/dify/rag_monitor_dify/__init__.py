"""dify into rag-monitor."""

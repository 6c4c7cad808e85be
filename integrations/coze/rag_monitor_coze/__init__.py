"""coze into rag-monitor."""

"""fastapi into rag-monitor."""

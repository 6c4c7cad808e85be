"""The `rag-monitor` command: one file per command; each parses, then calls."""

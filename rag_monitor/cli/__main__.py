"""`python -m rag_monitor.cli` is `rag-monitor`."""

from rag_monitor.cli import main

if __name__ == "__main__":
    main()

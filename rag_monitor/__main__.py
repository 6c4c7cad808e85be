"""`python -m rag_monitor` is `rag-monitor`."""

from rag_monitor.cli import main

if __name__ == "__main__":
    main()

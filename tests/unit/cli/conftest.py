import pytest

from rag_monitor.cli.words import choose_none


@pytest.fixture(autouse=True)
def no_language_chosen() -> None:
    """As a command begins: one that ran before in this process may have chosen a language."""
    choose_none()

"""Who hears how a result comes about: a traced call, a step of one, or nobody."""

from __future__ import annotations

from typing import Any, Protocol


class Observer(Protocol):
    """Hears how a result comes about. No method raises into the host."""

    def resume(self) -> None:
        """The host's code runs next."""
        ...

    def pause(self) -> None:
        """The host's code has returned, yielded or raised."""
        ...

    def streams(self) -> None:
        """The result comes in pieces."""
        ...

    def chunk(self, chunk: Any) -> None:
        """A piece."""
        ...

    def returned(self, result: Any) -> None:
        """The result, which is whole."""
        ...

    def ended(self, status: str | None = None, ended: int | None = None) -> None:
        """There is no more to come; `ended` says since when, in nanoseconds of `perf_counter`."""
        ...

    def failed(self, error: BaseException, status: str | None = None) -> None:
        """The host's code raised."""
        ...


class Bystander:
    """Stands in for an observer where nothing is recorded."""

    def resume(self) -> None:
        """Nothing becomes current."""

    def pause(self) -> None:
        """Nothing was current."""

    def streams(self) -> None:
        """Nothing is recorded of it."""

    def chunk(self, chunk: Any) -> None:
        """Look away."""

    def returned(self, result: Any) -> None:
        """Look away."""

    def ended(self, status: str | None = None, ended: int | None = None) -> None:
        """Nothing to end."""

    def failed(self, error: BaseException, status: str | None = None) -> None:
        """Nothing to end."""

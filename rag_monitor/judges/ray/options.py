"""Settings of a judge of kind `ray`."""

from __future__ import annotations

from dataclasses import dataclass

from rag_monitor.i18n import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class RayOptions:
    """What a table of kind `ray` may say."""

    judge: str
    """The judge its actors run: a judge's name, or the name of another table."""
    address: str = ""
    """Of a running cluster (`auto`, or host and port of its head), from a machine that is part of
    it; empty: Ray is started on this machine alone, on loopback."""
    actors: int = 2
    """Processes that judge, each with a copy of the model."""
    cpus: float = 1.0
    """Processors set aside for each."""
    gpus: float = 0.0
    """GPUs set aside for each; may be a share of one."""
    batch: int = 8
    """Most traces in one call; fewer where that gives every actor some."""
    start_s: float = 300.0
    """How long an actor may take to be placed and to load the model."""

    def __post_init__(self) -> None:
        if not self.judge:
            raise ValueError(Message("`judge` must name the judge that its actors run"))
        if self.actors < 1 or self.batch < 1:
            raise ValueError(Message("`actors` and `batch` must be at least 1"))
        if self.cpus < 0 or self.gpus < 0 or self.start_s <= 0:
            raise ValueError(
                Message("`cpus` and `gpus` must not be negative, `start_s` must be positive")
            )

    @property
    def on_loopback(self) -> bool:
        """Whether Ray has no business with the network."""
        return not self.address or self.address.rpartition(":")[0] in ("127.0.0.1", "localhost")

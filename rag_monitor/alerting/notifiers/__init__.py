"""The channels: one module each, strangers to one another; `build` makes them."""

from rag_monitor.alerting.notifiers.registry import KINDS, build, build_all

__all__ = ["KINDS", "build", "build_all"]

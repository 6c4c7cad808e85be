"""The channels: one independent module each; `build` makes them."""

from rag_monitor.alerting.notifiers.registry import KINDS, build, build_all

__all__ = ["KINDS", "build", "build_all"]

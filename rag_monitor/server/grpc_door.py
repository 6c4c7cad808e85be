"""Whether and where OTLP is taken over gRPC: on its usual port wherever that is possible."""

from __future__ import annotations

import logging
import socket
from importlib import metadata
from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp

from rag_monitor.config import Settings
from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import msgid
from rag_monitor.installation import install_command
from rag_monitor.server.csrf import check_reach

if TYPE_CHECKING:
    from rag_monitor.server.grpc_otlp import GrpcOtlp

NOT_INSTALLED: Final = msgid("it needs grpcio {oldest} or newer: {command}")
"""Ends with the command that installs it."""
PORT: Final = 4317
"""Where exporters send OTLP over gRPC unless they are told otherwise."""
_OLDEST: Final = (1, 84)
"""Older releases of grpcio inflate a message to any size before they refuse it."""
OLDEST: Final = ".".join(map(str, _OLDEST))

logger = logging.getLogger(__name__)


def address(settings: Settings) -> tuple[str, int]:
    """Host and port for gRPC."""
    wanted = settings.grpc
    return wanted.host or settings.host, PORT if wanted.port is None else wanted.port


def takes_grpc(settings: Settings) -> bool:
    """Whether the settings leave gRPC to this process."""
    return settings.grpc.enabled is not False and settings.role in ("all", "ingest")


def installed() -> bool:
    """Whether the extra is here, and new enough."""
    try:
        version = metadata.version("grpcio")
        metadata.version("googleapis-common-protos")
    except metadata.PackageNotFoundError:
        return False
    return tuple(int(part) for part in version.split(".")[:2]) >= _OLDEST


def open_door(app: ASGIApp, settings: Settings) -> GrpcOtlp | None:
    """A gRPC server on its port, not yet started; None: this process takes none.

    Args:
        app: Answers the calls.
        settings: Say whether and where; the limits of the HTTP side apply.

    Raises:
        ConfigurationError: gRPC was asked for, and is not possible.
    """
    if not takes_grpc(settings):
        return None
    try:
        return _opened(app, settings)
    except ConfigurationError as error:
        if settings.grpc.asked_for:
            raise ConfigurationError("[grpc]: {reason}", reason=error) from None
        level = logging.WARNING if installed() else logging.INFO
        logger.log(level, "OTLP over gRPC is off: %s", error)
        return None


def _opened(app: ASGIApp, settings: Settings) -> GrpcOtlp:
    if not installed():
        command = install_command("grpc")
        raise ConfigurationError(NOT_INSTALLED, oldest=OLDEST, command=command)
    host, port = address(settings)
    check_reach(settings, host)
    _try_binding(host, port)
    from rag_monitor.server.grpc_otlp import GrpcOtlp

    http = settings.http
    door = GrpcOtlp(app, max_bytes=http.max_body_bytes, max_inflight_bytes=http.max_inflight_bytes)
    bound = door.bind(host, port)
    logger.info("OTLP over gRPC on %s:%d", host, bound)
    return door


def _try_binding(host: str, port: int) -> None:
    """Find out why a port cannot be taken: gRPC does not say."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ConfigurationError(
                "cannot listen on {host}:{port} ({reason}); stop what uses the port, or choose "
                "another: `[grpc] port`, RAG_MONITOR_GRPC_PORT",
                host=host,
                port=port,
                reason=error.strerror,
            ) from None

"""One monitor process: opens the store, wires the stages, serves until told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from rag_monitor.config import Settings
from rag_monitor.domain.clock import Clock, SharedClock
from rag_monitor.errors import ConfigurationError
from rag_monitor.exposition.own_spans import own_traces
from rag_monitor.own_traces import OwnTraces
from rag_monitor.server import logs
from rag_monitor.server.app import create_app
from rag_monitor.server.collector import collect_seldom
from rag_monitor.server.context import ServerOptions
from rag_monitor.server.protocol import BoundedProtocol
from rag_monitor.server.wiring import wire_services
from rag_monitor.store.store import Store
from rag_monitor.worker.wiring import Workshop, wire_workshop

_SHUTDOWN_S = 10
_LISTENS = {"en": "rag-monitor listens on", "zh": "rag-monitor 正在监听"}
_SWITCH_S = 0.001
"""How long a thread may keep the interpreter while the event loop wants it. Reading one request
takes many turns of the loop; at Python's 5 ms each turn may wait that long for a busy worker."""


def serve(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT.

    Raises:
        ConfigurationError: The settings cannot work, e.g. listening beyond loopback without a key.
        StoreError: The database cannot be opened, or its schema is not this release's.
        UnknownJudge: No judge of the configured name.
    """
    logs.configure(settings.log_level, settings.log_format)
    sys.setswitchinterval(_SWITCH_S)
    asyncio.run(_Process(settings).run())


def server_options(settings: Settings) -> ServerOptions:
    """What the HTTP side takes from the settings.

    Raises:
        ConfigurationError: Listening beyond loopback without a key.
    """
    http = settings.http
    return ServerOptions(
        host=settings.host,
        port=settings.port,
        api_key=settings.api_key,
        public_url=settings.public_url,
        timezone=settings.timezone,
        language=settings.language,
        max_body_bytes=http.max_body_bytes,
        max_inflight_bytes=http.max_inflight_bytes,
        body_timeout_s=http.body_timeout_s,
        requests_per_minute=http.requests_per_minute,
        session_hours=http.session_hours,
        allowed_hosts=http.allowed_hosts,
        allow_insecure_bind=http.allow_insecure_bind,
        oidc=settings.oidc if settings.oidc.issuer else None,
    )


@dataclass(slots=True)
class _Process:
    """The life of one process."""

    settings: Settings

    async def run(self) -> None:
        settings = self.settings
        options = server_options(settings)
        clock = SharedClock()
        store = await asyncio.to_thread(Store.open, settings.store_options, clock)
        own = own_traces(settings.own_traces)
        try:
            workshop = await asyncio.to_thread(wire_workshop, settings, store, clock, _owner(), own)
            app = self._application(store, workshop, options, clock, own)
            collect_seldom()
            await _listen(app, settings)
        finally:
            if own is not None:
                await asyncio.to_thread(own.close)
            await asyncio.to_thread(store.close)

    def _application(
        self,
        store: Store,
        workshop: Workshop,
        options: ServerOptions,
        clock: Clock,
        own: OwnTraces | None,
    ) -> FastAPI:
        app = create_app(wire_services(self.settings, store, workshop, options, clock, own))
        app.router.lifespan_context = self._lifespan(store, workshop)
        return app

    def _lifespan(
        self, store: Store, workshop: Workshop
    ) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
        role = self.settings.role

        @asynccontextmanager
        async def lifespan(_: FastAPI) -> AsyncIterator[None]:
            if role in ("all", "ingest"):
                store.writer.start()
            if workshop.worker is not None:
                await workshop.worker.start()
            try:
                yield
            finally:
                if workshop.worker is not None:
                    await workshop.worker.stop()
                await workshop.close()

        return lifespan


class _Server(uvicorn.Server):
    """Stops on SIGTERM and SIGINT without raising them again, so that what comes after runs too."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ask the server to stop on the first signal, force it on the second."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGTERM, signal.SIGINT)
        for number in signals:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


async def _listen(app: FastAPI, settings: Settings) -> None:
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=_SHUTDOWN_S,
        http=BoundedProtocol,
        ws="none",
        limit_concurrency=2000,
    )
    server = _Server(config)
    sockets = [_bind(settings.host, settings.port)]
    port = sockets[0].getsockname()[1]
    sys.stderr.write(f"{_LISTENS[settings.language]} http://{settings.host}:{port}\n")
    sys.stderr.flush()
    await server.serve(sockets=sockets)


def _bind(host: str, port: int) -> socket.socket:
    """A listening socket, or an error that says which port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named: asyncio sends at once (TCP_NODELAY) only on sockets that say they are
    # TCP, and else every answer on a kept connection waits 40 ms for the other side's delayed ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"cannot listen on {host}:{port} ({error.strerror}); "
            "stop what uses the port, or choose another with --port"
        ) from None
    listener.set_inheritable(False)
    return listener


def _owner() -> str:
    """Names this process in leases and logs."""
    return f"{socket.gethostname()}:{os.getpid()}"

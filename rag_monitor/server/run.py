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
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI

from rag_monitor.config import Settings
from rag_monitor.domain.clock import SharedClock
from rag_monitor.errors import ConfigurationError
from rag_monitor.exposition.own_spans import build_self_tracing
from rag_monitor.i18n import Message, translate
from rag_monitor.ingest.rewriting import Rewriting
from rag_monitor.server.app import create_app
from rag_monitor.server.csrf import check_reach
from rag_monitor.server.grpc_door import open_door
from rag_monitor.server.process import (
    Stopping,
    configure_logging,
    connections_within,
    raise_limit,
    tune_interpreter,
)
from rag_monitor.server.protocol import BoundedProtocol
from rag_monitor.server.services import Services
from rag_monitor.server.wiring import wire_services
from rag_monitor.store.names import Naming
from rag_monitor.store.store import Store
from rag_monitor.worker.runtime import build_runtime
from rag_monitor.worker.thread import WorkerThread

if TYPE_CHECKING:
    from rag_monitor.server.grpc_otlp import GrpcOtlp

_SHUTDOWN_S = 10
"""Requests that are being answered get this long, or the drain time if that is shorter."""
_CLOSING_S = 1.0
"""Each of the last things gets this long once the drain time is over."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_FORCED_S = 0.1
"""How often a server that is stopping looks whether it must stop at once."""


def serve(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT.

    Raises:
        ConfigurationError: The settings cannot work, e.g. listening beyond loopback without a key.
        StoreError: The database cannot be opened, or its schema is not this release's.
        UnknownJudge: No judge of the configured name.
    """
    configure_logging(settings.log_level, settings.log_format)
    asyncio.run(_Process(settings).run())


@dataclass(slots=True)
class _Process:
    """The life of one process."""

    settings: Settings

    async def run(self) -> None:
        settings = self.settings
        check_reach(settings, settings.host)
        clock = SharedClock()
        stopping = Stopping(settings.worker.drain_s)
        naming = Naming(limits=settings.names, rewrite_app=Rewriting(settings.apps).rewritten)
        store = await asyncio.to_thread(Store.open, settings.store_options, clock, naming)
        own = build_self_tracing(settings.own_traces)
        try:
            runtime = await asyncio.to_thread(build_runtime, settings, store, clock, _owner(), own)
            services = wire_services(settings, store, runtime, clock, own)
            app = create_app(services)
            worker = WorkerThread(runtime)
            app.router.lifespan_context = self._lifespan(store, worker, services, stopping)
            tune_interpreter()
            try:
                await _listen(app, settings, stopping)
            finally:
                await worker.abandon()  # a second signal leaves out the end of the lifespan
        finally:
            stopping.begin()
            last_s = stopping.left_s + _CLOSING_S
            if own is not None:
                await stopping.within(last_s, "sending our own traces", own.close)
            await stopping.within(last_s, "closing the database", store.close)

    def _lifespan(
        self, store: Store, worker: WorkerThread, services: Services, stopping: Stopping
    ) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
        role = self.settings.role

        @asynccontextmanager
        async def lifespan(_: FastAPI) -> AsyncIterator[None]:
            if role in ("all", "ingest"):
                store.writer.start()
            for work in services.background:
                work.start()
            drained = asyncio.create_task(_drain(worker, stopping))
            try:
                await worker.start()
                yield
            finally:
                stopping.begin()
                await drained
                for work in services.background:
                    work.stop()
                await worker.close()

        return lifespan


async def _drain(worker: WorkerThread, stopping: Stopping) -> None:
    """Have the worker end what it has begun while the last requests are still answered."""
    await stopping.begun()
    await worker.stop()


class _Server(uvicorn.Server):
    """Stops on SIGTERM and SIGINT without raising them again, so that what comes after runs too.

    Takes OTLP over gRPC through `door`, where there is one, from start to stop.
    """

    def __init__(
        self, config: uvicorn.Config, stopping: Stopping, door: GrpcOtlp | None = None
    ) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._door = door

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start both; the application comes first."""
        await super().startup(sockets)
        if self._door is not None and not self.should_exit:
            await self._door.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop both at the same time."""
        if self._door is None:
            await super().shutdown(sockets)
            return
        closing = asyncio.create_task(self._door.stop(_SHUTDOWN_S))
        await super().shutdown(sockets)
        while not closing.done() and not self.force_exit:
            await asyncio.wait({closing}, timeout=_FORCED_S)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ask the server to stop on the first signal, force it on the second."""
        self._stopping.arm()
        wakes = signal.set_wakeup_fd(self._stopping.stop_fd, warn_on_full_buffer=False)
        before = {number: signal.signal(number, self._stop) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakes)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping.begin()
        self.handle_exit(number, frame)


async def _listen(app: FastAPI, settings: Settings, stopping: Stopping) -> None:
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=max(1, min(_SHUTDOWN_S, int(stopping.drain_s))),
        http=BoundedProtocol.at_most(connections_within(raise_limit())),
        ws="none",
        limit_concurrency=2000,
    )
    sockets = [_bind(settings.host, settings.port)]
    config.load()
    server = _Server(config, stopping, open_door(config.loaded_app, settings))
    port = sockets[0].getsockname()[1]
    listens = Message("rag-monitor listens on {url}", url=f"http://{settings.host}:{port}")
    sys.stderr.write(translate(listens, settings.language) + "\n")
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
            "cannot listen on {host}:{port} ({reason}); stop what uses the port, or choose "
            "another with --port",
            host=host,
            port=port,
            reason=error.strerror,
        ) from None
    listener.set_inheritable(False)
    return listener


def _owner() -> str:
    """Names this process in leases and logs."""
    return f"{socket.gethostname()}:{os.getpid()}"

"""A receiver of scores on loopback that decodes OTLP logs and answers as it is told."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord


class LogSink:
    """Listens on a loopback port while used as a context manager."""

    def __init__(self) -> None:
        self.requests: list[ExportLogsServiceRequest] = []
        """Those answered with 200, where they are OTLP logs."""
        self.bodies: list[bytes] = []
        """Those answered with 200, whatever they are."""
        self.headers: dict[str, str] = {}
        """Of the last request, names in lower case."""
        self.path = ""
        self.status = 200
        """What the next requests are answered with."""
        self.rejected = 0
        self.reply: bytes | None = None
        """What is answered instead of a response for logs."""
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                sink.path = self.path
                sink.headers = {name.lower(): value for name, value in self.headers.items()}
                if sink.status == 200:
                    sink.bodies.append(body)
                    if sink.path.endswith("/v1/logs"):
                        sink.requests.append(ExportLogsServiceRequest.FromString(body))
                answer = ExportLogsServiceResponse()
                if sink.rejected:
                    answer.partial_success.rejected_log_records = sink.rejected
                    answer.partial_success.error_message = "no such trace"
                reply = answer.SerializeToString() if sink.reply is None else sink.reply
                self.send_response(sink.status)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def events(self) -> list[LogRecord]:
        """All log records, in order of arrival."""
        return [
            record
            for request in self.requests
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

"""An OTLP trace request, in either encoding, as blobs of evidence."""

from __future__ import annotations

from typing import Final

from rag_monitor.ingest.envelope import Decoded, split_request
from rag_monitor.ingest.options import IngestOptions
from rag_monitor.ingest.otlp_json import traces_from_json
from rag_monitor.ingest.strict_json import parse

__all__: Final = ("Decoded", "decode_traces")


def decode_traces(body: bytes, *, json: bool, options: IngestOptions) -> Decoded:
    """The blobs of a request, one per trace, and what had to be rejected.

    Args:
        body: Without its content encoding.
        json: OTLP/JSON; else protobuf.
        options: Limits.

    Raises:
        MalformedPayload: The body is not such a request.
        PayloadTooLarge: Too many spans or keys.
    """
    if not json:
        return split_request(body, options.max_spans)
    # An attribute value nests two JSON levels per level of its own; those are limited per span.
    value = parse(body or b"{}", max_keys=options.max_keys, max_depth=None)
    request, reasons = traces_from_json(value, options.max_spans)
    decoded = split_request(request.SerializeToString(), options.max_spans)
    decoded.spans += len(reasons)
    for reason in reasons:
        decoded.reject(reason)
    return decoded

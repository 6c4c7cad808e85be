"""Parts that were compressed apart are one gzip file together."""

from __future__ import annotations

import gzip
import io

from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.exposition.gzip_parts import Part, gzipped, plain

TEXTS = st.lists(st.binary(max_size=300) | st.binary(min_size=1, max_size=4).map(lambda b: b * 900))


@given(TEXTS)
def test_any_parts_are_one_valid_file_of_their_text(texts: list[bytes]) -> None:
    parts = [Part.of(text) for text in texts]
    assert plain(parts) == b"".join(texts)
    assert gzip.decompress(gzipped(parts)) == b"".join(texts)


def test_large_parts_are_one_member_whose_checksum_holds() -> None:
    texts = [bytes(range(256)) * 9_001, b"", b"x" * 1_000_003]
    packed = gzipped([Part.of(text) for text in texts])
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        assert file.read() == b"".join(texts)
    # A second member would begin with the same two bytes and be read on from there.
    assert packed.count(b"\x1f\x8b\x08\0\0\0\0\0\0\xff") == 1

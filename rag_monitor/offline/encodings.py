"""What a file's bytes are written in: UTF-8 and marked Unicode are read, everything else is named.

Other encodings are told by their look, and a look can be wrong: reading them would now and then
turn names and numbers into others without a word. So the reader is told once what it looks like
and how to convert it.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from typing import IO, Final, cast

from rag_monitor.errors import ConfigurationError

UTF8_MARK: Final = codecs.BOM_UTF8
# UTF-32 first: its mark begins with that of UTF-16.
_MARKED: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
LOOKED_AT: Final = 65_536
"""Bytes of a file that are looked at."""
_PIECE: Final = 65_536
_PAIR: Final = re.compile(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]")
_FEWEST: Final = 2
"""Lines without UTF-8 that make it the file's, where no line shows that it is UTF-8 after all."""


def as_utf8(stream: IO[bytes]) -> IO[bytes]:
    """The same text in UTF-8, whatever Unicode its byte order mark names; without one, unchanged.

    Args:
        stream: At its beginning and seekable; closed with what is returned.
    """
    head = stream.read(4)
    stream.seek(0)
    for mark, encoding in _MARKED:
        if head.startswith(mark):
            return cast("IO[bytes]", io.BufferedReader(_Recoded(stream, encoding)))
    return stream


class _Recoded(io.RawIOBase):
    """Bytes of another Unicode encoding as UTF-8, a piece at a time."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        while not self._left:
            piece = self._stream.read(_PIECE)
            text = self._decoder.decode(piece, final=not piece)
            self._left = text.encode("utf-8", "replace")
            if not piece:
                break
        count = min(len(target), len(self._left))
        target[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


def check_utf8(name: str, head: bytes, *, whole: bool) -> None:
    """Refuse a file that begins in another encoding; single odd lines are left to their readers.

    Args:
        name: Of the file, for the message.
        head: Its first `LOOKED_AT` bytes, as `as_utf8` gives them.
        whole: That is all of it.

    Raises:
        ConfigurationError: None of its lines that could show it is UTF-8.
    """
    if head.startswith(UTF8_MARK):
        return
    lines = head.split(b"\n")
    if not whole and len(lines) > 1:
        del lines[-1]  # cut in the middle, of a character perhaps
    foreign = [line for line in lines if not line.isascii()]
    wide = _wide(head)
    odd = sum(not _is_utf8(line, cut=not whole and len(lines) == 1) for line in foreign)
    certain = odd == len(foreign) and (odd >= _FEWEST or odd == len(list(_filled(lines))) > 0)
    if wide is None and not certain:
        return
    raise _refusal(name, wide or looks_like(b"\n".join(foreign)))


def not_utf8(name: str, error: UnicodeDecodeError) -> ConfigurationError:
    """The refusal of a file that turned out not to be UTF-8 while it was read as a whole.

    Args:
        name: Of the file, for the message.
        error: What its decoder raised; it holds the bytes that were being decoded.
    """
    lines = bytes(error.object).split(b"\n")
    odd = [line for line in lines[:-1] or lines if not _is_utf8(line, cut=False)]
    return _refusal(name, looks_like(b"\n".join(odd or lines)))


def _refusal(name: str, guess: str | None) -> ConfigurationError:
    if guess is None:
        return ConfigurationError(
            '{name} is not UTF-8: save it as UTF-8 (Excel: "CSV UTF-8")', name=name
        )
    return ConfigurationError(
        '{name} is not UTF-8; it looks like {encoding}: save it as UTF-8 (Excel: "CSV UTF-8"), '
        "or convert it with `iconv -f {encoding} -t UTF-8 {name} > utf8-{name}`",
        name=name,
        encoding=guess,
    )


def _filled(lines: list[bytes]) -> Iterator[bytes]:
    return (line for line in lines if line.strip())


def _is_utf8(line: bytes, *, cut: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(line, final=not cut)
    except UnicodeDecodeError:
        return False
    return True


def _wide(head: bytes) -> str | None:
    """UTF-16 without its mark, which has a zero in every other byte of ASCII."""
    odd, even = head[1::2].count(0), head[0::2].count(0)
    if max(odd, even) * 10 <= len(head):
        return None
    return "UTF-16LE" if odd > even else "UTF-16BE"


def looks_like(text: bytes) -> str | None:
    """The likely encoding of text that is not UTF-8; None: none that is known here.

    Frequent Chinese characters have a second byte above 0xA0 in GB 18030; in Big5 half of them have
    one in the range of ASCII. Single bytes between letters are those of Western Europe.
    """
    pairs = _PAIR.findall(text)
    high = sum(byte >= 0x80 for byte in text)
    inside = sum(pair[1] < 0x80 for pair in pairs)
    apart = len(re.findall(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])", text))
    if apart * 2 > high and not _decodes(text, "big5"):
        return "WINDOWS-1252"
    kana = sum(pair[0] in (0x82, 0x83) for pair in pairs)
    if kana * 3 > len(pairs) and _decodes(text, "shift_jis"):
        return "SHIFT_JIS"
    if inside * 5 < len(pairs) and _decodes(text, "gb18030"):
        return "GB18030"
    if _decodes(text, "big5"):
        return "BIG5"
    return "GB18030" if _decodes(text, "gb18030") else None


def _decodes(text: bytes, encoding: str) -> bool:
    try:
        text.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True

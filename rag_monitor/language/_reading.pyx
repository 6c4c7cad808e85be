# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: annotation_typing=False
"""Folding and sentence ends, one character at a time.

What `normalise` and `sentences` do with patterns, several times as fast. Whatever is rare or needs
a closer look is asked of the Python there.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_KIND, PyUnicode_Substring
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t

INTERFACE = 3  # see `compiled.INTERFACE`

cdef extern from "Python.h":
    bint Py_UNICODE_ISALNUM(Py_UCS4)
    bint Py_UNICODE_ISDECIMAL(Py_UCS4)
    bint Py_UNICODE_ISDIGIT(Py_UCS4)
    bint Py_UNICODE_ISSPACE(Py_UCS4)
    object PyUnicode_New(Py_ssize_t, Py_UCS4)
    void PyUnicode_WRITE(int, void *, Py_ssize_t, Py_UCS4)

ctypedef fused Characters:  # as a string holds them, by its widest one
    uint8_t
    uint16_t
    uint32_t

cdef enum:
    TABLED = 0x10000
    SAME = -1      # in the table of folded characters: it stays as it is
    SEVERAL = -2   # it becomes no character, or several
    DEPENDS = -3   # what it becomes depends on its neighbours

cdef enum:
    LONG_WORD = 7  # letters: longer than every abbreviation
    TAIL = 12      # characters before a dot that tell whether it ends a sentence
    NUMBERED = 4   # characters of a list number, at most


cdef class Folding:
    """Text folded by what `alone` says of each of its characters; asked once of each.

    Args:
        alone: A character to what it becomes wherever it stands, None when that depends.
    """

    cdef int32_t _table[TABLED]
    cdef dict _several
    cdef object _alone

    def __cinit__(self, alone):
        cdef int point
        self._alone = alone
        self._several = {}
        for point in range(TABLED):
            self._table[point] = 0
        for point in range(1, 128):
            self._table[point] = SAME
        for point in range(65, 91):
            self._table[point] = point + 32

    def fold(self, str text not None):
        """The folded text, or None when what one of its characters becomes depends on others."""
        cdef void *data = PyUnicode_DATA(text)
        cdef int width = PyUnicode_KIND(text)
        if width == 1:
            return self._fold(<uint8_t *>data, len(text))
        if width == 2:
            return self._fold(<uint16_t *>data, len(text))
        return self._fold(<uint32_t *>data, len(text))

    cdef object _fold(self, const Characters *text, Py_ssize_t size):
        cdef Py_ssize_t place, length = 0, at
        cdef uint32_t char, widest = 127
        cdef int32_t becomes
        cdef str letters
        for place in range(size):
            becomes = self._becomes(text[place])
            if becomes == DEPENDS:
                return None
            if becomes == SEVERAL:
                letters = self._several[<uint32_t>text[place]]
                for letter in letters:
                    widest = max(widest, <uint32_t>ord(letter))
                length += len(letters)
            else:
                char = text[place] if becomes == SAME else <uint32_t>becomes
                widest = max(widest, char)
                length += 1
        folded = PyUnicode_New(length, <Py_UCS4>widest)
        cdef void *data = PyUnicode_DATA(folded)
        cdef int width = PyUnicode_KIND(folded)
        at = 0
        for place in range(size):
            becomes = self._becomes(text[place])
            if becomes == SEVERAL:
                letters = self._several[<uint32_t>text[place]]
                for letter in letters:
                    PyUnicode_WRITE(width, data, at, <Py_UCS4>ord(letter))
                    at += 1
            else:
                char = text[place] if becomes == SAME else <uint32_t>becomes
                PyUnicode_WRITE(width, data, at, <Py_UCS4>char)
                at += 1
        return folded

    cdef int32_t _becomes(self, uint32_t char) except? -9:
        """The character that one becomes, or what else is the case."""
        cdef int32_t known = self._table[char] if char < TABLED else 0
        return known if known else self._ask(char)

    cdef int32_t _ask(self, uint32_t char) except? -9:
        cdef int32_t becomes
        letter = chr(<long>char)
        folded = self._alone(letter)
        if folded is None:
            becomes = DEPENDS
        elif folded == letter:
            becomes = SAME
        elif len(folded) == 1 and folded != "\0":
            becomes = ord(folded)
        else:
            becomes = SEVERAL
            self._several[char] = folded
        if char < TABLED:
            self._table[char] = becomes
        return becomes


def pieces(str text not None, protected, marker, marks, abbreviated):
    """Every sentence of a text, trimmed, and where it begins.

    Args:
        text: Unfolded.
        protected: Of text, the start of a sentence and the place of a dot in it: whether the dot
            belongs to an abbreviation, an initial or a list number.
        marker: Of text from a sentence's start to its end: how long the list marker before it is.
        marks: What a list marker may begin with, but for letters from a to h.
        abbreviated: A word to whether it ends in an abbreviation or an initial.
    """
    cdef void *data = PyUnicode_DATA(text)
    cdef int width = PyUnicode_KIND(text)
    if width == 1:
        return _pieces(text, <uint8_t *>data, len(text), protected, marker, marks, abbreviated)
    if width == 2:
        return _pieces(text, <uint16_t *>data, len(text), protected, marker, marks, abbreviated)
    return _pieces(text, <uint32_t *>data, len(text), protected, marker, marks, abbreviated)


cdef list _pieces(
    str whole, const Characters *text, Py_ssize_t size, protected, marker, marks, abbreviated
):
    cdef list found = []
    cdef Py_ssize_t start = 0, place = 0, end
    while place < size:
        if not _may_end(text[place]):
            place += 1
            continue
        end = _end(text, place, size)
        if not end:
            place += 1
            # Of a run of dots each would be looked at to the end of the run, in vain as the first.
            while place < size and _is_latin_end(text[place]) and _is_latin_end(text[place - 1]):
                place += 1
            continue
        if text[place] == c"." and _may_be_protected(text, start, place):
            if place - start > TAIL and not _looks_short(whole, text, place, abbreviated):
                pass
            elif protected(whole, start, place):
                place = end
                continue
        _append(found, whole, text, start, end, marker, marks)
        start = place = end
    _append(found, whole, text, start, size, marker, marks)
    return found


cdef inline bint _may_end(uint32_t char) noexcept:
    """Whether a sentence may end with a character; most are told by one comparison."""
    if char < 0x2026:
        return char == c"\n" or _is_latin_end(char)
    return not 0x3003 <= char <= 0xFF00


cdef inline bint _is_latin_end(uint32_t char) noexcept:
    return char == c"." or char == c"!" or char == c"?" or char == c";"


cdef inline bint _is_han_end(uint32_t char) noexcept:
    return char == 0x3002 or char == 0xFF01 or char == 0xFF1F or char == 0xFF1B


cdef inline bint _closes(uint32_t char) noexcept:
    return (
        char == c'"' or char == c"'" or char == c")" or char == c"]"
        or char == 0x201D or char == 0x2019
    )


cdef inline bint _closes_han(uint32_t char) noexcept:
    return (
        char == 0x300D or char == 0x300F or char == 0x201D or char == 0x2019
        or char == 0xFF09 or char == 0x3011
    )


cdef Py_ssize_t _end(const Characters *text, Py_ssize_t place, Py_ssize_t size) noexcept:
    """Where what ends a sentence at `place` is over; 0 when nothing does."""
    cdef uint32_t char = text[place]
    place += 1
    if char == c"\n":
        while place < size and text[place] == c"\n":
            place += 1
        return place
    if _is_latin_end(char):
        while place < size and _is_latin_end(text[place]):
            place += 1
        while place < size and _closes(text[place]):
            place += 1
        if place == size or Py_UNICODE_ISSPACE(<Py_UCS4>text[place]):
            return place
        return place if 0x3400 <= text[place] <= 0x9FFF else 0
    if _is_han_end(char):
        while place < size and _is_han_end(text[place]):
            place += 1
        while place < size and (
            _closes_han(text[place]) or _closes(text[place]) or text[place] == 0x300B
        ):
            place += 1
        return place
    if char == 0x2026:
        if place < size and text[place] == 0x2026:
            place += 1
        while place < size and _closes_han(text[place]):
            place += 1
        return place
    return 0


cdef bint _may_be_protected(
    const Characters *text, Py_ssize_t start, Py_ssize_t stop
) noexcept:
    """Whether a dot needs a closer look: not behind a long word, nor behind what is no letter."""
    cdef Py_ssize_t place = stop - 1
    if stop - start <= NUMBERED:
        return True
    while place >= start and stop - place <= LONG_WORD and _is_letter(text[place]):
        place -= 1
    if stop - 1 - place >= LONG_WORD:
        return False
    return not (
        stop - start > TAIL and text[stop - 1] < 128 and not _is_letter(text[stop - 1])
    )


cdef bint _looks_short(
    str whole, const Characters *text, Py_ssize_t stop, abbreviated
) except -1:
    """Whether the word before a dot ends in an abbreviation or an initial."""
    cdef Py_ssize_t place = stop
    while place > stop - TAIL and not Py_UNICODE_ISSPACE(<Py_UCS4>text[place - 1]):
        place -= 1
    return place < stop and abbreviated[PyUnicode_Substring(whole, place, stop)]


cdef inline bint _is_letter(uint32_t char) noexcept:
    return 97 <= (char | 32) <= 122


cdef int _append(
    list found, str whole, const Characters *text, Py_ssize_t start, Py_ssize_t end, marker, marks
) except -1:
    """Add what stands between two ends, without a list marker, if it says anything."""
    cdef Py_ssize_t place
    place = _after_space(text, start, end)
    if place < end and (
        chr(<long>text[place]) in marks
        or (
            place + 1 < end
            and 97 <= (text[place] | 32) <= 104
            and (text[place + 1] == c"." or text[place + 1] == c")")
        )
    ):
        start += max(0, marker(PyUnicode_Substring(whole, start, end)))
        place = _after_space(text, start, end)
    start = place
    while end > start and Py_UNICODE_ISSPACE(<Py_UCS4>text[end - 1]):
        end -= 1
    for place in range(start, end):
        if Py_UNICODE_ISALNUM(<Py_UCS4>text[place]):
            found.append((PyUnicode_Substring(whole, start, end), start))
            break
    return 0


cdef inline Py_ssize_t _after_space(
    const Characters *text, Py_ssize_t place, Py_ssize_t end
) noexcept:
    while place < end and Py_UNICODE_ISSPACE(<Py_UCS4>text[place]):
        place += 1
    return place


def letters_apart(str text not None):
    """Whether two letters stand alone, one after the other: ` [a-z] +[a-z] `."""
    cdef void *data = PyUnicode_DATA(text)
    cdef int width = PyUnicode_KIND(text)
    if width == 1:
        return _letters_apart(<uint8_t *>data, len(text))
    if width == 2:
        return _letters_apart(<uint16_t *>data, len(text))
    return _letters_apart(<uint32_t *>data, len(text))


cdef bint _letters_apart(const Characters *text, Py_ssize_t size) noexcept:
    cdef Py_ssize_t place = 0, after
    while place + 4 < size:
        if text[place + 2] != c" ":
            place += 1 if text[place + 1] == c" " else 3
            continue
        if text[place] == c" " and 97 <= text[place + 1] <= 122:
            after = place + 3
            while after < size and text[after] == c" ":
                after += 1
            if after + 1 < size and 97 <= text[after] <= 122 and text[after + 1] == c" ":
                return True
        place += 1
    return False


def digit_runs(str text not None):
    r"""Where each run of decimal digits of any script begins and ends: `\d+`."""
    cdef void *data = PyUnicode_DATA(text)
    cdef int width = PyUnicode_KIND(text)
    if width == 1:
        return _digit_runs(<uint8_t *>data, len(text))
    if width == 2:
        return _digit_runs(<uint16_t *>data, len(text))
    return _digit_runs(<uint32_t *>data, len(text))


cdef list _digit_runs(const Characters *text, Py_ssize_t size):
    cdef Py_ssize_t place = 0, start
    cdef list found = []
    while place < size:
        if _is_decimal(text[place]):
            start = place
            while place < size and _is_decimal(text[place]):
                place += 1
            found.append((start, place))
        place += 1
    return found


cdef inline bint _is_decimal(uint32_t char) noexcept:
    if char <= 0xFF:
        return 48 <= char <= 57
    # Looked up in a table, but for Han characters, of which none is.
    return not 0x3000 <= char <= 0x9FFF and Py_UNICODE_ISDECIMAL(<Py_UCS4>char)


cdef inline bint _is_digit(uint32_t char) noexcept:
    if char < 0x80:
        return 48 <= char <= 57
    return not 0x3000 <= char <= 0x9FFF and Py_UNICODE_ISDIGIT(<Py_UCS4>char)


def holds_digit(str text not None):
    """Whether a character of a text `isdigit`: every decimal one does, and signs such as ❶."""
    cdef void *data = PyUnicode_DATA(text)
    cdef int width = PyUnicode_KIND(text)
    if width == 1:
        return _holds_digit(<uint8_t *>data, len(text))
    if width == 2:
        return _holds_digit(<uint16_t *>data, len(text))
    return _holds_digit(<uint32_t *>data, len(text))


cdef bint _holds_digit(const Characters *text, Py_ssize_t size) noexcept:
    cdef Py_ssize_t place
    for place in range(size):
        if _is_digit(text[place]):
            return True
    return False


cdef class Hints:
    """See `hints.PlainHints`. Reads a text once, whatever the number of hints."""

    cdef uint32_t *_characters  # of all hints, one after the other
    cdef int32_t *_ends         # where each ends there
    cdef int32_t _firsts[257]   # by the low byte of what a hint begins with, the first such hint

    def __cinit__(self, hints):
        cdef list ordered = sorted(hints, key=_bucket)
        cdef str hint
        cdef Py_ssize_t number = 0, bucket, size = 0
        self._characters = <uint32_t *>PyMem_Malloc(sum(map(len, ordered)) * sizeof(uint32_t) + 1)
        self._ends = <int32_t *>PyMem_Malloc(len(ordered) * sizeof(int32_t) + 1)
        if not (self._characters and self._ends):
            raise MemoryError
        for bucket in range(256):
            self._firsts[bucket] = number
            while number < len(ordered) and _bucket(ordered[number]) == bucket:
                hint = ordered[number]
                for char in hint:
                    self._characters[size] = ord(char)
                    size += 1
                self._ends[number] = size
                number += 1
        self._firsts[256] = number

    def __dealloc__(self):
        PyMem_Free(self._characters)
        PyMem_Free(self._ends)

    def found(self, str text not None):
        """Whether any hint stands in a text."""
        cdef void *data = PyUnicode_DATA(text)
        cdef int width = PyUnicode_KIND(text)
        if width == 1:
            return self._found(<uint8_t *>data, len(text))
        if width == 2:
            return self._found(<uint16_t *>data, len(text))
        return self._found(<uint32_t *>data, len(text))

    cdef bint _found(self, const Characters *text, Py_ssize_t size) noexcept:
        cdef Py_ssize_t place, step, length
        cdef int32_t number, bucket
        cdef const uint32_t *hint
        for place in range(size):
            bucket = text[place] & 0xFF
            for number in range(self._firsts[bucket], self._firsts[bucket + 1]):
                step = self._ends[number - 1] if number else 0
                hint = self._characters + step
                length = self._ends[number] - step
                if length > size - place:
                    continue
                step = 0
                while step < length and text[place + step] == hint[step]:
                    step += 1
                if step == length:
                    return True
        return False


def _bucket(str hint not None):
    """By what hints are told apart first."""
    if not hint:
        raise ValueError("an empty hint stands in every text")
    return ord(hint[0]) & 0xFF

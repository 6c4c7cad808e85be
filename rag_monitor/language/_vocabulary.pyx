# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: annotation_typing=False
"""Each word to a number of its own, read from folded text in one pass over its characters.

What `vocabulary.PlainVocabulary` does with patterns, fifteen times as fast. The interpreter's lock
is held throughout; only `reduce`, called for a word as it is first written, may let others in,
and nothing that points into the table is held across that call.
"""

from os import urandom

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport PyObject
from cpython.set cimport PySet_Add
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_KIND, PyUnicode_Substring
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

INTERFACE = 3  # see `compiled.INTERFACE`

cdef extern from "Python.h":
    object PyFrozenSet_New(PyObject *iterable)  # NULL for an empty one, which may be filled
    bint Py_UNICODE_ISALNUM(Py_UCS4)
    bint Py_UNICODE_ISDECIMAL(Py_UCS4)

cdef enum:
    FIRST_HAN = 0x3400
    LAST_HAN = 0x9FFF
    LONGEST = 48  # a longer word is worked out anew each time
    LETTERS = 16  # of a word, on average, that take the room of one word
    FARTHEST = 32  # slots from its own that a word is kept in, and looked for
    PAIR_BITS = 15  # of the number of pairs of Han characters that are kept as strings

# Secret, or whoever knows them could write words that are all kept in one place.
cdef uint64_t SEED, FACTOR
SEED, FACTOR = (int.from_bytes(urandom(8), "little") | 1 for _ in range(2))

cdef enum:  # what a character is to the patterns of `vocabulary`
    OTHER = 0
    SMALL = 1
    DIGIT = 2
    LETTER = 3
    HAN = 4
    BREAK = 5

cdef uint8_t ASCII[128]
cdef int _point
for _point in range(128):
    if 97 <= _point <= 122:
        ASCII[_point] = SMALL
    elif 48 <= _point <= 57:
        ASCII[_point] = DIGIT
    elif 65 <= _point <= 90:
        ASCII[_point] = LETTER
    else:
        ASCII[_point] = OTHER
ASCII[0] = BREAK


ctypedef fused Characters:  # as a string holds them, by its widest one
    uint8_t
    uint16_t
    uint32_t


cdef inline int _kind(uint32_t char) noexcept:
    """What a character is to the patterns of `vocabulary`."""
    if char < 128:
        return ASCII[char]
    if FIRST_HAN <= char <= LAST_HAN:
        return HAN
    if Py_UNICODE_ISDECIMAL(<Py_UCS4>char):
        return DIGIT
    return LETTER if Py_UNICODE_ISALNUM(<Py_UCS4>char) else OTHER


cdef struct Entry:
    uint32_t hash
    int32_t begin    # of its letters, as its string held them
    uint16_t length
    uint16_t width   # bytes of each of them
    int32_t number


cdef class Vocabulary:
    """As `vocabulary.PlainVocabulary`, whose docstrings hold here, too."""

    cdef readonly list words
    cdef readonly object generation
    cdef readonly dict index
    cdef dict _marks
    cdef object _reduce
    cdef int32_t _grammar
    cdef int32_t _han[LAST_HAN - FIRST_HAN + 1]
    cdef uint64_t _pair_keys[1 << PAIR_BITS]
    cdef list _pairs
    cdef Entry *_entries
    cdef int32_t *_slots
    cdef uint8_t *_letters
    cdef Py_ssize_t _filled, _room, _used, _space, _mask, _characters

    def __cinit__(self, reduce, first, generation):
        self._reduce = reduce
        self.generation = generation
        self.words = list(first)
        self._marks = {}
        self.index = {word: number for number, word in enumerate(self.words)}
        self._grammar = len(self.words) - 1
        memset(self._han, 0xFF, sizeof(self._han))
        memset(self._pair_keys, 0, sizeof(self._pair_keys))
        self._pairs = [""] * (1 << PAIR_BITS)
        self._filled = self._used = self._characters = 0
        self._room, self._space, self._mask = 4096, 32768, 8191
        self._entries = <Entry *>PyMem_Malloc(self._room * sizeof(Entry))
        self._letters = <uint8_t *>PyMem_Malloc(self._space)
        self._slots = <int32_t *>PyMem_Malloc((self._mask + 1) * sizeof(int32_t))
        if not (self._entries and self._letters and self._slots):
            raise MemoryError
        memset(self._slots, 0xFF, (self._mask + 1) * sizeof(int32_t))

    def __dealloc__(self):
        PyMem_Free(self._entries)
        PyMem_Free(self._slots)
        PyMem_Free(self._letters)

    @property
    def size(self):
        """How much it holds, in words."""
        return max(len(self.words), self._filled, self._characters // LETTERS)

    def number(self, str word not None):
        """The number of a reduced word, given now if it has none."""
        return self._number(word)

    def numbers(self, str folded not None):
        """The numbers of the words of folded text, in order, as packed 32-bit integers."""
        cdef Py_ssize_t size = len(folded)
        cdef int32_t *found = <int32_t *>PyMem_Malloc((size + 1) * sizeof(int32_t))
        if not found:
            raise MemoryError
        try:
            size = self._read(folded, found)
            return PyBytes_FromStringAndSize(<char *>found, size * sizeof(int32_t))
        finally:
            PyMem_Free(found)

    def tokens(self, str folded not None):
        """The reduced words of folded text, in order."""
        cdef Py_ssize_t size = len(folded), place
        cdef list words = self.words
        cdef int32_t small[256]
        cdef int32_t *found = small
        if size > 256:
            found = <int32_t *>PyMem_Malloc(size * sizeof(int32_t))
            if not found:
                raise MemoryError
        try:
            size = self._read(folded, found)
            return [words[found[place]] for place in range(size)]
        finally:
            if found != small:
                PyMem_Free(found)

    def terms(self, str folded not None):
        """The words of folded text that have a meaning, and its pairs of Han characters."""
        cdef Py_ssize_t size = len(folded), place
        cdef int32_t small[256]
        cdef int32_t *read = small
        cdef int32_t number, before = 0
        cdef str word
        cdef bint after_han = False
        found = PyFrozenSet_New(NULL)
        if size > 256:
            read = <int32_t *>PyMem_Malloc(size * sizeof(int32_t))
            if not read:
                raise MemoryError
        try:
            size = self._read(folded, read)
            for place in range(size):
                number = read[place]
                word = self.words[number]
                if not 0 < number <= self._grammar:
                    PySet_Add(found, word)
                if not (len(word) == 1 and FIRST_HAN <= word[0] <= LAST_HAN):
                    after_han = False
                    continue
                if after_han and (before > self._grammar or number > self._grammar):
                    PySet_Add(found, self._pair(before, number))
                before, after_han = number, True
            return found
        finally:
            if read != small:
                PyMem_Free(read)

    cdef str _pair(self, int32_t first, int32_t second):
        """Two Han characters, by their numbers, as one term."""
        cdef uint64_t key = <uint64_t>first << 32 | <uint32_t>second
        cdef Py_ssize_t slot = key * FACTOR >> (64 - PAIR_BITS)
        cdef str pair
        if self._pair_keys[slot] != key:
            # In the place of another: what recurs is found as it was, whose hash is known.
            pair = <str>self.words[first] + <str>self.words[second]
            self._pairs[slot] = pair
            self._pair_keys[slot] = key
        return <str>self._pairs[slot]

    def distinct(self, bytes numbers not None):
        """The reduced words of numbers, each once."""
        cdef const int32_t *read = <const int32_t *>PyBytes_AS_STRING(numbers)
        cdef Py_ssize_t place
        cdef list words = self.words
        found = PyFrozenSet_New(NULL)
        for place in range(PyBytes_GET_SIZE(numbers) // <Py_ssize_t>sizeof(int32_t)):
            if not 0 <= read[place] < len(words):
                raise ValueError("numbers of another vocabulary")
            PySet_Add(found, <str>words[read[place]])
        return found

    def sentences(self, list folded not None):
        """The numbers of the words of several texts, packed, and how many each has."""
        cdef Py_ssize_t size = 0, done = 0, read
        cdef str text
        cdef list lengths = []
        folded = list(folded)  # nobody may change it while words are reduced
        for text in folded:
            size += len(text)
        cdef int32_t *found = <int32_t *>PyMem_Malloc((size + 1) * sizeof(int32_t))
        if not found:
            raise MemoryError
        try:
            for text in folded:
                read = self._read(text, found + done)
                lengths.append(read)
                done += read
            return PyBytes_FromStringAndSize(<char *>found, done * sizeof(int32_t)), lengths
        finally:
            PyMem_Free(found)

    def holders(self, wanted, bytes numbers not None, list lengths not None):
        """Which of several texts hold one of the `wanted` reduced words."""
        cdef bytes marks = self._marks.get(wanted)
        if marks is None:
            marks = self._mark(wanted)
        cdef const uint8_t *marked = <const uint8_t *>PyBytes_AS_STRING(marks)
        cdef int32_t highest = <int32_t>PyBytes_GET_SIZE(marks)
        cdef const int32_t *words = <const int32_t *>PyBytes_AS_STRING(numbers)
        cdef Py_ssize_t text, place = 0, end = 0
        cdef list found = []
        if sum(lengths) * <Py_ssize_t>sizeof(int32_t) > PyBytes_GET_SIZE(numbers):
            raise ValueError("the texts have more words than numbers")
        for text in range(len(lengths)):
            end += <Py_ssize_t>lengths[text]
            while place < end:
                if words[place] < highest and marked[words[place]]:
                    found.append(text)
                    place = end
                    break
                place += 1
        return found

    cdef bytes _mark(self, wanted):
        """Note of each number whether its word is wanted; later words are not."""
        cdef list places = [self._number(word) for word in wanted]
        marks = bytearray(max(places, default=-1) + 1)
        for place in places:
            marks[place] = 1
        self._marks[wanted] = bytes(marks)
        return self._marks[wanted]

    cdef int32_t _number(self, str word) except -1:
        number = self.index.get(word)
        if number is None:
            number = len(self.words)
            self.words.append(word)
            self.index[word] = number
            self._characters += len(word)
        return number

    cdef Py_ssize_t _read(self, str text, int32_t *found) except -1:
        """Write the number of every word of `text` to `found`, which has room for one a letter."""
        cdef void *data = PyUnicode_DATA(text)
        cdef int width = PyUnicode_KIND(text)
        if width == 1:
            return self._scan(text, <uint8_t *>data, len(text), found)
        if width == 2:
            return self._scan(text, <uint16_t *>data, len(text), found)
        return self._scan(text, <uint32_t *>data, len(text), found)

    cdef Py_ssize_t _scan(
        self, str whole, const Characters *text, Py_ssize_t size, int32_t *found
    ) except -1:
        cdef Py_ssize_t place = 0, start, count = 0
        cdef uint64_t hash
        cdef int kind
        while place < size:
            kind = _kind(text[place])
            if kind == OTHER:
                place += 1
                continue
            start = place
            place += 1
            if kind == SMALL:
                hash = _next(SEED, text[start])
                while place < size and _kind(text[place]) == SMALL:
                    hash = _next(hash, text[place])
                    place += 1
                if (
                    place + 1 < size
                    and text[place] == c"'"
                    and _kind(text[place + 1]) == SMALL
                ):
                    hash = _next(hash, text[place])
                    place += 1
                    while place < size and _kind(text[place]) == SMALL:
                        hash = _next(hash, text[place])
                        place += 1
                found[count] = self._written(whole, text, start, place, hash)
            elif kind == HAN:
                found[count] = self._han_number(text[start])
            elif kind == BREAK:
                found[count] = self._number("\0")
            else:
                if kind == DIGIT:
                    place = _after_number(text, place, size)
                else:
                    while place < size and _kind(text[place]) in (LETTER, SMALL):
                        place += 1
                found[count] = self._written(
                    whole, text, start, place, _hashed(text, start, place)
                )
            count += 1
        return count

    cdef int32_t _han_number(self, uint32_t char) except -1:
        cdef int32_t number = self._han[char - FIRST_HAN]
        if number < 0:
            number = self._han[char - FIRST_HAN] = self._number(chr(<long>char))
        return number

    cdef int32_t _written(
        self, str whole, const Characters *text, Py_ssize_t start, Py_ssize_t end, uint64_t mixed
    ) except -1:
        """The number of the word that is written `whole[start:end]`."""
        cdef uint32_t hash = <uint32_t>(mixed >> 32)
        cdef Py_ssize_t length = end - start, slot = hash & self._mask, tried = 0
        cdef Entry *entry
        while tried < FARTHEST and self._slots[slot] >= 0:
            tried += 1
            entry = &self._entries[self._slots[slot]]
            if (
                entry.hash == hash
                and entry.length == length
                and entry.width == sizeof(text[0])
                and not memcmp(
                    self._letters + entry.begin, text + start, length * sizeof(text[0])
                )
            ):
                return entry.number
            slot = (slot + 1) & self._mask
        cdef int32_t number = self._number(self._reduce(PyUnicode_Substring(whole, start, end)))
        if length <= LONGEST and tried < FARTHEST:
            self._remember(<const uint8_t *>(text + start), length, sizeof(text[0]), hash, number)
        return number

    cdef int _remember(
        self, const uint8_t *letters, Py_ssize_t length, int width, uint32_t hash, int32_t number
    ) except -1:
        """Note a word for the next time it is written so; once or twice, it does not matter."""
        cdef Py_ssize_t slot
        self._make_room(length * width)
        cdef Entry *entry = &self._entries[self._filled]
        entry.hash, entry.begin, entry.number = hash, self._used, number
        entry.length, entry.width = length, width
        memcpy(self._letters + self._used, letters, length * width)
        slot = hash & self._mask
        while self._slots[slot] >= 0:
            slot = (slot + 1) & self._mask
        self._slots[slot] = self._filled
        self._filled += 1
        self._used += length * width
        return 0

    cdef int _make_room(self, Py_ssize_t size) except -1:
        """Grow what another word does not fit into; half of the slots stay empty."""
        cdef void *grown
        cdef Py_ssize_t place, slot
        if self._used + size > self._space:
            grown = PyMem_Realloc(self._letters, 2 * self._space)
            if not grown:
                raise MemoryError
            self._letters = <uint8_t *>grown
            self._space *= 2
        if self._filled == self._room:
            grown = PyMem_Realloc(self._entries, 2 * self._room * sizeof(Entry))
            if not grown:
                raise MemoryError
            self._entries = <Entry *>grown
            grown = PyMem_Malloc(2 * (self._mask + 1) * sizeof(int32_t))
            if not grown:
                raise MemoryError
            PyMem_Free(self._slots)
            self._slots = <int32_t *>grown
            self._room *= 2
            self._mask = 2 * self._mask + 1
            memset(self._slots, 0xFF, (self._mask + 1) * sizeof(int32_t))
            for place in range(self._filled):
                slot = self._entries[place].hash & self._mask
                while self._slots[slot] >= 0:
                    slot = (slot + 1) & self._mask
                self._slots[slot] = place
        return 0


cdef inline uint64_t _next(uint64_t hash, uint32_t char) noexcept:
    """The hash of a word with one more character."""
    return (hash ^ char ^ (hash >> 29)) * FACTOR


cdef uint64_t _hashed(const Characters *text, Py_ssize_t start, Py_ssize_t end) noexcept:
    cdef uint64_t hash = SEED
    cdef Py_ssize_t place
    for place in range(start, end):
        hash = _next(hash, text[place])
    return hash


cdef inline bint _is_digit(const Characters *text, Py_ssize_t place, Py_ssize_t size) noexcept:
    return place < size and _kind(text[place]) == DIGIT


cdef Py_ssize_t _after_number(
    const Characters *text, Py_ssize_t place, Py_ssize_t size
) noexcept:
    r"""The end of `\d+(?:,\d{3})*(?:\.\d+)?`, `place` behind its first digit."""
    while _is_digit(text, place, size):
        place += 1
    while (
        place < size
        and text[place] == c","
        and _is_digit(text, place + 1, size)
        and _is_digit(text, place + 2, size)
        and _is_digit(text, place + 3, size)
    ):
        place += 4
    if place < size and text[place] == c"." and _is_digit(text, place + 1, size):
        place += 2
        while _is_digit(text, place, size):
            place += 1
    return place

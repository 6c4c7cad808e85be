# Memory and tables of numbers, part of `_matching`.

# Secret, or whoever knows it could write words and pairs that are all kept in one place.
cdef uint64_t FACTOR = int.from_bytes(urandom(8), "little") | 1


cdef enum:
    ROOMS = 32

cdef class Rooms:
    """Memory, empty at first, that lives as long as this object."""

    cdef void *_taken[ROOMS]
    cdef int _count

    def __dealloc__(self):
        cdef int place
        for place in range(self._count):
            PyMem_Free(self._taken[place])

    cdef void *take(self, Py_ssize_t count, size_t size) except NULL:
        if self._count == ROOMS:
            raise MemoryError
        cdef void *room = PyMem_Calloc(max(1, count), size)
        if not room:
            raise MemoryError
        self._taken[self._count] = room
        self._count += 1
        return room


cdef struct Entry:
    uint64_t key  # 0 of an empty one
    int32_t value


cdef struct Table:
    Entry *entries
    Py_ssize_t mask


cdef int _open(Table *table, Rooms rooms, Py_ssize_t entries) except -1:
    """A table for so many entries."""
    cdef Py_ssize_t size = 16
    while size < 2 * entries:
        size *= 2
    table.mask = size - 1
    table.entries = <Entry *>rooms.take(size, sizeof(Entry))
    return 0


cdef inline Py_ssize_t _slot(const Table *table, uint64_t key) noexcept nogil:
    """Where a key is, or would be."""
    cdef Py_ssize_t slot = ((key * FACTOR) >> 32) & table.mask
    while table.entries[slot].key and table.entries[slot].key != key:
        slot = (slot + 1) & table.mask
    return slot


cdef inline int32_t _keep(Table *table, uint64_t key) noexcept nogil:
    """Put a key into a table; where it is, from 1."""
    cdef Py_ssize_t slot = _slot(table, key)
    table.entries[slot].key = key
    return <int32_t>(slot + 1)


cdef enum:
    MOST = 1 << 24  # words of a vocabulary, by far

cdef int32_t *_places = NULL
"""Per number of a vocabulary its place among the words at hand, from 1; 0 between two calls."""
cdef Py_ssize_t _places_size = 0


cdef int _reach(Py_ssize_t size) except -1:
    """Make `_places` hold `size` numbers."""
    global _places, _places_size
    if size <= _places_size:
        return 0
    if size > MOST:
        raise ValueError("a number that no vocabulary gives")
    cdef void *grown = PyMem_Realloc(_places, 2 * size * sizeof(int32_t))
    if not grown:
        raise MemoryError
    _places = <int32_t *>grown
    memset(_places + _places_size, 0, (2 * size - _places_size) * sizeof(int32_t))
    _places_size = 2 * size
    return 0

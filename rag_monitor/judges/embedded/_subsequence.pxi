# How many words two texts have in common in their order, part of `_matching`.

def lcs_length(bytes pattern, bytes text):
    """See `plain_matching.lcs_length`."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(pattern) // <Py_ssize_t>sizeof(int32_t)
    cdef Py_ssize_t other = PyBytes_GET_SIZE(text) // <Py_ssize_t>sizeof(int32_t)
    cdef int32_t *own = <int32_t *>PyBytes_AS_STRING(pattern)
    cdef int32_t *words = <int32_t *>PyBytes_AS_STRING(text)
    cdef Py_ssize_t blocks = (size + 63) // 64, place
    cdef int32_t lowest = 0, highest = 0
    cdef Rooms rooms = Rooms()
    if not size or not other:
        return 0
    for place in range(size):
        lowest, highest = min(lowest, own[place]), max(highest, own[place])
    for place in range(other):
        lowest, highest = min(lowest, words[place]), max(highest, words[place])
    if lowest < 0:
        raise ValueError("a text has a negative number")
    _reach(<Py_ssize_t>highest + 1)
    cdef uint64_t *masks = <uint64_t *>rooms.take((size + 1) * blocks, sizeof(uint64_t))
    cdef uint64_t *row = <uint64_t *>rooms.take(blocks, sizeof(uint64_t))
    return _common(own, size, words, other, masks, row, blocks)


cdef Py_ssize_t _common(
    const int32_t *own, Py_ssize_t size, const int32_t *words, Py_ssize_t other, uint64_t *masks,
    uint64_t *row, Py_ssize_t blocks,
) noexcept nogil:
    """The length by Hyyrö's bit-parallel rows, 64 places of the pattern in each block."""
    cdef Py_ssize_t place, block, length = size
    cdef int32_t distinct = 0, here
    cdef uint64_t matched, total, carry
    for place in range(size):
        if not _places[own[place]]:
            distinct += 1
            _places[own[place]] = distinct
        masks[_places[own[place]] * blocks + place // 64] |= (<uint64_t>1) << (place % 64)
    memset(row, 0xFF, blocks * sizeof(uint64_t))
    for place in range(other):
        here = _places[words[place]]
        if not here:
            continue
        carry = 0
        for block in range(blocks):
            matched = row[block] & masks[here * blocks + block]
            total = row[block] + carry
            carry = total < carry
            total += matched
            carry |= total < matched
            row[block] = total | (row[block] & ~matched)
    for place in range(size):
        _places[own[place]] = 0
        if row[place // 64] >> (place % 64) & 1:
            length -= 1
    return length

# What terms weigh, part of `_matching`.

cdef enum:
    PAIR_BITS = 15  # of the number of pairs that are kept


cdef class Weighed:
    """The terms of one vocabulary with what each weighs, so that most need not be looked up.

    That is a walk through memory that no processor keeps at hand; here it is one place a term.
    Of pairs, those that were met last are kept.
    """

    cdef list words
    cdef object weights
    cdef double *_words  # by number; below 0 what was not met
    cdef Py_ssize_t _size
    cdef uint64_t _keys[1 << PAIR_BITS]
    cdef double _pairs[1 << PAIR_BITS]
    cdef list _terms

    def __cinit__(self, list words, weights):
        self.words, self.weights = words, weights
        self._terms = [""] * (1 << PAIR_BITS)
        memset(self._keys, 0, sizeof(self._keys))

    def __dealloc__(self):
        PyMem_Free(self._words)

    cdef double word(self, Py_ssize_t number, str word) except? -1:
        """What a word weighs."""
        cdef Py_ssize_t size, place
        cdef void *grown
        if number >= self._size:
            size = 2 * number + 1024
            grown = PyMem_Realloc(self._words, size * sizeof(double))
            if not grown:
                raise MemoryError
            self._words = <double *>grown
            for place in range(self._size, size):
                self._words[place] = -1
            self._size = size
        cdef double found = self._words[number]
        if found < 0:
            found = self.weights[word]  # which may let other threads in
            self._words[number] = found
        return found

    cdef double pair(self, list words, uint64_t first, uint64_t second, list terms) except? -1:
        """What a pair weighs; it becomes the last of `terms`."""
        cdef uint64_t key = first << 32 | second
        cdef Py_ssize_t slot = key * FACTOR >> (64 - PAIR_BITS)
        cdef double found
        if self._keys[slot] == key:
            terms.append(self._terms[slot])
            return self._pairs[slot]
        term = <str>words[first] + <str>words[second]
        found = self.weights[term]
        self._keys[slot], self._pairs[slot], self._terms[slot] = key, found, term
        terms.append(term)
        return found


cdef Weighed _weighed = None


cdef Weighed _weigh(list words, weights):
    """What the terms of the vocabulary of these words weigh; of one vocabulary at a time."""
    global _weighed
    if _weighed is None or _weighed.words is not words or _weighed.weights is not weights:
        _weighed = Weighed(words, weights)
    return _weighed

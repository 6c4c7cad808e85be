# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: annotation_typing=False
"""All statements of an answer against all sentences of the passages, in one pass over their words.

What `plain_matching` does with numpy, ten times as fast. Whatever may run Python comes first; from
`_index` on nothing does, for what each word is to the answer is noted in one table of the process.
"""

from os import urandom

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Realloc
from cpython.ref cimport PyObject
from cpython.set cimport PySet_Add
from libc.math cimport rint
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memchr, memset

INTERFACE = 3  # see `compiled.INTERFACE`

cdef extern from "Python.h":
    object PyFrozenSet_New(PyObject *iterable)  # NULL for an empty one, which may be filled

include "_tables.pxi"
include "_weighed.pxi"
include "_subsequence.pxi"

cdef struct Answer:
    int32_t *said           # the numbers of all statements, one after the other
    int32_t highest         # of them
    int32_t *said_ends      # where each statement ends there
    Py_ssize_t claims
    Py_ssize_t rows         # terms
    int32_t grammar         # numbers up to this have no meaning of their own
    int32_t *rows_of        # the rows of each statement, one statement after the other
    int32_t *row_ends       # where each statement ends there
    int32_t *owners         # the statements of each row, one row after the other
    int32_t *owner_ends     # where each row ends there
    double *weights         # per row
    uint8_t *asked          # per row whether the question gave the term
    int32_t *firsts         # per row the number of the word, or of the first of a pair
    int32_t *seconds        # per row the number of the second of a pair, else -1
    int32_t *row_of         # per place of a word its row, from 1
    uint64_t base           # places are below it
    Table pairs             # pairs of words that are a term, to their row from 1


cdef struct Passages:
    int32_t *words
    int32_t highest         # of their numbers
    int32_t *lengths        # of the sentences
    int32_t *ends           # the number of the first sentence of the next passage
    Py_ssize_t sentences
    Py_ssize_t count
    uint8_t *held           # per row and passage whether the one stands in the other
    double *scores          # per sentence and statement the weight that they share


def compare(
    list claims, list passages, vocabulary, int grammar, weights, asked, scoring
):
    """See `plain_matching.compare`."""
    cdef double given, length_costs, never_longer, alike
    given, length_costs, never_longer, alike = scoring
    cdef Rooms rooms = Rooms()
    cdef Answer answer
    cdef Passages known
    cdef list all_terms = _gather(
        &answer, rooms, claims, vocabulary, grammar, weights, asked, given
    )
    _lay_out(&known, rooms, passages, &answer)
    _reach(<Py_ssize_t>max(answer.highest, known.highest) + 1)
    cdef int32_t *last = <int32_t *>rooms.take(answer.rows, sizeof(int32_t))
    cdef double *gains = <double *>rooms.take(known.count, sizeof(double))
    cdef Py_ssize_t claim
    _index(&answer)
    _scan(&answer, &known, last)
    _forget(&answer)
    held = (<char *>known.held)[: answer.rows * known.count]
    return all_terms, held, [
        _found(&answer, &known, claim, all_terms, gains, length_costs, never_longer, alike)
        for claim in range(answer.claims)
    ]


cdef list _gather(
    Answer *answer, Rooms rooms, list claims, vocabulary, int grammar, weights, asked, double given
):
    """Number the terms of the statements and look up what each weighs; this may run Python."""
    cdef list words = vocabulary.words
    cdef Weighed weighed = _weigh(words, weights)
    cdef list found = []
    cdef str term
    cdef double worth
    cdef bytes numbers
    cdef Py_ssize_t claim, place, row, size, total = 0
    cdef int32_t lowest = 0
    for numbers in claims:
        total += PyBytes_GET_SIZE(numbers) // <Py_ssize_t>sizeof(int32_t)
    answer.claims, answer.grammar = len(claims), grammar
    answer.highest = 0
    answer.said = <int32_t *>rooms.take(total, sizeof(int32_t))
    answer.said_ends = <int32_t *>rooms.take(answer.claims, sizeof(int32_t))
    total = 0
    for claim in range(answer.claims):
        numbers = claims[claim]
        size = PyBytes_GET_SIZE(numbers) // <Py_ssize_t>sizeof(int32_t)
        for place in range(size):
            answer.said[total + place] = (<int32_t *>PyBytes_AS_STRING(numbers))[place]
            lowest = min(lowest, answer.said[total + place])
            answer.highest = max(answer.highest, answer.said[total + place])
        total += size
        answer.said_ends[claim] = total
    if total and not 0 <= lowest <= answer.highest < len(words):
        raise ValueError("a statement has numbers of another vocabulary")
    answer.row_of = <int32_t *>rooms.take(total + 1, sizeof(int32_t))
    answer.firsts = <int32_t *>rooms.take(2 * total, sizeof(int32_t))
    answer.seconds = <int32_t *>rooms.take(2 * total, sizeof(int32_t))
    cdef uint8_t *han = <uint8_t *>rooms.take(total, 1)
    for place in range(total):
        han[place] = _is_han(words[answer.said[place]])
    _number_terms(answer, rooms, total, han)
    _open(&answer.pairs, rooms, answer.rows)
    answer.weights = <double *>rooms.take(answer.rows, sizeof(double))
    answer.asked = <uint8_t *>rooms.take(answer.rows, 1)
    for row in range(answer.rows):
        if answer.seconds[row] < 0:
            term = <str>words[answer.firsts[row]]
            found.append(term)
            worth = weighed.word(answer.firsts[row], term)
        else:
            worth = weighed.pair(words, answer.firsts[row], answer.seconds[row], found)
            term = <str>found[row]
        answer.asked[row] = term in asked
        answer.weights[row] = worth * (given if answer.asked[row] else 1.0)
    return found


cdef inline bint _is_han(str word) noexcept:
    return len(word) == 1 and 0x3400 <= word[0] <= 0x9FFF


cdef int _number_terms(
    Answer *answer, Rooms rooms, Py_ssize_t total, const uint8_t *han
) except -1:
    """Give each term of the statements a row, and note which statements hold it.

    Words with a meaning are terms, and pairs of Han characters that are not both grammar.
    """
    cdef Table rows
    cdef Py_ssize_t claim, place = 0, used = 0, row
    cdef int32_t first, second
    cdef int32_t *noted = <int32_t *>rooms.take(2 * total, sizeof(int32_t))
    cdef int32_t *holders = <int32_t *>rooms.take(2 * total, sizeof(int32_t))
    answer.rows_of = <int32_t *>rooms.take(2 * total, sizeof(int32_t))
    answer.row_ends = <int32_t *>rooms.take(answer.claims, sizeof(int32_t))
    _open(&rows, rooms, 2 * total)
    answer.rows = 0
    for claim in range(answer.claims):
        first = -1
        while place < answer.said_ends[claim]:
            second = answer.said[place]
            if not 0 < second <= answer.grammar:
                used = _note(answer, _row(answer, &rows, second, -1), noted, claim, used)
            if not han[place]:
                second = -1
            elif first >= 0 and (first > answer.grammar or second > answer.grammar):
                used = _note(answer, _row(answer, &rows, first, second), noted, claim, used)
            first = second
            place += 1
        answer.row_ends[claim] = <int32_t>used
    answer.owners = <int32_t *>rooms.take(used, sizeof(int32_t))
    answer.owner_ends = <int32_t *>rooms.take(answer.rows, sizeof(int32_t))
    for place in range(used):
        holders[answer.rows_of[place]] += 1
    used = 0
    for row in range(answer.rows):
        used += holders[row]
        answer.owner_ends[row] = <int32_t>used
    place = 0
    for claim in range(answer.claims):
        while place < answer.row_ends[claim]:
            row = answer.rows_of[place]
            answer.owners[answer.owner_ends[row] - holders[row]] = <int32_t>claim
            holders[row] -= 1
            place += 1
    return 0


cdef inline int32_t _row(Answer *answer, Table *rows, int32_t first, int32_t second) noexcept:
    """The row of a word, or of a pair; a new one for what has none."""
    cdef uint64_t key = <uint64_t>first + 1
    if second >= 0:
        key = key << 32 | <uint64_t>(second + 1)
    cdef Py_ssize_t slot = _keep(rows, key) - 1
    if not rows.entries[slot].value:
        answer.firsts[answer.rows], answer.seconds[answer.rows] = first, second
        answer.rows += 1
        rows.entries[slot].value = <int32_t>answer.rows
    return rows.entries[slot].value - 1


cdef inline Py_ssize_t _note(
    Answer *answer, int32_t row, int32_t *noted, Py_ssize_t claim, Py_ssize_t used
) noexcept:
    """Add a row to those of a statement, once; how many are noted of all statements."""
    if noted[row] == claim + 1:
        return used
    noted[row] = <int32_t>(claim + 1)
    answer.rows_of[used] = row
    return used + 1


cdef int _lay_out(Passages *known, Rooms rooms, list passages, const Answer *answer) except -1:
    """Put the words of all passages in one row."""
    cdef bytes words
    cdef list lengths
    cdef Py_ssize_t place, size, words_done = 0, sentence = 0
    known.count = len(passages)
    known.sentences = known.highest = 0
    for words, lengths in passages:
        words_done += PyBytes_GET_SIZE(words) // <Py_ssize_t>sizeof(int32_t)
        known.sentences += len(lengths)
    known.words = <int32_t *>rooms.take(words_done, sizeof(int32_t))
    known.lengths = <int32_t *>rooms.take(known.sentences, sizeof(int32_t))
    known.ends = <int32_t *>rooms.take(known.count, sizeof(int32_t))
    known.held = <uint8_t *>rooms.take(answer.rows * known.count, 1)
    known.scores = <double *>rooms.take(known.sentences * answer.claims, sizeof(double))
    words_done = 0
    cdef Py_ssize_t passage = 0
    for words, lengths in passages:
        size = PyBytes_GET_SIZE(words) // <Py_ssize_t>sizeof(int32_t)
        for place in range(size):
            known.words[words_done + place] = (<int32_t *>PyBytes_AS_STRING(words))[place]
            if known.words[words_done + place] < 0:
                raise ValueError("a passage has a negative number")
            known.highest = max(known.highest, known.words[words_done + place])
        words_done += size
        for length in lengths:
            known.lengths[sentence] = length
            if known.lengths[sentence] < 0:
                raise ValueError("a sentence of a passage has a negative length")
            size -= known.lengths[sentence]
            sentence += 1
        if size:
            raise ValueError("the sentences of a passage have other words than it")
        known.ends[passage] = sentence
        passage += 1
    return 0


cdef void _index(Answer *answer) noexcept nogil:
    """Give every word of the answer its place, and note which pairs are looked for."""
    cdef Py_ssize_t place, row
    cdef int32_t number, distinct = 0
    cdef uint64_t here
    cdef Py_ssize_t total = answer.said_ends[answer.claims - 1] if answer.claims else 0
    for place in range(total):
        number = answer.said[place]
        if not _places[number]:
            distinct += 1
            _places[number] = distinct
    answer.base = distinct + 1
    for row in range(answer.rows):
        here = _places[answer.firsts[row]]
        if answer.seconds[row] < 0:
            answer.row_of[here] = row + 1
        else:
            here = here * answer.base + _places[answer.seconds[row]]
            answer.pairs.entries[_keep(&answer.pairs, here) - 1].value = row + 1


cdef void _scan(const Answer *answer, Passages *known, int32_t *last) noexcept nogil:
    """Read the passages once; `last` is, per row, the sentence that held it last, from 1."""
    cdef Py_ssize_t passage, sentence = 0, place = 0, end, slot, row
    cdef uint64_t here, before
    for passage in range(known.count):
        while sentence < known.ends[passage]:
            before = 0
            end = place + known.lengths[sentence]
            while place < end:
                here = _places[known.words[place]]
                if here:
                    if answer.row_of[here]:
                        _hold(answer, known, answer.row_of[here] - 1, passage, sentence, last)
                    if before:
                        slot = _slot(&answer.pairs, before * answer.base + here)
                        if answer.pairs.entries[slot].key:
                            row = answer.pairs.entries[slot].value - 1
                            _hold(answer, known, row, passage, sentence, last)
                before = here
                place += 1
            sentence += 1


cdef inline void _hold(
    const Answer *answer, Passages *known, Py_ssize_t row, Py_ssize_t passage, Py_ssize_t sentence,
    int32_t *last,
) noexcept nogil:
    """Count a term for a sentence, once."""
    cdef Py_ssize_t place, claim
    if last[row] == sentence + 1:
        return
    last[row] = sentence + 1
    known.held[row * known.count + passage] = 1
    for place in range(answer.owner_ends[row - 1] if row else 0, answer.owner_ends[row]):
        claim = answer.owners[place]
        known.scores[sentence * answer.claims + claim] += answer.weights[row]


cdef void _forget(const Answer *answer) noexcept nogil:
    cdef Py_ssize_t place, total = answer.said_ends[answer.claims - 1] if answer.claims else 0
    for place in range(total):
        _places[answer.said[place]] = 0


cdef struct Sums:  # of the weights of a statement's terms
    double total
    double own      # of those that the question did not give
    Py_ssize_t unseen  # how many stand in no passage


cdef tuple _found(
    const Answer *answer, const Passages *known, Py_ssize_t claim, list terms, double *gains,
    double length_costs, double never_longer, double alike,
):
    """What was found of one statement, as `Match` takes it."""
    cdef Sums sums = _add_up(answer, known, claim, gains)
    cdef Py_ssize_t passage, place
    cdef Py_ssize_t begin = answer.row_ends[claim - 1] if claim else 0
    unseen = PyFrozenSet_New(NULL)
    for place in range(begin, answer.row_ends[claim] if sums.unseen else begin):
        if not _stands(known, answer.rows_of[place]):
            PySet_Add(unseen, <str>terms[answer.rows_of[place]])
    cdef Py_ssize_t best = _best(answer, known, claim, length_costs, never_longer, alike)
    covered = 0.0
    if best >= 0:
        covered = round(min(1.0, known.scores[best * answer.claims + claim] / sums.total), 9)
    return (
        best if best >= 0 else None, sums.total, covered, sums.own,
        [gains[passage] for passage in range(known.count)],
        unseen,
    )


cdef inline bint _stands(const Passages *known, Py_ssize_t row) noexcept nogil:
    """Whether a term stands in any passage."""
    return memchr(known.held + row * known.count, 1, known.count) != NULL


cdef Sums _add_up(
    const Answer *answer, const Passages *known, Py_ssize_t claim, double *gains
) noexcept nogil:
    """Sum up a statement's terms; `gains` become those of its own that each passage holds."""
    cdef Sums sums = Sums(0, 0, 0)
    cdef Py_ssize_t place, row, passage
    cdef const uint8_t *held
    cdef double weight
    cdef bint seen
    memset(gains, 0, known.count * sizeof(double))
    for place in range(answer.row_ends[claim - 1] if claim else 0, answer.row_ends[claim]):
        row = answer.rows_of[place]
        weight = answer.weights[row]
        held = known.held + row * known.count
        sums.total += weight
        seen = False
        for passage in range(known.count):
            if held[passage]:
                seen = True
                if not answer.asked[row]:
                    gains[passage] += weight
        if not seen:
            sums.unseen += 1
        if not answer.asked[row]:
            sums.own += weight
    return sums


cdef Py_ssize_t _best(
    const Answer *answer, const Passages *known, Py_ssize_t claim, double length_costs,
    double never_longer, double alike,
) noexcept nogil:
    """The sentence that covers most, of equals the shorter, then the first; -1 when none does."""
    cdef double highest = 0, score, worth, most = 0
    cdef Py_ssize_t sentence, best = -1
    for sentence in range(known.sentences):
        highest = max(highest, known.scores[sentence * answer.claims + claim])
    for sentence in range(known.sentences):
        score = known.scores[sentence * answer.claims + claim]
        if score > 0 and score >= highest - never_longer:
            worth = rint((score - length_costs * known.lengths[sentence]) * alike)
            if best < 0 or worth > most:
                best, most = sentence, worth
    return best

"""Which rows take which part, derived from the seed alone: folds, splits and permutations as docs/method.md describes them.

ChaCha with 8 rounds; the key holds the seed, the purpose of the numbers and a row, 64 bits each, little-endian; the nonce is the number of the
split, fold or permutation. Two 32-bit words, low word first, make one 64-bit number.
"""

import math

import numpy as np

SPLIT, SMOOTHING, BOOTSTRAP, DONORS, FOLDS, VALIDATION, RESERVE, PERMUTATION = range(1, 9)
BLOCKS = 64


def chacha8(key, nonce, first, count):
    """`count` blocks from number `first` on, as 64-bit numbers."""
    state = np.zeros((16, count), dtype=np.uint32)
    state[:4] = np.frombuffer(b"expand 32-byte k", dtype="<u4")[:, None]
    state[4:12] = np.frombuffer(key, dtype="<u4")[:, None]
    counter = np.arange(first, first + count, dtype=np.uint64)
    state[12], state[13] = counter & 0xFFFFFFFF, counter >> np.uint64(32)
    state[14:16] = np.frombuffer(nonce.to_bytes(8, "little"), dtype="<u4")[:, None]
    work = state.copy()

    def rotate(x, bits):
        return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))

    def quarter(a, b, c, d):
        for one, other, third, bits in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
            work[one] += work[other]
            work[third] = rotate(work[third] ^ work[one], bits)

    for _ in range(4):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for diagonal in range(4):
            quarter(diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)
    words = (work + state).T.astype(np.uint64)
    return (words[:, 0::2] | (words[:, 1::2] << np.uint64(32))).ravel()


class Stream:
    """A stream of random numbers that depends on its coordinates alone."""

    def __init__(self, seed, number, purpose, row=0):
        self.key = b"".join(value.to_bytes(8, "little") for value in (seed, purpose, row, 0))
        self.number, self.block, self.buffer, self.at = number, 0, [], 0

    def bits(self):
        if self.at == len(self.buffer):
            self.buffer = chacha8(self.key, self.number, self.block, BLOCKS).tolist()
            self.block, self.at = self.block + BLOCKS, 0
        self.at += 1
        return self.buffer[self.at - 1]

    def below(self, n):
        """Uniform in 0..n, without bias: numbers beyond the last multiple of n are drawn again."""
        largest = 2**64 - 1
        while (drawn := self.bits()) >= largest - largest % n:
            pass
        return drawn % n

    def shuffle(self, items):
        """Fisher and Yates."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]


class Strata:
    """Rows still to be dealt out, by class, shuffled."""

    def __init__(self, y, rows, stream):
        self.rows = [[row for row in rows if y[row] == k] for k in range(max(y) + 1)]
        for rows in self.rows:
            stream.shuffle(rows)

    def take(self, total, at_least, leave, stream):
        """About `total` rows, apportioned by largest remainder, equal remainders in random order."""
        n = max(1, sum(map(len, self.rows)))
        quotas = [total * len(rows) // n for rows in self.rows]
        order = list(range(len(quotas)))
        stream.shuffle(order)
        order.sort(key=lambda k: -(total * len(self.rows[k]) % n))
        for k in order[: total - sum(quotas)]:
            quotas[k] += 1
        taken = []
        for k, quota in enumerate(quotas):
            quota = min(max(quota, at_least), max(0, len(self.rows[k]) - leave))
            cut = len(self.rows[k]) - quota
            taken += self.rows[k][cut:]
            del self.rows[k][cut:]
        return sorted(taken)

    def rest(self):
        return sorted(row for rows in self.rows for row in rows)


def share(n, size):
    return math.ceil(n * size - 1e-9)


def split(y, rows, seed, index):
    """One strict split of some rows with these labels: training, selection, conformal and test rows."""
    of = [y[row] for row in rows]
    stream = Stream(seed, index, SPLIT)
    strata = Strata(of, range(len(rows)), stream)
    test = strata.take(share(len(rows), 0.25), 1, 3, stream)
    calibration = strata.take(share(len(rows) - len(test), 0.5), 2, 1, stream)
    train = strata.rest()
    halves = Strata(of, calibration, stream)
    selection = halves.take(len(calibration) // 2, 1, 1, stream)
    return [[rows[i] for i in part] for part in (train, selection, halves.rest(), test)]


def outer_folds(y, folds, seed):
    """For each fold the rows that are tested, the rows that calibrate, and the rest."""
    everything = list(range(len(y)))
    shuffled = everything.copy()
    Stream(seed, 0, VALIDATION).shuffle(shuffled)
    shuffled.sort(key=lambda row: y[row])
    dealt = [sorted(shuffled[fold::folds]) for fold in range(folds)]
    for fold, test in enumerate(dealt):
        others = sorted(set(everything) - set(test))
        stream = Stream(seed, fold, RESERVE)
        strata = Strata(y, others, stream)
        yield test, strata.take(share(len(others), 0.2), 1, 4, stream), strata.rest()


def permuted(y, seed, index):
    y = list(y)
    Stream(seed, index, PERMUTATION).shuffle(y)
    return y


def inner_seed(seed, index, purpose):
    """The seed of the splits inside a fold or under a permutation."""
    return Stream(seed, index, purpose, 1).bits()

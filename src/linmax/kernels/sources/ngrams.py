"""N-grams of texts: hashed runs of words and of characters."""

from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import CompiledKernel, inline

OFFSET, PRIME, BITS = 2166136261, 16777619, (1 << 32) - 1  # FNV-1a
SPACE = 32


class Tokens(NamedTuple):
    """The words of one text, with a space before, between and after them.

    Parameters
    ----------
    text : ndarray of uint8
        The text.
    begin, end : ndarray of int64
        Where each word begins and ends.
    """

    text: np.ndarray
    begin: np.ndarray
    end: np.ndarray


@inline
def is_word(byte):
    """Tell whether a byte belongs to a word: digits, letters, the underscore, and all beyond ASCII."""
    return 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122 or byte == 95 or byte >= 128


@inline
def split_text(text, begin, end, tokens):
    """Write the words of a text; a sign is a word of its own. Return their number, and the length."""
    count = 0
    size = 1
    tokens.text[0] = SPACE
    i = begin
    while i < end:
        if text[i] <= SPACE:
            i += 1
            continue
        tokens.begin[count] = size
        word = is_word(text[i])
        tokens.text[size] = text[i]
        size += 1
        i += 1
        while word and i < end and is_word(text[i]):
            tokens.text[size] = text[i]
            size += 1
            i += 1
        tokens.end[count] = size
        tokens.text[size] = SPACE
        size += 1
        count += 1
    return count, size


@inline
def hashed(text, begin, end, seed):
    """Return the hash of some bytes."""
    code = OFFSET ^ seed
    for i in range(begin, end):
        code = ((code ^ int(text[i])) * PRIME) & BITS
    return code ^ (code >> 16)


@inline
def append_column(code, t, latest, index, at):
    """Append the column of a hash, unless the text has it already; return where the columns end."""
    column = code & (len(latest) - 1)
    index[at] = column
    at += 1 * (latest[column] != t)
    latest[column] = t
    return at


def list_texts(text, starts, words, characters, tokens, latest, indptr, index):
    """List the columns of each text, each once.

    `latest` is the last text that had a column, -1 at the start. The seeds keep runs of words apart from
    equal runs of characters.
    """
    at = 0
    for t in range(len(starts) - 1):
        count, size = split_text(text, starts[t], starts[t + 1], tokens)
        for n in words:
            for i in range(count - n + 1):
                code = hashed(tokens.text, tokens.begin[i], tokens.end[i + n - 1], 1)
                at = append_column(code, t, latest, index, at)
        for n in characters:
            for i in range(size - n + 1):
                at = append_column(hashed(tokens.text, i, i + n, 2), t, latest, index, at)
        indptr[t + 1] = at


ngrams = CompiledKernel(list_texts)

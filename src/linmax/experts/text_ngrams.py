"""Texts as sparse attributes: hashed n-grams of words and characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linmax.kernels.sources.ngrams import Tokens, ngrams
from linmax.validation import is_integer


def text_ngrams(
    texts: Sequence[str],
    *,
    words: Sequence[int] = (1, 2),
    characters: Sequence[int] = (3, 4, 5),
    columns: int = 1 << 16,
) -> Any:
    """Read texts as sparse attributes: which runs of words and characters each of them contains.

    Texts are made lower case and split into words and signs. Every run of n words, and of n bytes of the
    words with one space between them, has a column that is 1; columns are found by hashing, so two runs may
    share one. The result depends on each text alone, so that a stream can be read in any pieces.

    Parameters
    ----------
    texts : sequence of str
        The texts. None is an empty text.
    words, characters : sequence of int
        The lengths of the runs, 1 to 10.
    columns : int
        The number of columns, a power of 2 up to 2 ** 24.

    Returns
    -------
    scipy.sparse.csr_array of shape (texts, columns)
        The attributes, for ``Fusion.learn(attributes=...)``.

    Examples
    --------
    >>> from linmax import Fusion, SquaredHinge
    >>> from linmax.experts import text_ngrams
    >>> questions = ["Who wrote Emma ?", "Where is Oslo ?", "Who sang it ?", "Where is it ?"]
    >>> fusion = Fusion(SquaredHinge())
    >>> run = fusion.learn(attributes=text_ngrams(questions), labels=["human", "place", "human", "place"])
    >>> fusion.predict(attributes=text_ngrams(["Who was Emma ?", "Where is Rome ?"]))
    array(['human', 'place'], dtype='<U5')
    """
    from scipy import sparse  # slow to import

    for name, given in (("words", words), ("characters", characters)):
        if not all(is_integer(n, 1, 10) for n in given):
            raise ValueError(f"text_ngrams requires lengths of 1 to 10 as {name} (got {given!r})")
    if not is_integer(columns, 2, 1 << 24) or columns & (columns - 1):
        raise ValueError(f"text_ngrams requires a power of 2 as columns, up to 2**24 (got {columns!r})")
    if isinstance(texts, str):
        raise ValueError("text_ngrams requires a list of texts (got one text); put it into a list")
    encoded = [_encode(text) for text in texts]
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    longest = int(lengths.max(initial=0))
    tokens = Tokens(
        np.zeros(2 * longest + 2, np.uint8), np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    )
    most = int((2 * lengths + 2).sum()) * (len(words) + len(characters)) + 1
    indptr, index = np.zeros(len(encoded) + 1, dtype=np.int64), np.zeros(most, dtype=np.int64)
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    sizes = (np.array(given, dtype=np.int64) for given in (words, characters))
    ngrams(text, starts, *sizes, tokens, np.full(columns, -1, dtype=np.int64), indptr, index)
    index = index[: indptr[-1]]
    found = sparse.csr_array((np.ones(len(index)), index, indptr), shape=(len(encoded), columns))
    found.sort_indices()
    return found


def _encode(text: Any) -> bytes:
    if text is None:
        return b""
    if not isinstance(text, str):
        raise ValueError(f"text_ngrams requires texts (got {text!r}); pass str(...) of each")
    return text.lower().encode("utf-8", "replace")

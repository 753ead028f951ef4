"""What a worker loads at its start: the task of bucket 0 takes more memory than there is.

The text of a file says how often; every attempt takes one from it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from linmax.scale.by_key import bucket

MARK = "LINMAX_TEST_HUNGRY"
"""The environment variable with the path of the file."""
learn_bucket = bucket.learn_bucket


def learn_with_hunger(job: Any, plan: Any) -> Any:
    """Take 100 MB after the other until the worker is killed, or do what is to be done."""
    file = Path(os.environ[MARK])
    left = int(file.read_text())
    if job.bucket == 0 and left:
        file.write_text(str(left - 1))
        taken = []
        while True:
            taken.append(bytearray(os.urandom(1) * 100_000_000))
            time.sleep(0.05)
    return learn_bucket(job, plan)


if MARK in os.environ:
    bucket.learn_bucket = learn_with_hunger

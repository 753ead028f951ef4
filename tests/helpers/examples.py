"""How many examples hypothesis tries: few in `make test`, all in `make test-all`."""

import os

from hypothesis import settings

EVERYTHING = bool(os.environ.get("LINMAX_TEST_ALL"))


def examples(few: int) -> settings:
    """So many examples; with LINMAX_TEST_ALL, which `make test-all` sets, four times as many."""
    return settings(max_examples=4 * few if EVERYTHING else few)

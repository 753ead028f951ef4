"""The variants of the multiplier, uncompiled."""

from __future__ import annotations

import pytest

from experiments.committee_multiplier import variants
from tests.helpers.examples import EVERYTHING


def interpret_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the compilation of these kernels, which few files need, to `make test-all`."""
    if not EVERYTHING:
        for name in ("_run", "_adapt", "_start"):
            monkeypatch.setattr(variants, name, getattr(variants, name).py_func)

"""Compare two sessions bit for bit, and take a model file apart."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from safetensors.numpy import load

from linmax import Fusion


def same(one: Fusion, other: Fusion) -> bool:
    """Are both in the same state, bit for bit, with the same names?"""
    return not different(one, other) and (one.classes, one.experts) == (other.classes, other.experts)


def different(one: Fusion, other: Fusion) -> list[str]:
    """The names of the arrays in which two states differ."""
    here, there = one.state(), other.state()
    return [
        name
        for name in sorted({*here, *there})
        if name not in here or name not in there or here[name].tobytes() != there[name].tobytes()
    ]


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The facts and the arrays of a model file."""
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["linmax"]), load(content)

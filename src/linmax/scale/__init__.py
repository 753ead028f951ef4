"""The same jobs on several cores or machines: one fusion per key, many learners, large data sets.

The work is divided into tasks that are pure functions of files, keys and seeds. They run in a pool of
processes, on a Dask cluster that is started here (``cluster="local"``), or on any other
(``cluster="tcp://scheduler:8786"`` or a `distributed.Client`), with the same results.

`keyed`, `KeyedModels`
    One fusion per key of a partitioned data set, and the models that it leaves.
`predict`
    The predictions of a model, or of one model per key, for every partition.
`sweep`
    Learners on panels in several orders, cached by content.
`mix`
    One panel in shards: iterative parameter mixing.
`open_engine`
    What runs the tasks.
`follow`, `follow_async`
    Votes and labels from a message log.
"""

from importlib import import_module
from typing import Any

# no module has the name of what it exports: importing it would replace that
_HOMES = {
    "KeyedModels": "by_key.store",
    "follow": "follower",
    "follow_async": "follower",
    "keyed": "by_key.fusions",
    "mix": "shards",
    "open_engine": "engine",
    "predict": "prediction",
    "sweep": "learner_sweep",
}


def __getattr__(name: str) -> Any:
    """Import what is exported on first use: it needs optional dependencies."""
    if name not in _HOMES:
        raise AttributeError(f"module 'linmax.scale' has no attribute {name!r}")
    return getattr(import_module(f"linmax.scale.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(_HOMES)

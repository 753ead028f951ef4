"""The metrics of the service, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

LATENCIES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
FIGURES: list[tuple[str, str, Callable[[Any], float]]] = [
    ("linmax_trials", "Labelled items that were learned.", lambda panel: panel.fusion.trials),
    ("linmax_mistakes", "Wrong predictions among them.", lambda panel: panel.mistakes),
    ("linmax_waiting", "Predictions that wait for a label.", lambda panel: panel.waiting),
    ("linmax_expired", "Predictions whose label came too late.", lambda panel: panel.expired),
]


class Metrics:
    """What the service counts and measures."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "linmax_requests",
            "Requests by endpoint and status.",
            ["endpoint", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "linmax_request_seconds",
            "The time of requests.",
            ["endpoint"],
            buckets=LATENCIES,
            registry=self._registry,
        )
        self._commits = Histogram(
            "linmax_commit_seconds", "The time of transactions.", buckets=LATENCIES, registry=self._registry
        )
        self._events = Counter(
            "linmax_writes", "Requests that were written to the log.", registry=self._registry
        )
        self._bound: dict[tuple[str, int], tuple[Any, Any]] = {}

    def request(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request; labels are bound once, which takes a third of the time."""
        key = endpoint, status
        if key not in self._bound:
            self._bound[key] = self._requests.labels(endpoint, str(status)), self._seconds.labels(endpoint)
        counter, histogram = self._bound[key]
        counter.inc()
        histogram.observe(seconds)

    def commit(self, seconds: float, writes: int) -> None:
        """Count a transaction."""
        self._commits.observe(seconds)
        self._events.inc(writes)

    def watch(self, service: Any) -> None:
        """Show the state of the fusions in memory, and of the log."""
        self._registry.register(_Fusions(service))

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus."""
        return bytes(generate_latest(self._registry))


class _Fusions:
    """Collects figures of the fusions when they are asked for."""

    def __init__(self, service: Any) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Yield the figures."""
        panels = list(self._service.panels.open_panels.values())
        for name, help_, figure in FIGURES:
            family = GaugeMetricFamily(name, help_, labels=["fusion"])
            for panel in panels:
                family.add_metric([panel.name], figure(panel))
            yield family
        path = self._service.database.path
        log = sum(file.stat().st_size for file in path.parent.glob(path.name + "*"))
        yield GaugeMetricFamily("linmax_log_bytes", "The size of the log.", value=log)
        yield GaugeMetricFamily("linmax_open_fusions", "Fusions in memory.", value=len(panels))
        failing = 1 if self._service.database.failing else 0
        yield GaugeMetricFamily("linmax_read_only", "Whether the log cannot be written.", value=failing)

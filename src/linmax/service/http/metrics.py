"""The metrics of the service, for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

LATENCIES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
FIGURES: list[tuple[str, str, Callable[[Any], float]]] = [
    ("linmax_trials", "Labelled items that were learned.", lambda panel: panel.fusion.trials),
    ("linmax_mistakes", "Wrong predictions among them.", lambda panel: panel.mistakes),
    ("linmax_waiting", "Predictions that wait for a label.", lambda panel: panel.waiting),
    ("linmax_expired", "Predictions whose label came too late.", lambda panel: panel.expired),
]


class ServiceMetrics:
    """What the service counts and measures."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = _Requests()
        self._registry.register(self._requests)
        self._commits = Histogram(
            "linmax_commit_seconds", "The time of transactions.", buckets=LATENCIES, registry=self._registry
        )
        self._writes = Counter(
            "linmax_writes",
            "Writes to the log; requests for one fusion that come together share one.",
            registry=self._registry,
        )
        self.request = self._requests.count

    def commit(self, seconds: float, writes: int) -> None:
        """Count a transaction."""
        self._commits.observe(seconds)
        self._writes.inc(writes)

    def watch(self, service: Any) -> None:
        """Show the state of the fusions in memory, and of the log."""
        self._registry.register(_Fusions(service))

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus."""
        return bytes(generate_latest(self._registry))


class _Requests:
    """Counts the requests of the event loop, which take less time than those of the library."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], int] = {}
        self._times: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def count(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = endpoint, status
        self._counts[key] = self._counts.get(key, 0) + 1
        if endpoint not in self._times:
            self._times[endpoint], self._seconds[endpoint] = [0] * (len(LATENCIES) + 1), 0.0
        self._times[endpoint][bisect_left(LATENCIES, seconds)] += 1
        self._seconds[endpoint] += seconds

    def collect(self) -> Iterator[Metric]:
        """Yield the figures."""
        counts = CounterMetricFamily(
            "linmax_requests", "Requests by endpoint and status.", labels=["endpoint", "status"]
        )
        for (endpoint, status), count in self._counts.items():
            counts.add_metric([endpoint, str(status)], count)
        yield counts
        times = HistogramMetricFamily("linmax_request_seconds", "The time of requests.", labels=["endpoint"])
        for endpoint, found in self._times.items():
            up_to = zip((*map(str, LATENCIES), "+Inf"), accumulate(found), strict=True)
            times.add_metric([endpoint], list(up_to), self._seconds[endpoint])
        yield times


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

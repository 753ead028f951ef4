"""Who makes how many mistakes on the same streams: one race for each remark."""

from __future__ import annotations

from typing import Any

from experiments.majority_2008 import CLASSES, Track, bank, learn, name, silently, stream, v_combine
from experiments.remarks_2008.leaders import mean_of_leaders
from experiments.statistics import Interval, interval
from linmax import Alma, Averaged, Combine, Perceptron, Voted, Winnow, vr_combine

SIZES = (20, 100, 500)  # hypotheses
RIVALS = (Perceptron(), *map(Winnow, (1.15, 1.25, 1.35, 1.45, 1.6)), Alma(2.5), Alma(4.0))
BASIC = (Perceptron(), Winnow(1.03), Winnow(1.2), Winnow(1.5), Alma(2.0), Alma(6.0))
Counts = dict[str, list[int]]  # mistakes run by run


def averaging(plain: str, noise: float, runs: int, track: Track = silently) -> tuple[str, Counts]:
    """The mean of leaders, Combine, and the best average in hindsight, which is named.

    `plain` is B for members as they are, R for recycled ones. Averages that take part are those of the
    algorithms that do well in Table I.
    """
    members, combine = bank(plain), {"B": v_combine(), "R": vr_combine()}[plain]
    averages = [Averaged(members[bank("B").index(rival)]) for rival in RIVALS]
    counts: Counts = {key: [] for key in ("mean", "scaled mean", "leaders", "average of the last", "Combine")}
    counts |= {name(one): [] for one in averages}
    for seed in track(range(runs), f"mean of leaders of {plain}, noise {noise}"):
        panel = stream(noise, seed)
        means = mean_of_leaders(members, panel, CLASSES)
        counts["mean"].append(means.raw)
        counts["scaled mean"].append(means.scaled)
        counts["leaders"].append(means.leaders)
        counts["average of the last"].append(learn(Averaged(members[means.last]), panel).mistakes)
        counts["Combine"].append(learn(combine, panel).mistakes)
        for one in averages:
            counts[name(one)].append(learn(one, panel).mistakes)
    best = min(map(name, averages), key=lambda key: sum(counts[key]))
    return best, counts


def following(noise: float, runs: int, track: Track = silently) -> Counts:
    """Combine, and its leader alone."""
    racing = {
        "VR-Combine": vr_combine(), "VR-Combine, hypotheses=0": vr_combine(hypotheses=0),
        "V-Combine": v_combine(), "V-Combine, hypotheses=0": v_combine(hypotheses=0),
    }  # fmt: skip
    return race(racing, noise, runs, track, f"following the leader, noise {noise}")


def sizes(
    who: str, classes: int, noise: float, runs: int, track: Track = silently, *, trials: int = 10_000
) -> Counts:
    """By the number of hypotheses; `who` is 31 (no averages) or 62 algorithms, or one of `BASIC`."""
    racing: dict[str, Any] = {}
    basic = {name(one): one for one in BASIC}.get(who)
    for size in SIZES:
        if basic is not None:
            racing[str(size)] = Voted(basic, hypotheses=size)
        else:
            members = {"31": bank("B"), "62": [*bank("B"), *bank("A")]}[who]
            racing[str(size)] = Combine(tuple(members), hypotheses=size)
    if basic is not None:
        racing["average"] = Averaged(basic)
    what = f"{classes} classes, noise {noise}, {who}"
    return race(racing, noise, runs, track, what, trials=trials, classes=classes)


def choosing(basic: Any, noise: float, runs: int, track: Track = silently) -> Counts:
    """An algorithm, voting with random hypotheses and with chosen ones."""
    racing = {
        "B": basic,
        "random": Voted(basic, choose="random", hypotheses=30),
        "chosen": Voted(basic),
        "chosen 30": Voted(basic, hypotheses=30),
    }
    return race(racing, noise, runs, track, f"random hypotheses of {name(basic)}, noise {noise}")


def race(racing: dict[str, Any], noise: float, runs: int, track: Track, what: str, **options: int) -> Counts:
    """Mistakes of all on the same streams."""
    counts: Counts = {key: [] for key in racing}
    for seed in track(range(runs), what):
        panel = stream(noise, seed, **options)
        for key, one in racing.items():
            run = learn(one, panel, classes=options.get("classes", CLASSES), seed=seed)
            counts[key].append(run.mistakes)
    return counts


def difference(counts: Counts, one: str, other: str) -> Interval:
    """How many mistakes more the one makes, stream by stream."""
    return interval([float(a - b) for a, b in zip(counts[one], counts[other], strict=True)])

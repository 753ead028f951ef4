"""A calendar of meetings, made up: a stand-in for the Calendar Apprentice, whose data are lost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.validation import check_integer

Text = NDArray[np.str_]

TARGETS = ("day", "duration", "location", "start")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday")
DURATIONS = ("30", "60", "90", "120", "180", "240")
HALF_HOURS = tuple(f"{hour:02}:{minute}" for hour in range(8, 18) for minute in ("00", "30"))
KINDS, PEOPLE, ROOMS = 10, 24, 12
TERM = 140  # meetings after which some habits change
TOLD = ("kind", "with", "group", "position", "department", "size", "known", "seminar", "asked by", "term")
NOISE = 24  # attributes that say nothing: in all 34
HABIT = {"day": 0.6, "duration": 0.9, "location": 0.9, "start": 0.9}  # how often a habit is kept


class Calendar(NamedTuple):
    """Meetings in the order they were entered: what is known of each, and what is to be guessed."""

    names: tuple[str, ...]  # of the attributes
    attributes: Text  # (meetings, attributes)
    labels: dict[str, Text]  # target: (meetings,)

    def task(self, target: str) -> tuple[Text, Text]:
        """Attributes and labels for one target; the other three labels are attributes, too.

        >>> attributes, labels = calendar(3).task("day")
        >>> attributes.shape, labels.shape
        ((3, 37), (3,))
        """
        if target not in self.labels:
            raise ValueError(f"a calendar has the targets {', '.join(self.labels)} (got {target!r})")
        others = [labels[:, None] for name, labels in self.labels.items() if name != target]
        return np.hstack((self.attributes, *others)), self.labels[target]


def calendar(meetings: int = 553, *, seed: int = 0) -> Calendar:
    """Meetings of one person with 34 nominal attributes; guess day, duration, location and start.

    Who comes and what for decide the habits: a duration by kind of meeting, a location by kind and group, a
    day by who comes, a start by kind and day. Habits are kept often, not always. Every term some of them
    change, and people, kinds and rooms appear as time goes by, so that classes and experts are new at any
    trial. Ten attributes tell about the meeting, the others are noise.

    It stands in for the data of Mitchell, Caruana, Freitag, McDermott & Zabowski, Experience with a learning
    personal assistant, 1994 (user two: 553 meetings, 34 attributes, four targets), on which Mesterharm 2003
    reports. These are lost; their counts are kept here, and nothing else about them is claimed.

    >>> made = calendar()
    >>> made.attributes.shape, list(made.labels)
    ((553, 34), ['day', 'duration', 'location', 'start'])
    >>> [len(set(labels.tolist())) for labels in made.labels.values()]
    [5, 6, 12, 20]
    >>> from linmax import Fusion, Winnow
    >>> from linmax.experts import Pairs, Thresholds
    >>> attributes, labels = made.task("duration")
    >>> Fusion(Winnow(2.0).on(Pairs() + Thresholds())).learn(attributes=attributes, labels=labels).novel
    6
    """
    check_integer("calendar", "meetings", meetings, 1)
    check_integer("calendar", "seed", seed, 0)
    living, choosing, keeping, nuisance = np.random.default_rng(seed).spawn(4)
    people = _people(living)
    terms = meetings // TERM + 1
    habits = {name: _habits(living, name, terms) for name in TARGETS}
    rows, labels = [], []
    for t in range(meetings):
        term = t // TERM
        kind = _early(choosing, KINDS, t)
        who = _early(choosing, PEOPLE, t)
        group, position, department, asked = people[who]
        said = _labels(keeping, habits, term, kind, who, group, rooms=min(ROOMS, 5 + t // 60))
        size = "one" if kind % 3 == 0 else "few" if kind % 3 == 1 else "many"
        known = "yes" if who < 6 + 3 * term else "no"
        told = (kind, who, group, position, department, size, known, kind in (4, 7), asked, term % 3)
        noise = [f"{i}:{nuisance.integers(2 + i % 7)}" for i in range(NOISE)]
        rows.append([*(f"{name} {value}" for name, value in zip(TOLD, told, strict=True)), *noise])
        labels.append(said)
    columns = np.array(labels).T
    return Calendar(
        (*TOLD, *(f"noise {i}" for i in range(NOISE))),
        np.array(rows),
        dict(zip(TARGETS, columns, strict=True)),
    )


def _people(living: np.random.Generator) -> list[tuple[int, int, int, int]]:
    """Group, position, department, and who asks on their behalf."""
    return [
        (int(living.integers(4)), int(living.integers(3)), int(living.integers(3)), int(living.integers(5)))
        for _ in range(PEOPLE)
    ]


def _habits(living: np.random.Generator, target: str, terms: int) -> NDArray[np.int64]:
    """By term and by what a target's habit hangs on; one in seven changes from a term to the next."""
    hangs, values = {
        "day": ((PEOPLE,), len(DAYS)),
        "duration": ((KINDS,), len(DURATIONS)),
        "location": ((KINDS, 4), ROOMS),
        "start": ((KINDS, len(DAYS)), len(HALF_HOURS)),
    }[target]
    habit = living.integers(values, size=hangs)
    made = [habit]
    for _ in range(terms - 1):
        habit = np.where(living.random(hangs) < 1 / 7, living.integers(values, size=hangs), habit)
        made.append(habit)
    return np.stack(made)


def _early(choosing: np.random.Generator, all_: int, t: int) -> int:
    """One of those who have appeared by now; who came first is met most often."""
    known = min(all_, 3 + t // 20)
    weights = 1.0 / np.arange(1, known + 1)
    return int(choosing.choice(known, p=weights / weights.sum()))


def _labels(
    keeping: np.random.Generator,
    habits: dict[str, NDArray[np.int64]],
    term: int,
    kind: int,
    who: int,
    group: int,
    *,
    rooms: int,
) -> list[str]:
    """Day, duration, location and start of a meeting; what is no habit is chance."""
    kept = {name: keeping.random() < HABIT[name] for name in TARGETS}
    chance = {"day": len(DAYS), "duration": len(DURATIONS), "location": rooms, "start": len(HALF_HOURS)}
    drawn = {name: int(keeping.integers(count)) for name, count in chance.items()}
    day = int(habits["day"][term, who]) if kept["day"] else drawn["day"]
    place = {"day": (who,), "duration": (kind,), "location": (kind, group), "start": (kind, day)}
    found = {name: int(habits[name][(term, *place[name])]) if kept[name] else drawn[name] for name in TARGETS}
    found["location"] %= rooms  # a room that is not there yet is another one until then
    return [DAYS[day], DURATIONS[found["duration"]], f"room {found['location']}", HALF_HOURS[found["start"]]]

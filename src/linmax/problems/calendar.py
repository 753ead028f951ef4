"""A generated calendar of meetings, in place of the data of the Calendar Apprentice, which are lost."""

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
RELEVANT = ("kind", "with", "group", "position", "department", "size", "known", "seminar", "asked by", "term")
NOISE = 24  # irrelevant attributes; with the relevant ones 34
HABIT = {
    "day": 0.6,
    "duration": 0.9,
    "location": 0.9,
    "start": 0.9,
}  # the probability that a habit is followed


class Calendar(NamedTuple):
    """Meetings in the order of entry, with four targets to predict.

    Attributes
    ----------
    names : tuple of str
        The names of the attributes.
    attributes : ndarray of str, shape (meetings, attributes)
        The attributes.
    labels : dict of str to ndarray
        The labels of each target: day, duration, location and start.
    """

    names: tuple[str, ...]
    attributes: Text
    labels: dict[str, Text]

    def task(self, target: str) -> tuple[Text, Text]:
        """Return attributes and labels for one target; the labels of the other three are attributes, too.

        Parameters
        ----------
        target : {"day", "duration", "location", "start"}
            The target.

        Examples
        --------
        >>> attributes, labels = calendar(3).task("day")
        >>> attributes.shape, labels.shape
        ((3, 37), (3,))
        """
        if target not in self.labels:
            raise ValueError(f"a calendar has the targets {', '.join(self.labels)} (got {target!r})")
        others = [labels[:, None] for name, labels in self.labels.items() if name != target]
        return np.hstack((self.attributes, *others)), self.labels[target]


def calendar(meetings: int = 553, *, seed: int = 0) -> Calendar:
    """Generate meetings of one person, with 34 nominal attributes and four targets.

    Habits determine the labels: a duration for each kind of meeting, a location for each kind and group, a
    day for each attendee, a start for each kind and day. A habit is followed with a probability below 1;
    otherwise the label is random. Every 140 meetings some habits change. Attendees, kinds and rooms appear
    over time, so that new classes and attribute values occur at any trial. Ten attributes describe the
    meeting, the others are noise.

    Parameters
    ----------
    meetings : int, default 553
        The number of meetings.
    seed : int, default 0
        The seed.

    Returns
    -------
    calendar : Calendar
        The attributes, and the labels of each target.

    Notes
    -----
    The original data are lost. This problem has their counts (user two: 553 meetings, 34 attributes, four
    targets), and makes no other claim about them.

    References
    ----------
    T. Mitchell, R. Caruana, D. Freitag, J. McDermott and D. Zabowski (1994). Experience with a learning
    personal assistant.

    C. Mesterharm (2003). Using linear-threshold algorithms to combine multi-class sub-experts, section 5.2.

    Examples
    --------
    >>> from linmax.problems import calendar
    >>> data = calendar()
    >>> data.attributes.shape, list(data.labels)
    ((553, 34), ['day', 'duration', 'location', 'start'])
    >>> [len(set(labels.tolist())) for labels in data.labels.values()]
    [5, 6, 12, 20]
    >>> from linmax import Fusion, Winnow
    >>> from linmax.experts import Pairs, Thresholds
    >>> attributes, labels = data.task("duration")
    >>> Fusion(Winnow(2.0).on(Pairs() + Thresholds())).learn(attributes=attributes, labels=labels).novel
    6
    """
    check_integer("calendar", "meetings", meetings, 1)
    check_integer("calendar", "seed", seed, 0)
    habit_rng, meeting_rng, label_rng, noise_rng = np.random.default_rng(seed).spawn(4)
    people = _draw_people(habit_rng)
    terms = meetings // TERM + 1
    habits = {name: _draw_habits(habit_rng, name, terms) for name in TARGETS}
    rows, labels = [], []
    for t in range(meetings):
        term = t // TERM
        kind = _draw_known(meeting_rng, KINDS, t)
        who = _draw_known(meeting_rng, PEOPLE, t)
        group, position, department, asked = people[who]
        labels.append(_draw_labels(label_rng, habits, term, kind, who, group, rooms=min(ROOMS, 5 + t // 60)))
        size = "one" if kind % 3 == 0 else "few" if kind % 3 == 1 else "many"
        known = "yes" if who < 6 + 3 * term else "no"
        values = (kind, who, group, position, department, size, known, kind in (4, 7), asked, term % 3)
        noise = [f"{i}:{noise_rng.integers(2 + i % 7)}" for i in range(NOISE)]
        rows.append([*(f"{name} {value}" for name, value in zip(RELEVANT, values, strict=True)), *noise])
    columns = np.array(labels).T
    return Calendar(
        (*RELEVANT, *(f"noise {i}" for i in range(NOISE))),
        np.array(rows),
        dict(zip(TARGETS, columns, strict=True)),
    )


def _draw_people(rng: np.random.Generator) -> list[tuple[int, int, int, int]]:
    """Draw group, position, department and assistant of each attendee."""
    return [
        (int(rng.integers(4)), int(rng.integers(3)), int(rng.integers(3)), int(rng.integers(5)))
        for _ in range(PEOPLE)
    ]


def _draw_habits(rng: np.random.Generator, target: str, terms: int) -> NDArray[np.int64]:
    """Draw habits by term and by what they depend on; one in seven changes from a term to the next."""
    shape, values = {
        "day": ((PEOPLE,), len(DAYS)),
        "duration": ((KINDS,), len(DURATIONS)),
        "location": ((KINDS, 4), ROOMS),
        "start": ((KINDS, len(DAYS)), len(HALF_HOURS)),
    }[target]
    habit = rng.integers(values, size=shape)
    by_term = [habit]
    for _ in range(terms - 1):
        habit = np.where(rng.random(shape) < 1 / 7, rng.integers(values, size=shape), habit)
        by_term.append(habit)
    return np.stack(by_term)


def _draw_known(rng: np.random.Generator, count: int, t: int) -> int:
    """Draw one of those that have appeared by trial t; the earlier it appeared, the more probable it is."""
    known = min(count, 3 + t // 20)
    weights = 1.0 / np.arange(1, known + 1)
    return int(rng.choice(known, p=weights / weights.sum()))


def _draw_labels(
    rng: np.random.Generator,
    habits: dict[str, NDArray[np.int64]],
    term: int,
    kind: int,
    who: int,
    group: int,
    *,
    rooms: int,
) -> list[str]:
    """Draw day, duration, location and start of a meeting, by habit or at random."""
    followed = {name: rng.random() < HABIT[name] for name in TARGETS}
    counts = {"day": len(DAYS), "duration": len(DURATIONS), "location": rooms, "start": len(HALF_HOURS)}
    random = {name: int(rng.integers(count)) for name, count in counts.items()}
    day = int(habits["day"][term, who]) if followed["day"] else random["day"]
    place = {"day": (who,), "duration": (kind,), "location": (kind, group), "start": (kind, day)}
    label = {
        name: int(habits[name][(term, *place[name])]) if followed[name] else random[name] for name in TARGETS
    }
    label["location"] %= rooms  # a habit may refer to a room that has not appeared yet
    return [DAYS[day], DURATIONS[label["duration"]], f"room {label['location']}", HALF_HOURS[label["start"]]]

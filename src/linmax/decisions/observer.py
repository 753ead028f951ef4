"""The decisions of a session: what is learned from scores and labels, beside the learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linmax.decisions.answers import BINS, AnswerThreshold, find_threshold
from linmax.decisions.calibration_map import MAP_SIZE, MAX_HEAT, new_map, probabilities_of
from linmax.decisions.conformal import LEVELS, TARGET, THETA, level_of, new_levels, sets_along
from linmax.decisions.costs import MistakeCosts
from linmax.decisions.drift import ALARM_FIELDS, DETECTOR_SIZE, GROUP, MAX_ALARMS, DriftAlarm, alarms_of
from linmax.decisions.sample import split
from linmax.decisions.trials import (
    ALARMS,
    COUNTS,
    EVERY,
    GROUPED,
    LEARNS,
    LOGS,
    MISTAKES,
    SEEN,
    SETTINGS,
    USED,
    WATCHED,
    DecisionArrays,
    Probabilities,
    count_losses,
    decide,
)
from linmax.runtime.predictor import Predictions, State
from linmax.runtime.program import padded
from linmax.runtime.sources import NO_COSTS
from linmax.validation import check_array, check_choice, require

CALIBRATE = ("sample", "all", "none")
"""Which labelled items are used."""
SAVED = ("counts", "scale", "tally", "levels", "detector", "alarms", "spent")


class Decisions:
    """Turns scores into probabilities, predictions, answers and sets, and learns how from the labels.

    A session has one. The runner calls it after the learner has predicted and before it is asked again, with
    the scores that were computed before the label was seen.

    Parameters
    ----------
    calibrate
        Which labelled items are used: "sample", "all" or "none".
    costs
        The costs of mistakes; None if all cost the same.

    Attributes
    ----------
    arrays : DecisionArrays
        What has been learned.
    """

    def __init__(self, calibrate: str = "sample", costs: MistakeCosts | None = None) -> None:
        check_choice("Fusion", "calibrate", calibrate, CALIBRATE)
        require(
            costs is None or calibrate != "none",
            'mistake_costs needs calibrated probabilities: pass calibrate="sample" or "all" (got "none")',
        )
        self.calibrate = calibrate
        self.costs = costs
        self._threshold: tuple[Any, AnswerThreshold] | None = None  # the last one, and what it is for
        settings = np.zeros(SETTINGS, dtype=np.int64)
        settings[EVERY], settings[WATCHED], settings[LEARNS] = calibrate == "all", -1, calibrate != "none"
        self.arrays = DecisionArrays(
            np.zeros(COUNTS, dtype=np.int64), settings, new_map(), np.zeros((2, BINS, 2), dtype=np.int64),
            new_levels(), np.zeros(DETECTOR_SIZE), np.zeros((MAX_ALARMS, ALARM_FIELDS)), np.zeros(1),
        )  # fmt: skip

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self.arrays = DecisionArrays(*map(np.array, self.arrays))  # they may have been mapped from a file

    # --- for the runner

    @property
    def learns(self) -> bool:
        """Whether labelled trials are of use."""
        return self.calibrate != "none"

    @property
    def decides(self) -> bool:
        """Whether predictions may differ from the best class."""
        return self.costs is not None

    @property
    def scores_are_logs(self) -> bool:
        """Whether scores are log-probabilities, which need no map."""
        return bool(self.arrays.settings[LOGS])

    @scores_are_logs.setter
    def scores_are_logs(self, value: bool) -> None:
        self.arrays.settings[LOGS] = value or not self.learns  # without labels there is no map to learn

    def split(self, chunks: list[slice], batch: Any, wanted: bool, longest: int) -> list[tuple[slice, bool]]:
        """Cut the chunks of a batch where parts of the sample start and end; tell where scores are needed.

        Parameters
        ----------
        chunks
            The rows of the batch that are run at a time.
        batch
            The encoded trials, to be learned or predicted.
        wanted
            Whether there are scores anyway, so that chunks need not be cut.
        longest
            The largest number of rows with scores that are run at once.
        """
        if wanted or self.decides or self.calibrate != "sample":
            scores = wanted or self.learns
            step = longest if scores else 1 << 62
            return [
                (slice(i, min(i + step, rows.stop)), scores)
                for rows in chunks
                for i in (range(rows.start, rows.stop, step) if rows.stop > rows.start else (rows.start,))
            ]
        return split(chunks, batch, self.seen, longest) or [(rows, False) for rows in chunks]

    def bind(
        self, names: Sequence[Any], out: np.ndarray, program: Any, codes: np.ndarray, scores: np.ndarray
    ) -> None:
        """Add the kernel to a program, after those of the learner.

        Parameters
        ----------
        names
            The names of the classes.
        out
            Where the probabilities of all trials go; empty if they are not wanted.
        program
            The program.
        codes, scores
            The predictions and scores of a block.
        """
        program.call(
            decide, program.labels, program.known, codes, scores, self.matrix(names, program.classes),
            self.arrays, _scratch(program.classes), out, program.begin,
        )  # fmt: skip

    def run(self, chunk: Any, found: Predictions, scores: np.ndarray, names: Sequence[Any] = ()) -> None:
        """Decide and learn a chunk that the learner has predicted.

        Parameters
        ----------
        chunk
            The trials.
        found
            Their predictions, which may be changed, and where their probabilities go, if they are wanted.
        scores
            Their scores; empty if no trial is used.
        names
            The names of the classes, if there are costs.
        """
        if not len(scores):
            count_losses(chunk.labels, chunk.known, found.codes, self.arrays)
            return
        decide(
            chunk.labels, chunk.known, found.codes, scores, self.matrix(names, chunk.classes), self.arrays,
            _scratch(chunk.classes), found.probabilities, 0, 0, chunk.length,
        )  # fmt: skip

    def matrix(self, names: Sequence[Any], classes: int) -> np.ndarray:
        """Return the costs of so many classes, of which the first have names; empty if there are none.

        Parameters
        ----------
        names
            The names of the classes that have one.
        classes
            The number of rows and columns.
        """
        if self.costs is None:
            return NO_COSTS
        matrix = 1.0 - np.eye(classes)
        matrix[: len(names), : len(names)] = self.costs.matrix(names[:classes])
        return matrix

    # --- what was learned

    @property
    def seen(self) -> int:
        """The number of labelled items of known classes."""
        return int(self.arrays.counts[SEEN])

    @property
    def used(self) -> int:
        """The number of labelled items that were used."""
        return int(self.arrays.counts[USED])

    @property
    def mistakes(self) -> int:
        """The number of wrong decisions among them."""
        return int(self.arrays.counts[MISTAKES])

    @property
    def alarms(self) -> list[DriftAlarm]:
        """The latest alarms of drift, oldest first."""
        return alarms_of(self.arrays.alarms, int(self.arrays.counts[ALARMS]))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the calibrated probabilities of items by classes.

        Parameters
        ----------
        scores
            Items by classes.
        """
        out = np.zeros(scores.shape)
        k = scores.shape[1]
        if k:
            logs = int(self.arrays.settings[LOGS])
            probabilities_of(np.ascontiguousarray(scores), k, self.arrays.scale, logs, _scratch(k), out)
        return out

    def threshold(self, max_error: float, confidence: float) -> AnswerThreshold:
        """Return from which probability on predictions are answers."""
        now = (*self.arrays.counts[[SEEN, USED]].tolist(), max_error, confidence)
        if self._threshold is None or self._threshold[0] != now:
            self._threshold = now, find_threshold(self.arrays.tally, max_error, confidence)
        return self._threshold[1]

    def theta(self, coverage: float) -> float:
        """Return the threshold of sets with this coverage: at least those of lower coverages.

        Sets are then no smaller than those whose coverage is learned, and a higher coverage gives no fewer
        classes.
        """
        return float(self.arrays.levels[THETA, : level_of(coverage) + 1].max())

    def use_all(self) -> None:
        """Learn from every labelled item from now on, not from a sample."""
        require(
            self.calibrate != "none",
            'the session was made with calibrate="none"; make it with calibrate="all"',
        )
        self.calibrate = "all"
        self.arrays.settings[EVERY] = 1

    def watch(self, coverage: float) -> None:
        """Count the sizes of the sets with this coverage from now on."""
        self.arrays.settings[WATCHED] = level_of(coverage)

    def sets_while_learning(self, probabilities: np.ndarray, batch: Any, levels: np.ndarray) -> np.ndarray:
        """Return which classes were in the watched set of each item, before its label was seen.

        Parameters
        ----------
        probabilities
            The probabilities of a batch while it was learned, all of whose labels were used.
        batch
            The batch.
        levels
            The table of levels before.
        """
        inside = np.zeros(probabilities.shape, dtype=np.bool_)
        watched = int(self.arrays.settings[WATCHED])
        sets_along(probabilities, batch.labels, batch.known, levels.copy(), watched, inside)
        return inside

    # --- as arrays

    def state(self) -> State:
        """Return all that was learned; nothing if nothing was."""
        if not self.arrays.counts.any():
            return {}
        return {f"decisions.{name}": np.array(getattr(self.arrays, name)) for name in SAVED}

    def restore(self, state: State) -> None:
        """Take over what `state` returned and `validate` accepted; a state of nothing learned has none."""
        self._threshold = None
        fresh = Decisions(self.calibrate).arrays
        for name in SAVED:
            getattr(self.arrays, name)[:] = state.get(f"decisions.{name}", getattr(fresh, name))

    def validate(self, state: State) -> None:
        """Raise a ValueError that says what is wrong with a state."""
        own = {name: state[f"decisions.{name}"] for name in SAVED if f"decisions.{name}" in state}
        if not own:
            return
        check_array(own, "counts", (COUNTS,), np.int64, 0, 2**62)
        check_array(own, "scale", (MAP_SIZE,), np.float64)
        check_array(own, "tally", (2, BINS, 2), np.int64, 0, 2**62)
        check_array(own, "levels", self.arrays.levels.shape, np.float64)
        check_array(own, "detector", (DETECTOR_SIZE,), np.float64)
        check_array(own, "alarms", (MAX_ALARMS, ALARM_FIELDS), np.float64)
        check_array(own, "spent", (1,), np.float64)
        require(bool((np.abs(own["scale"][[0, 2]]) <= MAX_HEAT).all()), "scale is no map of scores")
        levels = own["levels"]
        require(
            tuple(levels[TARGET]) == LEVELS and bool((levels >= 0.0).all()), "levels are not those of sets"
        )
        require(own["counts"][GROUPED] < GROUP, "counts has a group that is complete")


def _scratch(classes: int) -> Probabilities:
    return Probabilities(*np.zeros((4, padded(max(1, classes)))))

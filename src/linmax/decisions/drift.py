"""An alarm when the share of mistakes rises: the Page-Hinkley test, in units of the standard deviation.

m is the mean of all losses since the change that the last alarm has found, and s = sqrt(m (1 - m)), at least
0.1. After every 32 losses

U = max(0, U + sum of ((loss - m) / s - ALLOWANCE));  alarm when U > LIMIT

A session that learns makes fewer and fewer mistakes, so m is above the present rate and U stays near 0. The
change is taken to have begun after the trial on which U was last 0.

References
----------
Page, Continuous inspection schemes, Biometrika 1954. Gama et al., A survey on concept drift adaptation, 2014.
"""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import inline

ALLOWANCE = 0.1
LIMIT = 50.0
MIN_TRIALS = 100
MIN_DEVIATION = 0.1
MAX_ALARMS = 64
GROUP = 32  # losses between two tests

TOTAL, WRONG, SUM, RECENT, RECENT_WRONG = 0, 1, 2, 3, 4  # of a detector
DETECTOR_SIZE = 5
ALARM_FIELDS = 4


class DriftAlarm(NamedTuple):
    """A rise of the share of mistakes.

    Parameters
    ----------
    trial
        The number of labelled items after which the alarm was raised.
    since
        The number of labelled items after which the change is estimated to have begun.
    error_before
        The share of mistakes from the change of the previous alarm, or the beginning, to this change.
    error_after
        The share of mistakes from the change to the alarm.
    """

    trial: int
    since: int
    error_before: float
    error_after: float


@inline
def learn_losses(wrong, trial, d, alarms, count):
    """Add the sum of a group of losses, up to this trial, to the detector d; return whether that is an alarm.

    `alarms` has a row for each of the latest alarms; the `count`-th goes to row count % MAX_ALARMS.
    """
    d[TOTAL] += GROUP
    d[WRONG] += wrong
    mean = d[WRONG] / d[TOTAL]
    deviation = max(math.sqrt(mean * (1.0 - mean)), MIN_DEVIATION)
    d[SUM] += (wrong - GROUP * mean) / deviation - GROUP * ALLOWANCE
    if d[SUM] <= 0.0:
        d[SUM] = 0.0
        d[RECENT] = 0.0
        d[RECENT_WRONG] = 0.0
        return False
    d[RECENT] += GROUP
    d[RECENT_WRONG] += wrong
    if d[SUM] <= LIMIT or d[TOTAL] < MIN_TRIALS or d[RECENT] >= d[TOTAL]:
        return False
    row = count % MAX_ALARMS
    alarms[row, 0] = trial
    alarms[row, 1] = trial - d[RECENT]
    alarms[row, 2] = (d[WRONG] - d[RECENT_WRONG]) / (d[TOTAL] - d[RECENT])
    alarms[row, 3] = d[RECENT_WRONG] / d[RECENT]
    d[TOTAL] = d[RECENT]
    d[WRONG] = d[RECENT_WRONG]
    d[SUM] = 0.0
    d[RECENT] = 0.0
    d[RECENT_WRONG] = 0.0
    return True


def alarms_of(table: np.ndarray, count: int) -> list[DriftAlarm]:
    """Return the latest alarms, oldest first.

    Parameters
    ----------
    table
        The rows that `learn_losses` has written.
    count
        The number of alarms so far.
    """
    rows = [table[i % MAX_ALARMS] for i in range(max(0, count - MAX_ALARMS), count)]
    return [DriftAlarm(int(row[0]), int(row[1]), float(row[2]), float(row[3])) for row in rows]

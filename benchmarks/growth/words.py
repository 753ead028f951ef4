"""What stands around the figures on growth, and why a line is not straight."""

HEAD = """\
## How cost grows

Time is per trial, in a session that has begun; every point gets as many rows as fill a small fixed time,
and all points of an axis take turns. Memory is that of the session's arrays, spare room and scratch
included. Slopes are those of lines in log-log plots, by least squares over the upper half of the values:
1 is in proportion, 0 is not at all; a slope within 0.15 of these is called so. Medians of 5 rounds.

"""
WHY = {
    "experts": """\
A trial of a single learner adds up one weight per vote, and on a mistake goes through the votes once
more; its k thresholds, and what a call costs, are the part that does not grow, which is why the slope is
a little below 1 before n is large. The default is in proportion, too; what a vote costs there are mostly
the two members that count (`NaiveBayes`), which take a logarithm per expert or more, and the one with a
weight for each class said.

""",
    "classes": """\
A trial of a single learner costs n votes and k scores: with few classes the votes are the larger part,
so the slope is on its way to 1. The default has members with a weight, or a count, for each expert,
class said and class meant: a trial reads one of the k classes said per expert, so time is in proportion
to n k, but all n k k of them are kept, so that memory grows with the square of k.

""",
    "trials": """\
The mean over the first trials of one call of `learn`. A trial costs the same for ever: averages are
lazy, and
nothing is kept of old trials. What falls at the left is the cost of the call, spread over few trials.
The default is not run on streams on
which it would take too long for this benchmark.

""",
    "non-zeros": """\
In proportion to what is not zero, and not to the attributes there are. Memory holds all weights, those
of attributes that have not been seen in these rows, too. An average costs more than the plain rule:
every row is scored twice, by the mean and by the last weights, and each weight that moves brings its
running sum up to date first.

""",
    "members": """\
Every member runs on its own, so time is about in proportion to them; a small committee shows the part that
does not grow: reading the votes once for all, and for `Combine` the hypotheses that it saves of its
leader, whose scores it adds up at each trial, however many members there are.

""",
}
LONG = """\
### A long stream

`Averaged(Winnow(1.2))`, 20 experts, in pieces of 100,000; the process has measured other things before. """
KERNELS = """\
Sources with a kernel are the exception: they keep the rows they moved on, and a trial costs time in
proportion to them. `make bench-sharing` measures that; [its figures](../../docs/sharing.md) are on the
page on sharing.
"""

"""The text around the figures on growth, with an explanation of each axis."""

HEAD = """\
## How cost grows

Time is per trial, in a session that has already learned some trials; every point gets as many rows as take
a small fixed time, and all points of an axis run in turn. Memory is that of the session's arrays, including
spare capacity and work space. Slopes are those of lines in log-log plots, by least squares over the upper
half of the values: 1 is proportional, 0 is constant; a slope within 0.15 of these is labelled so. Figures
are medians of 5 rounds.

"""
WHY = {
    "experts": """\
A trial of a single learner adds one weight per vote, and on a mistake visits the votes a second time. Its k
thresholds and the cost of a call do not grow, so the slope is slightly below 1 until n is large. The
default is proportional, too. Most of its cost per vote is in the two members that count (`NaiveBayes`),
and in the member with a weight for each voted class.

""",
    "classes": """\
A trial of a single learner costs n votes and k scores: with few classes the votes dominate, so the slope
approaches 1 slowly. The default has members with a weight, or a count, for each expert, voted class and
true class: a trial reads one of the k voted classes per expert, so time is proportional to n k. Up to
16,777,216 of these n k k entries are stored as arrays, so that memory grows with the square of k; larger
tables are stored in blocks that are made when something is learned about them, so that memory grows with
the trials instead.

""",
    "trials": """\
The mean over the first trials of one call of `learn`. The cost of a trial is constant: averages are updated
lazily, and no old trials are stored. The decrease at the left is the cost of the call, divided by few
trials. The default is not run on streams that would take too long for this benchmark.

""",
    "non-zeros": """\
The cost is proportional to the non-zero attributes, not to all attributes. Memory holds all weights,
including those of attributes that do not occur in these rows. An average costs more than the plain rule:
every row is scored twice, by the mean and by the current weights, and each weight that moves first updates
its running sum.

""",
    "members": """\
Every member runs separately, so time is about proportional to their number; a small ensemble shows the part
that does not grow: reading the votes once for all, and for `Combine` the saved hypotheses of its leader,
whose scores it adds at each trial, whatever the number of members.

""",
}
LONG = """\
### A long stream

`Averaged(Winnow(1.2))`, 20 experts, in chunks of 100,000; the process has run other measurements before. """
KERNELS = """\
Sources with a kernel are the exception: they store the rows they moved on, and the time of a trial is
proportional to their number. `make bench-sharing` measures this; [its figures](../../docs/sharing.md) are
on the page on sharing.
"""

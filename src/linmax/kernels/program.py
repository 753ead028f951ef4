"""The loop over the stages of a program: each takes a block of trials, then the next one does."""

from linmax._jit.addresses import stage_at
from linmax._jit.compilation import CompiledKernel, separate
from linmax._jit.memory import int32_at, int64_at, set_int32
from linmax._jit.tiers import Budget
from linmax.kernels.structs import MISTAKES, TRIALS


def run_stages(table, stages, begin, end, block):
    """Run the trials begin <= t < end, `block` at a time; `table` has code and memory of each stage."""
    start = begin
    while start < end:
        stop = min(start + block, end)
        for j in range(stages):
            stage = stage_at(table[2 * j])
            stage(table[2 * j + 1], start, stop, 0)
        start = stop


run = CompiledKernel(run_stages)
Budget.is_cold = lambda: not run.is_on_disk()  # whatever is compiled is run by it


@separate
def run_first(table, label):
    """Run one trial with this label, and return the predicted code.

    `table` is the address of the number of stages, the addresses of the label and of the predicted code, and
    then the code and the memory of each stage.
    """
    set_int32(int64_at(table + 8), label)
    for j in range(int64_at(table)):
        stage = stage_at(int64_at(table + 24 + 16 * j))
        stage(int64_at(table + 32 + 16 * j), 0, 1, 0)
    return int32_at(int64_at(table + 16))


first = CompiledKernel(run_first)


def run_each(table, codes, labels, item, found):
    """Run trials one after the other, each with its votes where those of one trial are bound.

    `table` is as for `run_first`, and `found` takes the predicted codes.
    """
    for row in range(len(labels)):
        for i in range(codes.shape[1]):
            item[0, i] = codes[row, i]
        found[row] = run_first(table, labels[row])


each = CompiledKernel(run_each)


def copy_trials(codes, scores, out_codes, out_scores, begin, end):
    """Copy the predictions of a block to other arrays of a block."""
    for row in range(end - begin):
        out_codes[row] = codes[row]
    for row in range(min(end - begin, len(out_scores))):
        for c in range(min(scores.shape[1], out_scores.shape[1])):  # some are as wide as complete vectors
            out_scores[row, c] = scores[row, c]


copy = CompiledKernel(copy_trials)


def collect_trials(codes, scores, first, out_codes, out_scores, begin, end):
    """Copy the predictions of a block to the arrays of all trials, which start at trial `first`."""
    for t in range(begin, end):
        out_codes[t - first] = codes[t - begin]
        if len(out_scores) > 0:
            for c in range(min(scores.shape[1], out_scores.shape[1])):
                out_scores[t - first, c] = scores[t - begin, c]


collect = CompiledKernel(collect_trials)


def distribute_trials(codes, scores, first, out_codes, out_scores, begin, end):
    """Copy the predictions of a block from the arrays of all trials, which start at trial `first`."""
    for t in range(begin, end):
        out_codes[t - begin] = codes[t - first]
        if len(out_scores) > 0:
            for c in range(min(scores.shape[1], out_scores.shape[1])):
                out_scores[t - begin, c] = scores[t - first, c]


distribute = CompiledKernel(distribute_trials)


def count_trials(labels, codes, counts, begin, end):
    """Count the labelled trials of a block, and the mistakes among their predictions."""
    for t in range(begin, end):
        counts[TRIALS] += 1 * (labels[t] >= 0)
        counts[MISTAKES] += 1 * (labels[t] >= 0 and codes[t - begin] != labels[t])


count = CompiledKernel(count_trials)

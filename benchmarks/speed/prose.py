"""The text around the figures on speed: how each method is called, and which work is comparable."""

HEAD = """\
## Speed on the same work

Every method learns the same rows in one pass and predicts each row before it learns its label. The methods
run in turn, call by call, in one session: linmax and the C reference in this process, the peers in a second
process whose inputs are prepared in advance. Each method gets as many rows as take a small fixed time, so
fast methods get more rows than slow ones. Figures are microseconds per additional row: the time of a run
minus that of a run on five rows (its start-up), divided by the number of rows between. The total time,
including start-up, and the start-up alone are in the table of one cell in full and, for all cells, in the
JSON file.

Figures are medians of {rounds} rounds of about 40 ms each (more rounds in the parts on C, single items and
VR-Combine): wall time, CPU time in parentheses, then the ratio to linmax's single learner in CPU time; a
ratio below 1 is faster than linmax. Methods that are called row by row are compared with `learn_one`, all
others with `learn` on an array. *~* marks cells whose rounds differ by more than 30 %. Vowpal Wabbit parses
in a separate thread with busy waiting: in long runs its CPU time is up to twice its wall time. linmax's
default uses all cores when there are many rows.

Votes are generated: the label is the plurality of 10 relevant experts, the others vote at random, and 5 %
of the labels are noise (`linmax.problems.majority`). Speed is not quality: Winnow updates on mistakes only
and makes many here, an average makes few, and on real panels `Fusion()` is better than both
([quality](#quality-after-one-pass)).

"""
LOST = """\
### Where a peer is faster

Peers are compared with linmax's single learner and with its default, which is an ensemble and does more
work; peers that are called for each row are compared with `learn_one`.

"""
CALLED = """\
### How each method is called

- **linmax** reads an array of votes. *Winnow* and *Perceptron* are single learners with one weight per
  expert and one per class; *averaged* predicts with the mean of Winnow's hypotheses; *recycled* also
  repeats earlier rows; *default* is `Fusion()`, an ensemble of seven learners, one of them with a weight
  for each expert, voted class and true class, and one that counts these: more work than any other line
  here. Start-up is the construction of the session. *One by one* is `learn_one` on a dict of votes.
- **C** is the same loop with the same result (`cc -O3`), on an array that is already validated.
- **VW csoaa_ldf, wap_ldf** with label-dependent features have one weight per expert, shared by all classes,
  and one constant for all classes, where linmax's single learners have one per class: nearly the same
  hypotheses, one feature less to read, and another rule. (With a constant per class they make fewer
  mistakes where classes differ; the part on quality has both.) The option is `mc`, since costs are 0 and 1;
  the loss is logistic, which makes fewer mistakes on most real panels; features are numbers, which are read
  as fast as names; the number of bits is the default, which is small for the largest cells: features
  collide, which affects mistakes but not time. **VW oaa** has a weight for each expert, voted class and
  true class, as linmax's `PerClass`: the larger hypothesis space.
- *file*: VW reads a text file and writes no predictions; parsing is included, since text is its input
  format. Its start-up is mainly the allocation of the weights. *cache*: the second run, from the binary
  file written by `--cache_file`; the text file is emptied first. *Python*: `Workspace.learn` on the text of
  each row. *parsed*: `learn` on examples that were parsed before the timing starts, which excludes a cost
  that every user has. VW predicts before it learns; its sum of losses is the number of mistakes. Two
  classes run like many; Vowpal Wabbit and River have binary learners that do half the work, which were not
  measured.
- **River** is called by `predict_one` and `learn_one` on dicts "expert=class" that are built in advance:
  `OneVsRestClassifier(Perceptron())`, and `SoftmaxRegression()` with its default optimizer. It has a weight
  for each expert, voted class and true class. Its models are created when a class first appears, which
  favours it where rows are few and classes many. Its mini-batches (`learn_many` on data frames) were not
  measured.
- **scikit-learn** is called by `predict` and `partial_fit` on sparse rows that are built in advance, in
  chunks of 1000 and row by row, with default settings and without its checks of parameters and numbers. In
  chunks it predicts a thousand rows with the same weights, which is less work than the others do; the first
  chunk is predicted before anything is learned. It uses one thread: each call scales all weights, and
  threads would wait for each other on a busy machine. Its weights are as in River; it has no learner with
  one weight per expert, shared by all classes.

"""
ATTRIBUTES = """\
### Attributes

All methods have a weight for each attribute and class. The digits are scikit-learn's, dense, repeated in
random orders; the texts are generated: words by Zipf's law, some of them from a topic of the class. linmax
reads dense arrays and CSR. The rules differ in what they do on a mistake, and some also update on correct
predictions, so the mistakes among the first rows are listed beside the time: on texts Vowpal Wabbit, which
updates on correct predictions as well, makes fewer than linmax's average. It runs with its default of 18
bits.

"""
C = """\
### Compared with C

Nanoseconds of CPU per row, k = 5; the ratio (min .. max) is computed within each round. The program in C
takes no unpredictable branch for a vote, and is compiled for this processor (`c_reference.c`). It reads the
votes as bytes; linmax is given the same table as bytes, and as integers of four bytes, and its figures
include all checks of its input.

"""
ONE = """\
### One item at a time

Microseconds per call on a dict of 20 votes, k = 5, in a session that has already learned.

"""
DEFAULT = """\
### The default by part

Microseconds of CPU of `learn_one`, 20 votes, 10 classes; the parts are timed separately.

"""
COMMITTEE = """\
### VR-Combine compared with a plain numba program

Milliseconds of CPU on one core for identical predictions, 5000 rows of 20 experts, 5 classes. The 31 runs
are 31 sessions, one after the other; the ensemble runs them together and reads the votes once.

"""

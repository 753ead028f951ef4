"""What stands around the figures on speed: how each is called, and what is the same work."""

HEAD = """\
## Speed on the same work

Everybody learns the same rows in one pass and guesses each row before its label counts. All take turns,
call by call, in one run: linmax and plain C in this process, the peers in one that stays and has its
inputs ready. Each method gets as many of the first rows as fill a small fixed time, so fast ones get
more rows than slow ones. Figures are microseconds for one row more: the time of a run less that of a run
on five rows, which is its start, over the rows between. The whole, start included, and the start alone
stand beside it in the table of one cell in full and, for all, in the JSON file.
Medians of {rounds} rounds (more in
the parts on C, single items and VR-Combine), each of some 40 ms: wall time, CPU time in brackets, then how
many times linmax's single learner that is, in CPU time; below 1 is faster than linmax. Who is called row by
row stands beside `learn_one`, all others beside a table. *~* marks rounds that lie more than 30 % apart.
Vowpal Wabbit parses in a thread of its own, which waits busily: in long runs its CPU time is up to twice
its
wall time. linmax's default uses all cores where rows are many.

Votes are generated: the plurality of 10 relevant experts is the truth, the others guess, and 5 % of the
labels are noise (`linmax.problems.majority`). Speed is not quality: Winnow moves on mistakes only and makes
many here, an average few, and on real panels neither is what `Fusion()` is
([quality](#quality-after-one-pass)).

"""
LOST = """\
### Where a peer is faster

Beside linmax's single learner and beside its default, which is a committee and does more; peers that are
called for each row stand beside `learn_one`.

"""
CALLED = """\
### How each is called, and what is the same work

- **linmax** reads an array of votes. *Winnow* and *Perceptron* are single learners with a weight per
  expert and one per class; *averaged* guesses with the mean of Winnow's hypotheses; *recycled* goes over
  old rows again; *default* is `Fusion()`, a committee of seven learners, one of them with a weight for
  each expert, class said and class meant, and one that counts as many: more work than any other line
  here. Making the session is its start. *One by one* is `learn_one` on a dict of votes.
- **plain C** is the same loop with the same result (`cc -O3`), on an array that is already checked:
  nothing else is in it.
- **VW csoaa_ldf, wap_ldf** with label-dependent features have one weight per expert, shared by all
  classes, and one constant for all of them, where linmax's single learners have one per class: nearly
  the same hypotheses, with a feature less to read, and another rule. (With a constant per class they
  make fewer mistakes where classes are not alike; the part on quality has both.) `mc`, since costs are 0
  and 1; logistic loss, as it makes fewer mistakes on most real panels; features are numbers, which are
  read no slower than names; default bits, which are few for the largest cells: features collide, which
  costs mistakes and no time. **VW oaa** has a weight for each expert, class said and class meant:
  linmax's `PerClass`, the larger space.
- *file*: VW reads a text file to the end and writes no guesses; parsing is in its time, as text is what
  it is fed with. Its start is making the weights, mainly. *cache*: the second run, from the binary file
  that `--cache_file` has left; the text is emptied before, so that nothing but the cache is read.
  *Python*: `Workspace.learn` on each row's text. *parsed*: `learn` on examples that were parsed before
  the watch started, which leaves out what every user has to pay. VW guesses before it learns by itself;
  its sum of losses counts the mistakes. With two classes all run as with many; Vowpal Wabbit and River
  have learners for two that do half the work, which were not tried.
- **River** is called by `predict_one` and `learn_one` on dicts "expert=class" made before:
  `OneVsRestClassifier(Perceptron())`, and `SoftmaxRegression()` with its default optimizer. A weight for
  each expert, class said and class meant. Its models appear with their classes: where rows are few and
  classes many, that flatters it. Its mini-batches (`learn_many` on data frames) were not tried.
- **scikit-learn** is called by `predict` and `partial_fit`, on sparse rows made before, in chunks of
  1000 and row by row, at default settings, its checks of parameters and numbers switched off. In chunks
  it guesses a thousand rows with the weights of
  before, which is less than the others do; the first chunk is guessed before anything is known. One
  thread: each call scales all weights, and threads would wait for each other on a busy machine. Weights
  as in River; it has nothing with one weight per expert, shared by all classes.

"""
ATTRIBUTES = """\
### Attributes

A weight for each attribute and class, for all. Digits are scikit-learn's, dense, several times over in
random orders; texts are generated: words by Zipf's law, a part of them from the topic of the class.
linmax reads dense arrays and CSR. Rules differ in what they do on a mistake, and not everybody moves on
mistakes only, so beside time stand the mistakes among the first rows: on texts Vowpal Wabbit, which
moves on
right guesses, too, makes fewer than
linmax's average. It runs with its default of 18 bits.

"""
C = """\
### Beside plain C

Nanoseconds of CPU per row, k = 5; the ratio is taken within each round.

"""
ONE = """\
### One item at a time

Microseconds on a dict of 20 votes, k = 5, in a session that goes on.

"""
DEFAULT = """\
### The default by part

Microseconds of CPU of `learn_one`, 20 votes, 10 classes; the parts are timed by themselves.

"""
COMMITTEE = """\
### VR-Combine beside a plain numba program

Milliseconds of CPU on one core for the same guesses, 5000 rows of 20 experts, 5 classes. The 31 runs are 31
sessions, one after the other; the committee runs them together, and reads the votes once.

"""

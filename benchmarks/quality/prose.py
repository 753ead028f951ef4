"""The text of the page on quality."""

from __future__ import annotations

HEAD = """\
## Quality after one pass

Every prediction is made before its label is seen, and all learners get the same items in the same order.
There are real panels, whose experts vote; panels of models, which scikit-learn fitted to {fitted} items of
a stream and which vote on other items of it; real streams with attributes and no experts; and generated
problems, with votes or attributes, generated again for each seed. Of a stream each order has the stated
number of items, the same for all learners: River's members take milliseconds per item on wide streams. The
faces are reduced to 16 by 16 pixels.

*linmax* is the default, `Fusion()`. Its committee on votes was [tuned](../../docs/recommended.md) on the real
panels over these same orders, all of them at once (about two hundred settings were compared), and inspected
on some generated streams; its committee on attributes was chosen among some three hundred on these same
streams and orders. Other learners of linmax are listed beside it.
"""

WINS = """\
The peer is the best of all members of all libraries on that problem, chosen in hindsight; linmax has one
learner. Differences are in percentage points of accuracy, linmax minus the peer, paired by order: mean ±
standard error over the random orders (for generated problems: over the seeds). On panels the error measures
the effect of the order of the items, not of other items. *ahead* and *behind*: the 95 % t interval of the
difference excludes zero; otherwise *level*. The last two columns are for the order of the file, a single
run; files sorted by class are only shuffled. Where a file has its classes in blocks, learners that forget
fast are ahead, and predicting the last label may beat all of them.
"""

WHY = """\
Reasons. bluebird_binary has 108 items, and an ensemble of seven learners has hardly started when the file
ends. On words step sizes per word and class matter most, which `SquaredHinge` has, too; the other members
of the default are behind it there, and cost it a little. A file whose classes are in blocks favours
learners that forget fast.
"""

LATER = """\
In the second half of a pass, when all have learned, these make fewer mistakes than linmax's default, on
average over the random orders; part of an advantage in the table above is a faster start.
"""

OUTVOTED = """\
The plurality makes fewer mistakes than linmax's default on: {names}.
"""

MIXED = """\
On attributes linmax can also be an ensemble: a mixture of its linear learners, of one that shares between
classes and of a kernel, the same on all problems, against the best peer in hindsight.
"""

ALIKE = """\
Hindsight on both sides: the best of linmax's learners against the best of all peers, where that is not the
default. The best is chosen over the random orders; it may differ in the order of the file.
"""

EACH = """\
Accuracy, mean over the random orders; each library with its best member in hindsight.
"""

EVERYONE = """\
Mistakes in one pass: mean ± standard deviation over the random orders (for streams each order also has
other items); then, after the semicolon, in the order of the file. The smallest mean is bold. Blank: not
run. `vr_combine()` runs on the largest panels in two orders only, because of its run time. The best expert
is chosen in hindsight.
"""

LATE = """\
Mistakes in the second half of the pass, mean over the random orders. *scikit-learn* is a logistic
regression fitted in batch to the first half: on votes it is the final estimator of a `StackingClassifier`
with prefit members, on one-hot votes. It has seen the first half only and does not continue to learn. All
others continue to learn, item by item, which is their advantage here; its advantage is that it can visit
the first half as often as needed.
"""

BEATEN = """\
In this half scikit-learn, in batch, makes fewer mistakes than linmax's default, on average, on: {names}.
"""

FAIR = """\
Every setting of the peers was chosen in hindsight, in their favour, from the first random order of some of
these same problems; `benchmarks/peers/settings.py` lists what was tried. On attributes linmax's settings
are defaults or those of `Fusion()`'s members; the width of the kernel is a quarter of the number of
attributes.

Votes. Vowpal Wabbit's `csoaa_ldf` and `wap_ldf` have one weight per expert, shared by all classes, as
`Votes()` has, and with *thresholds* also one per class, as `Thresholds()` has; `oaa` and River's members
have one per expert, voted class and true class, as `PerClass()` has. linmax's default is an ensemble of all
these and of naive Bayes, compared with single learners: its class of hypotheses is larger.
`Averaged(Perceptron())` is linmax as a single learner, with one weight per expert and per class. No method
was set for drift: one of linmax's members takes larger steps all the time, while the adaptive steps of
Vowpal Wabbit and River decrease.

Attributes. All get the same numbers, standardized with the mean and standard deviation of the items so far,
including the current one, as River's `StandardScaler` does, except for linmax's default, which standardises
by itself (`ScaledAttributes()`) and gets them as they are in the file; words are 0 or 1. Vowpal Wabbit's
`oaa`, River's and linmax's linear learners have one weight per attribute and class: the same hypotheses
with different rules. So has `wap_ldf` with `-q cx`, which learns from pairs of classes; `csoaa_ldf` with it
would be equivalent to `oaa`. River's naive Bayes, Gaussian on numbers, is quadratic; linmax's kernel is not
linear either, and its hybrid adds what the classes share. scikit-learn's `SGDClassifier` with `partial_fit`
takes milliseconds per item and was behind Vowpal Wabbit where it was tried, so it is included in batch
only.
"""

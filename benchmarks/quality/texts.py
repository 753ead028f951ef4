"""What the page says in words."""

from __future__ import annotations

HEAD = """\
## Quality after one pass

Every guess is made before its label is seen, and all learners get the same items in the same order.
There are
real panels, whose experts vote; panels of models, which scikit-learn fitted to {fitted} items of a
stream and
which vote on others of it; real streams with attributes and no experts; and generated problems, with
votes or
attributes, drawn anew with each seed. Of a stream each order feeds as many items as are stated, the same to
all: River's members take milliseconds an item on wide ones. The faces are taken at 16 by 16 pixels.

*linmax* is the default. On votes that is `Fusion()`, which was [tuned](../../docs/recommended.md) on the
real
panels over these very orders, all of them at once (some two hundred settings were compared), and looked
at on
some generated streams. On attributes,
which `Fusion()` does not read, it is what `LinearMaxClassifier` is by default: an averaged Perceptron
with a
weight per attribute and class, tuned on nothing. Other learners of linmax stand beside it.
"""

WINS = """\
The peer is the best of all members of all libraries on that problem, chosen in hindsight; linmax has one
learner. Differences are in points of accuracy, linmax minus the peer, paired by order: mean ± standard
error
over the random orders (of generated problems: over the draws). On panels the error says what the order
of the
items does, not what other items would do. *ahead* and *behind*: the 95 % t interval of the difference
leaves
out zero. The last two columns are the order of the file, once; files sorted by class are only shuffled.
Where
a file has its classes in blocks, whoever forgets fast is ahead, and the last label seen may beat everybody.
"""

WHY = """\
Why. On bluebird_binary, of 108 items, a committee of seven learners has hardly begun when the file ends. On
attributes the default moves on mistakes only, by the whole row, and its average remembers old blocks of
a file
that is not shuffled; adaptive steps, and learning from right guesses, too, are what is missing, and what
the
mixture below has. On words the peers' steps of their own for each word count most: nothing of linmax's
here is
as good as Vowpal Wabbit's `oaa`.
"""

LATER = """\
In the second half of a pass, where all have learned, these make fewer mistakes than linmax's default, on
average over the random orders; part of a lead in the table above is an early start.
"""

OUTVOTED = """\
The plurality makes fewer mistakes than linmax's default on: {names}.
"""

MIXED = """\
On attributes linmax can be a committee, too: a mixture of its linear learners, of one that shares between
classes and of a kernel, the same on all of them, against the best peer in hindsight.
"""

ALIKE = """\
Hindsight on both sides, the best of linmax's learners against the best of all peers, where that is another
than the default. The best is that over the random orders; it may be another in the order of the file.
"""

EACH = """\
The part of right guesses, mean over the random orders; each library with its best member in hindsight.
"""

EVERYONE = """\
Mistakes in one pass: mean ± standard deviation over the random orders (of streams each order also feeds
other
items); then, after the semicolon, in the order of the file. In bold the fewest on average. Blank: not run.
`vr_combine()` runs on the largest panels in two orders only, for its time. The best expert is in hindsight.
"""

LATE = """\
Mistakes in the second half of the pass, mean over the random orders. *scikit-learn* is a logistic
regression
fitted in batch to the first half: on votes it is what `StackingClassifier` with fitted members makes of
them,
one-hot. It has seen the first half only and does not go on learning. All others did go on, item by item:
that
is their advantage here; its own is to go over the first half as often as it likes.
"""

BEATEN = """\
In this half scikit-learn, in batch, makes fewer mistakes than linmax's default, on average, on: {names}.
"""

FAIR = """\
Every setting of the peers was chosen in hindsight, in their favour, by looking at the first random order of
some of these very problems; `benchmarks/peers/settings.py` says what was tried. linmax's on attributes are
defaults or are taken from `Fusion()`'s members; the kernel's width is a quarter of the number of
attributes.

Votes. Vowpal Wabbit's `csoaa_ldf` and `wap_ldf` have one weight per expert, shared by all classes, as
`Votes()` has, and with *thresholds* also one per class, as `Thresholds()` has; `oaa` and River's members
have
one per expert, what it says and what it means, as `PerClass()` has. linmax's default is a committee of all
these and of naive Bayes, beside single learners: that is not the same class of hypotheses.
`Averaged(Perceptron())` is linmax as a single learner, with one weight per expert and per class. Nobody was
set for drift: of linmax's members one takes larger steps all the time, while Vowpal Wabbit's and River's
adaptive steps become smaller.

Attributes. All get the same numbers, each less its mean and over its standard deviation among the items so
far, this one included, as River's `StandardScaler` does; words are 0 or 1. Vowpal Wabbit's `oaa`,
River's and
linmax's linear learners have one weight per attribute and class: the same hypotheses, moved by other rules.
So has `wap_ldf` with `-q cx`, which learns from pairs of classes; `csoaa_ldf` with it would be `oaa` again.
River's naive Bayes, Gaussian on numbers, is quadratic; linmax's kernel is not linear either, and its hybrid
adds what the classes share. scikit-learn's `SGDClassifier` by `partial_fit` takes milliseconds an item and
was behind Vowpal Wabbit where it was tried, so it is here in batch only.
"""

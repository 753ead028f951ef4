"""Which peers run, and their settings, which are part of the key of cached predictions.

Every peer sees each item once, in the same order, and guesses before it is told the label. A library counts
with its best member by mean accuracy on a problem, chosen in hindsight. The settings, too, were chosen by
looking at the first random order of these very problems. Both are in the peers' favour.

Vowpal Wabbit on votes: three reductions from many classes to two, at the default learning rate and bits (a
fifth or four times the rate, coin betting and plain SGD were no better overall).
  csoaa_ldf, wap_ldf  label-dependent features: a line per class names the experts who voted for it, so each
                      expert has one weight, shared by all classes. `mc` because the costs are 0 and 1; the
                      logistic loss is better than the default squared one on most panels. The constant
                      stays: without it csoaa_ldf loses up to 18 points.
  thresholds          the same with a feature for the class itself in its line, as linmax's Thresholds(): far
                      better on generated problems, on panels now better and now worse.
  oaa                 one against all on features "this expert said this class". Neither loss is better
                      everywhere, so both run. `--holdout_off` changes nothing in a single pass.

River on votes: four members on one-hot features "expert=class".
  logistic, softmax   at the default SGD(0.01) one against the rest has hardly started after 1,000 items (.40
                      on labelme, the plurality .77); AdaGrad(0.1) was best overall beside SGD at .01 to .1.
                      On mmlu_pro_votes small steps of SGD are better (.715 and .711 instead of
                      .710 and .702), but there passive-aggressive has .719.
  naive Bayes         ComplementNB; MultinomialNB was worse on all three panels, BernoulliNB on both, that
                      they were tried on.
  passive-aggressive  C = 0.01; at River's default of 1 it is 9 points worse on the largest panel; on some
                      smaller ones C = 0.1 is better, but other members are better still.

Vowpal Wabbit on attributes: a weight per attribute and class. `-q cx` pairs the attributes with the class, so
that wap_ldf has these weights, too; `-b 22` because 29271 words and 8 classes collide in 18 bits; `-l 2` is
better than the default 0.5 with the logistic loss on 4 of 5 streams for wap_ldf and 3 of 5 for oaa, and no
better with the squared one. csoaa_ldf on such features is oaa again, and was no better.

River on attributes: numbers are standardised before, as its StandardScaler does.
  logistic, softmax   AdaGrad(0.3) was better than 0.1 on 3 of 4 streams of numbers, and both than SGD(0.01);
                      on words 0.1 was.
  naive Bayes         GaussianNB on numbers; on words MultinomialNB, since ComplementNB goes over all words
                      seen so far for each guess, which takes minutes.
  passive-aggressive  C = 0.1 was better than 0.01 on 2 of 3 streams of numbers, and than 1 on all.

scikit-learn's SGDClassifier(loss="log_loss") by partial_fit is not here: 5 ms an item for 7 classes, .795 on
segment and .839 on optdigits when averaged, where VW has .88 and .90.
"""

from __future__ import annotations

ENCODING = "2"  # change it when items are encoded differently: cached predictions are then recomputed

VW = {
    "VW csoaa_ldf": "--csoaa_ldf mc --loss_function logistic",
    "VW wap_ldf": "--wap_ldf mc --loss_function logistic",
    "VW csoaa_ldf thresholds": "--csoaa_ldf mc --loss_function logistic # and a feature per class",
    "VW wap_ldf thresholds": "--wap_ldf mc --loss_function logistic # and a feature per class",
    "VW oaa": "--oaa {k}",
    "VW oaa logistic": "--oaa {k} --loss_function logistic",
}
RIVER = {
    "River logistic": "OneVsRestClassifier(LogisticRegression(AdaGrad(0.1)))",
    "River softmax": "SoftmaxRegression(AdaGrad(0.1))",
    "River naive Bayes": "ComplementNB()",
    "River passive-aggressive": "OneVsRestClassifier(PAClassifier(C=0.01))",
}
VW_MACHINE = {
    "VW wap_ldf": "--wap_ldf mc -q cx --loss_function logistic -l 2 -b 22",
    "VW oaa": "--oaa {k} -b 22",
    "VW oaa logistic": "--oaa {k} --loss_function logistic -l 2 -b 22",
}
RIVER_NUMBERS = {
    "River logistic": "OneVsRestClassifier(LogisticRegression(AdaGrad(0.3)))",
    "River softmax": "SoftmaxRegression(AdaGrad(0.3))",
    "River naive Bayes": "GaussianNB()",
    "River passive-aggressive": "OneVsRestClassifier(PAClassifier(C=0.1))",
}
RIVER_WORDS = {**RIVER, "River naive Bayes": "MultinomialNB()"}
LIBRARIES = {
    "votes": {"VW": VW, "River": RIVER},
    "numbers": {"VW": VW_MACHINE, "River": RIVER_NUMBERS},
    "words": {"VW": VW_MACHINE, "River": RIVER_WORDS},
}


def settings(form: str) -> dict[str, str]:
    """Return all members for a kind of items, with their settings."""
    return {name: called for members in LIBRARIES[form].values() for name, called in members.items()}

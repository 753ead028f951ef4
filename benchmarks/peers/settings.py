"""Which peers run and how each is called; what stands here is part of the key under which figures are kept.

Every peer sees each item once, in the same order, and guesses before it is told the label. A library counts
with its best member by mean accuracy on a panel, chosen in hindsight. The settings, too, were chosen by
looking at the first random order of these very panels. Both are in the peers' favour.

Vowpal Wabbit: three reductions from many classes to two, at the default learning rate and bits (a fifth or
four times the rate, coin betting and plain SGD were no better overall).
  csoaa_ldf, wap_ldf  label-dependent features: a line per class names the experts who voted for it, so each
                      expert has one weight, shared by all classes. `mc` because the costs are 0 and 1; the
                      logistic loss is better than the default squared one on most panels. The constant
                      stays: without it csoaa_ldf loses up to 18 points.
  oaa                 one against all on features "this expert said this class". Neither loss is better
                      everywhere, so both run. `--holdout_off` changes nothing in a single pass.

River: four members on one-hot features "expert=class".
  logistic, softmax   at the default SGD(0.01) one against the rest has hardly started after 1,000 items (.40
                      on labelme, the plurality .77); AdaGrad(0.1) was best overall beside SGD at .01 to .1.
                      On mmlu_pro_votes small steps of SGD are better (.715 and .711 instead of
                      .710 and .702), but there passive-aggressive has .719.
  naive Bayes         ComplementNB; MultinomialNB was worse on all three panels, BernoulliNB on both, that
                      they were tried on.
  passive-aggressive  C = 0.01; at River's default of 1 it is 9 points worse on the largest panel; on some
                      smaller ones C = 0.1 is better, but other members are better still.
"""

from __future__ import annotations

ENCODING = "1"  # raise it when an item reaches a peer in another way than before: kept figures then run again

VW = {
    "VW csoaa_ldf": "--csoaa_ldf mc --loss_function logistic",
    "VW wap_ldf": "--wap_ldf mc --loss_function logistic",
    "VW oaa": "--oaa {k}",
    "VW oaa logistic": "--oaa {k} --loss_function logistic",
}
RIVER = {
    "River logistic": "OneVsRestClassifier(LogisticRegression(AdaGrad(0.1)))",
    "River softmax": "SoftmaxRegression(AdaGrad(0.1))",
    "River naive Bayes": "ComplementNB()",
    "River passive-aggressive": "OneVsRestClassifier(PAClassifier(C=0.01))",
}
LIBRARIES = {"VW": VW, "River": RIVER}
SETTINGS = {**VW, **RIVER}

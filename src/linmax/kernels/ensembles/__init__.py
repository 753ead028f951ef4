"""The kernels of ensembles: the board of scores, mixtures, voting, Naive Bayes and regressions."""

"""One table over all claims of the papers, made of the kept results alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from experiments.catalogue import experiments
from experiments.interface import Judgement, Verdict
from experiments.pages import RESULTS, markdown, read

PAPERS = {
    "1999": "Mesterharm, A multi-class linear learning algorithm related to Winnow, NIPS 1999",
    "2003": "Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, ICML 2003",
    "2006": "Fink, Shalev-Shwartz, Singer & Ullman, Online multiclass learning by interclass hypothesis"
    " sharing, ICML 2006",
    "2008": "Mesterharm & Hsu, Combinatorial fusion with on-line learning algorithms, 2008",
    "lecture": "Schapire, COS 511: Theoretical machine learning, lecture 15, 2008",
}
JUDGEMENTS: tuple[Judgement, ...] = ("reproduced", "reproduced in order only", "not reproduced", "data lost")


def claims(folder: Path = RESULTS) -> dict[str, list[tuple[str, Verdict]]]:
    """The verdicts of each paper with the experiments they are from, judged anew from the kept figures."""
    found: dict[str, list[tuple[str, Verdict]]] = {}
    for name, one in experiments().items():
        kept = read(one, folder)
        if kept is not None:
            found.setdefault(one.paper, []).extend((name, verdict) for verdict in one.judge(kept["figures"]))
    return found


def counts(folder: Path = RESULTS) -> str:
    """How many claims of each paper came to what."""
    lines = []
    for paper, verdicts in claims(folder).items():
        count = Counter(verdict.judgement for _, verdict in verdicts)
        lines.append([PAPERS[paper], *(str(count[judgement] or "") for judgement in JUDGEMENTS)])
    return markdown(["paper", *JUDGEMENTS], lines)


def table(folder: Path = RESULTS, link: str = "../experiments/results/") -> str:
    """Every claim with the paper's figure, ours, the verdict and why."""
    lines = [
        [
            verdict.claim,
            verdict.source,
            verdict.paper,
            verdict.found,
            f"**{verdict.judgement}**" if verdict.judgement == "not reproduced" else verdict.judgement,
            verdict.why,
            f"[{name}]({link}{name}.md)",
        ]
        for verdicts in claims(folder).values()
        for name, verdict in verdicts
    ]
    return markdown(["claim", "where", "paper", "linmax", "verdict", "why", "more"], lines)


def fitted(folder: Path = RESULTS) -> str:
    """What was chosen because it fits, experiment by experiment."""
    lines = [
        [f"`{name}`", one.fitted]
        for name, one in experiments().items()
        if one.fitted and read(one, folder) is not None
    ]
    return markdown(["experiment", "fitted"], lines)

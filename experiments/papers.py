"""Tables of all claims of the papers, generated from the stored results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from experiments.catalogue import experiments
from experiments.interface import Judgement, Outcome
from experiments.pages import RESULTS, markdown, read

PAPERS = {
    "1999": "Mesterharm, A multi-class linear learning algorithm related to Winnow, NIPS 1999",
    "2003": "Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, ICML 2003",
    "2006": "Fink, Shalev-Shwartz, Singer & Ullman, Online multiclass learning by interclass hypothesis"
    " sharing, ICML 2006",
    "2008": "Mesterharm & Hsu, Combinatorial fusion with on-line learning algorithms, 2008",
    "lecture": "Schapire, COS 511: Theoretical machine learning, lecture 15, 2008",
    "plans": "Plans of the papers that linmax carries out, and aims of linmax for them",
}
JUDGEMENTS: tuple[Judgement, ...] = ("reproduced", "reproduced in order only", "not reproduced", "data lost")


def claims(folder: Path = RESULTS) -> dict[str, list[tuple[str, Outcome]]]:
    """Return the outcomes by paper with their experiments, computed from the stored figures."""
    found: dict[str, list[tuple[str, Outcome]]] = {}
    for name, one in experiments().items():
        stored = read(one, folder)
        if stored is not None:
            found.setdefault(one.paper, []).extend(
                (name, outcome) for outcome in one.judge(stored["figures"])
            )
    return found


def counts(folder: Path = RESULTS) -> str:
    """Return the table of judgements by paper."""
    lines = []
    for paper, outcomes in claims(folder).items():
        count = Counter(outcome.judgement for _, outcome in outcomes)
        lines.append([PAPERS[paper], *(str(count[judgement] or "") for judgement in JUDGEMENTS)])
    return markdown(["paper", *JUDGEMENTS], lines)


def table(folder: Path = RESULTS, link: str = "../experiments/results/") -> str:
    """Return the table of all claims: the paper's figure, ours, the outcome and the reason."""
    lines = [
        [
            outcome.claim,
            outcome.source,
            outcome.paper,
            outcome.found,
            f"**{outcome.judgement}**" if outcome.judgement == "not reproduced" else outcome.judgement,
            outcome.why,
            f"[{name}]({link}{name}.md)",
        ]
        for outcomes in claims(folder).values()
        for name, outcome in outcomes
    ]
    return markdown(["claim", "where", "paper", "linmax", "outcome", "why", "more"], lines)


def fitted(folder: Path = RESULTS) -> str:
    """Return the table of choices that were fitted to the claims."""
    lines = [
        [f"`{name}`", one.fitted]
        for name, one in experiments().items()
        if one.fitted and read(one, folder) is not None
    ]
    return markdown(["experiment", "fitted"], lines)

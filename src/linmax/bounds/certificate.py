"""Certificates: a finished run with its comparator, bound and mistakes, in a form that others can check."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linmax._files import resolve_output, write_atomic
from linmax.bounds.bound import mistake_bound
from linmax.bounds.case import Case
from linmax.bounds.check_certificate import PARAMETERS, check
from linmax.bounds.theorems import FIRST
from linmax.bounds.tightest import tightest
from linmax.experts import Thresholds, Votes
from linmax.fusion import Fusion
from linmax.rules import Rule
from linmax.rules.adaptive_winnow import AdaptiveWinnow
from linmax.rules.winnow import Winnow
from linmax.spec import Learner, parse
from linmax.svm import Instances, comparator, instances, simplex_comparator
from linmax.validation import require

SIGNED, POSITIVE = "SVM", "SVM, u >= 0"


@dataclass(frozen=True)
class Certificate:
    """A run of a rule on a file, with its bound and what is needed to check both.

    `linmax/bounds/check_certificate.py` checks it against the file; it needs numpy, but not linmax.

    Parameters
    ----------
    learner : str
        The rule as it was written.
    rule : str
        The name of the rule.
    parameters : dict
        The parameters on which updates and bound depend.
    file, sha256 : str
        The name of the file, and the SHA-256 of its bytes.
    label : str
        The column of labels.
    experts, classes : list of str
        The columns of votes, and the classes.
    abstentions : list of str
        The cells that are no vote.
    items, trials : int
        How many rows were used, from the first on, and how many of them have a label.
    fitted : str
        How the comparator was fitted.
    comparator : list of float
        The weights u, with sum abs(u) = 1: of the experts and then, if each class has a threshold expert, of
        those by class.
    margin : float
        The margin delta of u at which the bound is smallest.
    noise : float
        The sum over trials of the hinge loss of u.
    bound : float
        The largest number of mistakes by the theorem.
    formula : str
        The formula of the theorem.
    source : str
        The publication of the theorem.
    mistakes : list
        The item (from 0) and the prediction of every mistake.
    version : int
        The version of the format, 2.

    Examples
    --------
    >>> from linmax.bounds import Certificate
    >>> [name for name in Certificate.__dataclass_fields__ if name.startswith("m")]
    ['margin', 'mistakes']
    """

    learner: str
    rule: str
    parameters: dict[str, Any]
    file: str
    sha256: str
    label: str
    experts: list[str]
    classes: list[str]
    abstentions: list[str]
    items: int
    trials: int
    fitted: str
    comparator: list[float]
    margin: float
    noise: float
    bound: float
    formula: str
    source: str
    mistakes: list[list[Any]]
    version: int = 2

    @property
    def trivial(self) -> bool:
        """Whether the bound is not below the number of trials, so that it says nothing."""
        return self.bound >= self.trials

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        text = json.dumps(asdict(self), indent=1, allow_nan=False)
        write_atomic(resolve_output(path), f"{text}\n".encode())


def certify(
    learner: Learner | str,
    file: str | Path,
    label: str,
    experts: Iterable[str] | None = None,
    *,
    abstentions: Iterable[str] | None = None,
    items: int | None = None,
    C: float = 1.0,
) -> Certificate:
    """Run a rule on a CSV file, and certify that its mistakes are within its bound on this very run.

    The comparator is fitted in hindsight: an SVM, or for Winnow the non-negative weights of smallest hinge.
    Before it is returned, the certificate is checked with `check_certificate.py`. An SVM requires
    `linmax[sklearn]`.

    Parameters
    ----------
    learner : Learner or str
        A rule with a bound, or its text, on `Votes()` or on `Votes() + Thresholds()`, which is the default.
    file : str or Path
        A CSV file in UTF-8, separated by commas, with a header; votes and labels are names of classes, taken
        as they are written: ``2.0`` and ``2`` are two classes. An item without a label is omitted.
    label : str
        The column of labels.
    experts : iterable of str, optional
        The columns of votes; all other columns by default.
    abstentions : iterable of str, optional
        The cells that are no vote; by default empty cells, and -1 unless it is a label.
    items : int, optional
        The number of items, from the start of the file; all by default.
    C : float, default=1.0
        The cost of the loss when the comparator is fitted; use a large value for data without noise.

    Returns
    -------
    certificate : Certificate
        The certificate.

    Raises
    ------
    ValueError
        If the learner has no bound here, with the reason.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from linmax import Averaged, Winnow
    >>> from linmax.bounds import certify
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name) / "votes.csv"
    >>> size = file.write_text("ann,bob,truth\\n" + "a,b,a\\nb,a,b\\n" * 20)
    >>> certificate = certify(Winnow(1.5), file, "truth")
    >>> len(certificate.mistakes), round(certificate.bound, 1), certificate.trivial
    (1, 4.3, False)
    >>> certify(Averaged(Winnow(1.5)), file, "truth")
    Traceback (most recent call last):
    ValueError: Averaged(Winnow(1.5)) has no certificate: Averaged predicts with a mean of hypotheses, ...
    >>> folder.cleanup()
    """
    made: Learner = parse(learner) if isinstance(learner, str) else learner
    if reason := why_not(made):
        raise ValueError(f"{made!r} has no certificate: {reason}")
    rule = made.rule
    path = Path(file)
    header, rows = read_plain_csv(path)
    require(
        items is None or (isinstance(items, int | np.integer) and items >= 1),
        f"items must be a whole number from 1 on (got {items!r}); leave it out to use all",
    )
    rows = rows[:items]
    columns = [name for name in header if name != label] if experts is None else list(experts)
    for name in (label, *columns):
        if name not in header:
            raise ValueError(f"{path.name} has no column {name!r}; its columns are {', '.join(header)}")
    require(label not in columns, f"the column {label!r} has the labels, so that it cannot be an expert")
    labels = [row[label] or None for row in rows]
    no_votes = {"", "-1"} - set(labels) if abstentions is None else set(abstentions)
    votes = [{name: row[name] for name in columns if row[name] not in no_votes} for row in rows]
    names = [*labels, *(vote for row in votes for vote in row.values())]
    classes = [one for one in dict.fromkeys(names) if one is not None]
    voters = list(dict.fromkeys(name for row in votes for name in row))
    if len(classes) < 2 or not voters or not any(labels):
        raise ValueError(f"{path.name} has no votes, no labels or only one class, so there is no comparator")
    fusion = Fusion(rule, classes=classes, experts=voters, abstain=None)
    z = instances(fusion, votes, labels)
    kind = comparator_kind(rule)
    u = fit_comparator(kind, z, C)
    case = tightest(rule, u, z)
    result = mistake_bound(rule, case)
    if result.value is None:
        raise ValueError(f"{rule!r} has no certificate on {path.name}: {result.reason}")
    if isinstance(rule, AdaptiveWinnow) and result.value > FIRST:
        raise ValueError(
            f"{rule!r} has no certificate on {path.name}: its bound of {result.value:.4g} is above {FIRST},"
            " up to which the checker computes it"
        )
    run = fusion.learn(votes, labels)
    guesses = run.guesses
    certificate = Certificate(
        learner=repr(rule),
        rule=type(rule).__name__,
        parameters={name: getattr(rule, name) for name in PARAMETERS[type(rule).__name__]},
        file=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        label=label,
        experts=voters,
        classes=classes,
        abstentions=sorted(no_votes),
        items=len(rows),
        trials=run.trials,
        fitted=kind,
        comparator=u.tolist(),
        margin=case.delta,
        noise=case.hinge,
        bound=float(result.value),
        formula=result.formula,
        source=result.source,
        mistakes=[[int(item), str(guesses[item])] for item in np.flatnonzero(run.wrong)],
    )
    try:
        check(asdict(certificate), str(path))
    except ValueError as error:
        raise ValueError(
            f"the certificate of {rule!r} does not stand the check: {error}; ties or rounding can cause this,"
            " so choose another rule or fewer items"
        ) from None
    return certificate


def why_not(learner: Learner) -> str:
    """Return why no run of a learner can be certified; empty if some can."""
    result = mistake_bound(learner, Case(n=2, delta=1.0, u=[1.0]))
    if result.value is None:
        return result.reason
    if not isinstance(learner, Rule):
        return "only a single rule is replayed by the checker, and this is a technique"
    parts = () if learner.experts is None else learner.experts.parts
    if any(part not in (Votes(), Thresholds()) for part in parts) or (parts and Votes() not in parts):
        return "the checker reads votes only, so the source must be Votes() or Votes() + Thresholds()"
    if learner.rivals != "top":
        return 'the checker compares the label with one rival; use rivals="top"'
    aggressive = getattr(learner, "aggressive", None) or getattr(learner, "alpha", 2.0) < 1
    if learner.ties or learner.slack or aggressive:
        return "it also updates on correct predictions, and a certificate lists mistakes only"
    name = type(learner).__name__
    if name not in PARAMETERS or not type(learner).__module__.startswith("linmax."):
        return f"the checker does not know the rule {name}"
    return ""


def comparator_kind(rule: Rule) -> str:
    """Return how the comparator for the bound of a rule is fitted: Winnow requires u >= 0."""
    return POSITIVE if isinstance(rule, Winnow | AdaptiveWinnow) else SIGNED


def fit_comparator(kind: str, z: Instances, C: float) -> np.ndarray:
    """Fit a comparator, scaled to sum |u| = 1, so that hinge losses have the same unit."""
    u = simplex_comparator(z, C) if kind == POSITIVE else comparator(z, C)
    size = float(np.abs(u).sum())
    if size == 0:
        raise ValueError("the comparator is 0, because no expert separates the classes")
    return u / size


def read_plain_csv(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Read a CSV file in UTF-8, with commas and a header, as `check_certificate` does."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as text:
            reader = csv.DictReader(text)
            header = list(reader.fieldnames or ())
            rows = list(reader)
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not in UTF-8, which a certificate requires; convert it") from None
    except csv.Error as error:
        raise ValueError(f"{path.name} is not read by Python's csv module: {error}") from None
    require(bool(header), f"{path.name} is empty; it needs a header and a row")
    if len(set(header)) < len(header):
        raise ValueError(f"{path.name} has two columns of the same name; rename one of them")
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise ValueError(
                f"item {number} of {path.name} does not have {len(header)} cells like the header; a"
                " certificate requires a CSV file with commas"
            )
    return header, rows

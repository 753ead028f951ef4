"""Check a certificate of linmax against its data: python check_certificate.py certificate.json votes.csv."""

import csv
import hashlib
import json
import math
import sys
from typing import Any

import numpy as np

PARAMETERS: dict[str, list[str]] = {"Perceptron": [], "PNorm": ["p"], "Alma": ["p"], "Romma": []}
PARAMETERS |= {"Winnow": ["alpha"], "BalancedWinnow": ["alpha"], "AdaptiveWinnow": ["rate"]}


def check(certificate: Any, path: str) -> str:
    """Return a sentence if the certificate is true of the file; raise an error if it is not."""
    require(certificate["version"] == 2, f"version {certificate['version']} is not 2; certify again")
    label, experts, classes = certificate["label"], certificate["experts"], certificate["classes"]
    rule, options, delta = certificate["rule"], certificate["parameters"], certificate["margin"]
    noise, claim, mistakes = certificate["noise"], certificate["bound"], certificate["mistakes"]
    with open(path, "rb") as file:
        require(hashlib.sha256(file.read()).hexdigest() == certificate["sha256"], "the SHA-256 differs")
    with open(path, newline="", encoding="utf-8-sig") as text:
        rows = list(csv.DictReader(text))[: certificate["items"]]
    u, guesses, n, k = np.array(certificate["comparator"]), dict(mistakes), len(experts), len(classes)
    require(list(options) == PARAMETERS[rule], f"the parameters of {rule} are {PARAMETERS[rule]}")
    require(label not in experts and len(rows) == certificate["items"], "the items or the label differ")
    require(delta > 0 and u.shape in ((n,), (n + k,)), "the margin or the comparator is malformed")
    size, doubled = len(u), rule == "BalancedWinnow"  # which is Winnow on the votes and their negatives
    u = np.append(np.maximum(u, 0), np.maximum(-u, 0)) if doubled else u
    theta, losses, made, updates, longest = np.zeros(len(u)), [], 0, 0, 0.0
    for item, row in enumerate(rows):
        if row[label] == "":
            continue
        votes = [k if row[one] in certificate["abstentions"] else classes.index(row[one]) for one in experts]
        x = np.eye(k + 1, k)[[*votes, *range(k)]][:size]  # the last of them are threshold experts
        x = np.vstack((x, -x)) if doubled else x
        y, guess = classes.index(row[label]), classes.index(guesses.get(item, row[label]))
        z = np.delete(x[:, [y]] - x, y, axis=1)  # a column per rival
        losses.append(max(1 - (u @ z).min() / delta, 0.0))
        longest = max(longest, (abs(z) ** options.get("p", 2)).sum(axis=0).max())
        w = weights(rule, theta, options)
        rounding = 1e-9 * (abs(w) if rule in ("Alma", "Romma") else abs(w) @ abs(x)).sum()
        require(
            (w @ x)[guess] >= (w @ x).max() - rounding, f"item {item} is not predicted {classes[guess]!r}"
        )
        made += guess != y
        if (x[:, y] != x[:, guess]).any():
            updates += 1
            theta = update(rule, theta, x[:, y] - x[:, guess], updates, options)
    require(made == len(mistakes) and len(losses) == certificate["trials"], "mistakes or trials are none")
    require(math.isclose(sum(losses), noise / delta, rel_tol=1e-9, abs_tol=1e-9), "the noise differs")
    most = bound(rule, u / delta, noise / delta, longest, options)
    require(math.isclose(most, claim, rel_tol=1e-9), f"the bound is {most:.6g}, not {claim:.6g}")
    require(made <= most * (1 + 1e-9), f"{made} mistakes are more than the bound of {most:.6g}")
    trivial = "; this bound is trivial" if most >= len(losses) else ""
    return f"{rule} made {made} mistakes in {len(losses)} trials, and its bound is {most:.6g}{trivial}"


def weights(rule: str, t: Any, options: Any) -> Any:
    """Return the weights for theta = t, up to a positive factor."""
    if "Winnow" in rule:
        t = math.log(options.get("alpha", math.e)) * t
        return np.exp(t - t.max())
    return np.sign(t) * (abs(t) / max(abs(t).max(), 1.0)) ** (options.get("p", 2) - 1)


def update(rule: str, t: Any, z: Any, j: int, options: Any) -> Any:
    """Return theta after the j-th update; that of Romma is its weights."""
    if rule == "Romma":
        zz, tt, tz = z @ z, t @ t, t @ z
        D = zz * tt - tz**2
        return ((zz * tt - tz) * t + tt * (1 - tz) * z) / D if 1e-12 * zz * tt < D else z / zz
    if rule == "Alma":
        t = t + math.sqrt(2 / (options["p"] - 1) / j) * z / np.linalg.norm(z, options["p"])
        return t / max(1.0, np.linalg.norm(t, options["p"]))
    return t + (options["rate"] / math.sqrt(j) if rule == "AdaptiveWinnow" else 1) * z


def bound(rule: str, u: Any, L: float, longest: float, options: Any) -> float:
    """Return the bound for u of margin 1 and its hinge loss L; `longest` is the largest |z|_p^p."""
    p, alpha, rate = (options.get(name, 2.0) for name in ("p", "alpha", "rate"))
    require(2 <= p < math.inf and 1 < alpha < math.inf and 0 < rate <= 10, f"no theorem for {options}")
    if "Winnow" not in rule:
        C = (p - 1) * longest ** (2 / p) * np.linalg.norm(u, p / (p - 1)) ** 2
        require(L == 0 or rule in ("Perceptron", "PNorm"), "the theorem requires a comparator without noise")
        return float(2 * C + 4 if rule == "Alma" else L + C + math.sqrt(L * C))
    require((u >= 0).all(), "the theorem requires u >= 0")
    share, delta, hinge = u[u > 0] / u.sum(), 1 / u.sum(), L / u.sum()
    room = math.log(len(u)) + share @ np.log(share)
    eta = rate / np.sqrt(np.arange(1, 2**17 + 1)) if rule == "AdaptiveWinnow" else np.log([alpha])
    decrease = eta * delta - np.log1p(2 * np.sinh(eta / 2) ** 2)  # of RE(u || w) on the j-th mistake
    require(decrease[-1] > 0, "the margin is too small")
    if rule != "AdaptiveWinnow":
        return float((room + eta[0] * hinge) / decrease[0])
    room += rate * min(hinge, 2 * math.sqrt((1 + delta) * hinge))
    require(decrease.sum() > room, "the bound is above 2^17, which is not computed here")
    return float(np.flatnonzero(np.append(0, np.cumsum(decrease)) <= room)[-1])


def require(condition: Any, message: str) -> None:
    """Raise a ValueError unless the condition holds."""
    if not condition:
        raise ValueError(message)


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as certificate:
            print("certified:", check(json.load(certificate), sys.argv[2]))
    except Exception as error:  # a certificate can have anything
        sys.exit(f"refused: {error if isinstance(error, OSError | ValueError) else repr(error)}")

"""Check a certificate of `linmax bounds --certify` against its data: only Python and numpy are needed.

python check_certificate.py certificate.json votes.csv
"""

import csv
import hashlib
import json
import math
import sys
from typing import Any

import numpy as np

TOLERANCE = 1e-9  # of numbers, relative or absolute; of scores, relative to a sum of |weights|
RANGES = {"alpha": 1.0, "p": 2.0, "C": 0.0, "slack": 0.0}  # above or, for p, from here on
PARAMETERS = {"Perceptron": (), "PNorm": ("p",), "Romma": (), "Alma": ("p",), "Winnow": ("alpha",)} | {
    "BalancedWinnow": ("alpha",),
    "PassiveAggressive": ("C", "kind", "slack"),
}


def check(certificate: dict[str, Any], path: str) -> str:
    """Return a sentence if the certificate is true of the file; raise a ValueError if it is not."""
    data, rule, options, claim = (certificate[key] for key in ("data", "rule", "parameters", "bound"))
    require(certificate["version"] == 1, "version 1 is needed")
    check_parameters(rule, options)
    with open(path, "rb") as raw:
        require(hashlib.sha256(raw.read()).hexdigest() == data["sha256"], "the file has another SHA-256")
    with open(path, newline="", encoding="utf-8-sig") as text:
        rows = list(csv.DictReader(text))[: data["items"]]
    code = {name: j for j, name in enumerate(data["classes"])}
    n, k = len(data["experts"]), len(code)
    require(data["label"] not in data["experts"], "the label is among the experts")
    wrong = {item: code[guess] for item, guess in certificate["mistakes"]}
    u, delta = np.array(certificate["comparator"]), certificate["margin"]
    sub_experts = n + k if certificate["thresholds"] else n
    require(delta > 0 and u.shape == (sub_experts,), "the margin or the comparator is malformed")
    p = options.get("p", 2.0)
    theta, w = np.zeros(len(u)), np.full(len(u), 1.0 if rule == "Winnow" else 0.0)
    trials = updates = made = hinge = squares = norm = largest = 0.0
    for item, row in enumerate(rows):
        if row[data["label"]] == "":
            continue
        x, y, trials = np.zeros((len(u), k)), code[row[data["label"]]], trials + 1
        for i, expert in enumerate(data["experts"]):
            if row[expert] not in data["abstentions"]:
                x[i, code[row[expert]]] = 1.0
        x[n:] = np.eye(k)[: len(u) - n]
        z = np.delete(x[:, [y]] - x, y, axis=1)  # a column per rival
        loss = max(delta - (u @ z).min(), 0.0)
        hinge, squares = hinge + loss, squares + loss**2
        norm, largest = max(norm, (abs(z) ** p).sum(axis=0).max()), max(largest, abs(z).max())
        scores, guess = w @ x, wrong.get(item, y)  # the prediction is the label on all other trials
        rounded = TOLERANCE * (
            abs(w).sum() if rule in ("Romma", "Alma", "PassiveAggressive") else (abs(w) @ x).sum()
        )
        ahead = scores >= scores.max() - rounded
        require(bool(ahead[guess]), f"on item {item} the rule does not predict {data['classes'][guess]!r}")
        made += guess != y
        scores[y] = -math.inf
        rival = guess if guess != y else int(np.argmax(scores >= scores.max() - rounded))
        step = x[:, y] - x[:, rival]
        if step.any() and (guess != y or rule == "PassiveAggressive"):
            updates += 1
            theta, w = update(rule, options, theta, w, step, updates)
    require(len(rows) == data["items"] and trials == data["trials"], "the number of items differs")
    require(made == len(certificate["mistakes"]), "the list of mistakes has items that are none")
    same = near(
        hinge / delta, certificate["noise"] / delta
    )  # in margins, so that the scale of u does not count
    same = same and near(squares / delta**2, certificate["squares"] / delta**2)
    require(same, "the noise differs")
    most = bound(rule, options, u, delta, certificate["noise"], certificate["squares"], norm, largest)
    require(near(most, claim), f"the bound is {most:.6g}, not {claim:.6g}")
    require(made <= most * (1 + TOLERANCE), f"{made:g} mistakes are more than the bound of {most:.6g}")
    require(certificate["trivial"] is (claim >= trials), "whether the bound is trivial is stated wrongly")
    empty = "; this bound is trivial" if most >= trials else ""
    return f"{rule} made {made:g} mistakes in {trials:g} trials, and its bound is {most:.6g}{empty}"


def check_parameters(rule: str, options: Any) -> None:
    """Raise a ValueError unless the rule has exactly its parameters, and the theorem allows them."""
    require(rule in PARAMETERS, f"the rule {rule!r} is unknown")
    names = ", ".join(PARAMETERS[rule]) or "none"
    require(set(options) == set(PARAMETERS[rule]), f"the parameters of {rule} are: {names}")
    for name, value in options.items():
        if name == "kind":
            require(value in ("PA", "PA-I", "PA-II"), f"kind = {value!r} is unknown")
        else:
            allowed = RANGES[name] < value < math.inf or (name == "p" and value == RANGES[name])
            require(allowed, f"the theorem does not hold for {name} = {value}")


def update(rule: str, options: Any, theta: Any, w: Any, z: Any, count: float) -> tuple[Any, Any]:
    """Return theta and the weights after an update along z; a positive factor of all weights is omitted."""
    if rule == "Romma":
        zz, ww, wz = z @ z, w @ w, w @ z
        D = zz * ww - wz**2
        return theta, ((zz * ww - wz) * w + ww * (1 - wz) * z) / D if 1e-12 * zz * ww < D else z / zz
    if rule == "PassiveAggressive":
        C, kind, loss = options["C"], options["kind"], max(0.0, options["slack"] - w @ z)
        tau = loss / (z @ z + (0.5 / C if kind == "PA-II" else 0.0))
        return theta, w + (min(C, tau) if kind == "PA-I" else tau) * z
    if rule == "Alma":
        p = options["p"]
        theta = theta + math.sqrt(2 / (p - 1) / count) * z / np.linalg.norm(z, p)
        theta = theta / max(1.0, np.linalg.norm(theta, p))
        return theta, np.sign(theta) * abs(theta) ** (p - 1)
    theta = theta + z
    if rule == "Perceptron":
        return theta, theta
    if rule == "PNorm":
        return theta, np.sign(theta) * (abs(theta) / max(abs(theta).max(), 1.0)) ** (options["p"] - 1)
    eta = math.log(options["alpha"])
    if rule == "Winnow":
        return theta, np.exp(eta * (theta - theta.max()))
    top = abs(theta).max()
    return theta, np.exp(eta * (theta - top)) - np.exp(eta * (-theta - top))


def bound(
    rule: str, options: Any, u: Any, delta: float, hinge: float, squares: float, norm: float, largest: float
) -> float:
    """Return the bound of a rule; `norm` is the largest |z|_p^p, and `largest` the largest |z_i|."""
    p, L = options.get("p", 2.0), hinge / delta
    U = (np.linalg.norm(u, p / (p - 1)) / delta) ** 2
    C = (p - 1) * norm ** (2 / p) * U
    if rule in ("Perceptron", "PNorm"):
        return float(L + C + math.sqrt(L * C))
    if rule in ("Winnow", "BalancedWinnow"):
        require(largest <= 1 and (rule != "Winnow" or bool((u >= 0).all())), "the theorem does not apply")
        size, eta, n = abs(u).sum(), math.log(options["alpha"]), len(u) * (1 if rule == "Winnow" else 2)
        share = abs(u[u != 0]) / size
        decrease = eta * delta / size - math.log1p(2 * math.sinh(eta / 2) ** 2)  # ln cosh eta
        require(decrease > 0, "alpha is too large for the margin")
        return float((math.log(n) + share @ np.log(share) + eta * hinge / size) / decrease)
    if rule == "PassiveAggressive" and options["kind"] == "PA-I":
        c = options["C"] / options["slack"]
        return float(max(norm, 1 / c) * (U + 2 * c * L))
    if rule == "PassiveAggressive" and options["kind"] == "PA-II":
        return float((norm + 0.5 / options["C"]) * (U + 2 * options["C"] * squares / delta**2))
    require(hinge == 0, "the theorem requires a comparator without noise")
    return float(2 * C + 4 if rule == "Alma" else C)


def near(one: float, other: float) -> bool:
    """Tell whether two numbers are equal within the tolerance."""
    return abs(one - other) <= TOLERANCE * max(1.0, abs(one))


def require(condition: bool, message: str) -> None:
    """Raise a ValueError unless the condition holds."""
    if not condition:
        raise ValueError(message)


if __name__ == "__main__":
    try:
        if len(sys.argv) != 3:
            raise ValueError("write: python check_certificate.py certificate.json votes.csv")
        with open(sys.argv[1], encoding="utf-8") as file:
            print("certified:", check(json.load(file), sys.argv[2]))
    except OSError as error:
        sys.exit(f"refused: {error.filename} cannot be read: {error.strerror}")
    except (ValueError, csv.Error) as error:
        sys.exit(f"refused: {error}")
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        sys.exit(f"refused: the certificate is malformed, or not of this file ({error!r})")

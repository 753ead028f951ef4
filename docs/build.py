"""Rewrite the generated tables of the README and this folder; with --check only tell if they are current."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.quality.pages import summary
from docs.figures import figures
from experiments import papers
from linmax import recommended
from linmax import spec as _registry
from linmax.bounds.theorems import THEOREMS
from linmax.report import Entry, catalogue, options

HERE = Path(__file__).parent
PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rules() -> str:
    """Every rule with its formula, its own parameters, and the checks it claims."""
    rows = [
        (
            code(entry.name),
            code(entry.formula),
            parameters(entry),
            ", ".join(sorted(entry.claims)),
            proven(entry),
        )
        for entry in catalogue(own=True)
        if entry.kind == "rule"
    ]
    shared = f"\nEvery rule also takes {', '.join(map(code, options()))}.\n"
    return table(("rule", "formula", "parameters", "checks it claims", "bound"), rows) + shared


def bounds() -> str:
    """The theorem of every rule that has one."""
    named = {_registry.name_of(rule) or rule.__name__: theorem for rule, theorem in THEOREMS.items()}
    rows = [(code(name), code(named[name].formula), named[name].source) for name in sorted(named)]
    return table(("rule", "mistakes at most", "from"), rows)


def techniques() -> str:
    """Every technique."""
    return listing("technique")


def sources() -> str:
    """Every source of sub-experts, with the mathematical checks that hold on it."""
    rows = [
        (code(entry.name), parameters(entry), ", ".join(sorted(entry.claims)), entry.summary)
        for entry in catalogue(own=True)
        if entry.kind == "source"
    ]
    return table(("source", "parameters", "checks that hold on it", "what it does"), rows)


def committees() -> str:
    """Every committee, and those that are ready made."""
    return listing("committee") + "\n" + listing("ready made")


def bank() -> str:
    """The members of the default, and what each is there for."""
    members = recommended().members[1].members  # type: ignore[attr-defined]
    rows = [(code(repr(member)), why) for member, why in zip(members, REASONS, strict=True)]
    return table(("member", "what it is there for"), rows)


def members() -> str:
    """The default, its members and the default without each, panel by panel."""
    panels = kept("members")["panels"]
    names = list(panels[0]["accuracy"])
    order = [
        "plurality",
        "best expert",
        *(name for name in names if name not in ("plurality", "best expert")),
    ]
    rows = [
        (
            name if not name[0].isupper() else code(name),
            *(f"{statistics.fmean(list(one['accuracy'][name].values())[1:]):.4f}" for one in panels),
        )
        for name in order
    ]
    return table(("", *(one["panel"] for one in panels)), rows)


def peers() -> str:
    """linmax against the best of each peer on real panels."""
    return summary([row for row in kept("quality")["problems"] if row["kind"] == "panel"])


def sharing() -> str:
    """What hypothesis sharing costs: on made-up clouds as trials go by, and kernels on LETTER."""
    found = kept("sharing")
    rows = []
    for where, many in (("clouds", found["clouds"]), ("LETTER", found.get("letter", {}))):
        for name, one in many.items():
            costs = one["microseconds"]
            span = f"{costs[0]:.0f} to {costs[-1]:.0f}" if len(costs) > 1 else f"{costs[0]:.0f} on average"
            supports = str(one["supports"][-1]) if "kernel" in name else ""
            rows.append((where, name, span, supports, f"{one['megabytes']:.1f}"))
    return table(("data", "source", "microseconds a trial", "supports", "MB in memory"), rows)


def adapters_sklearn() -> str:
    """FusionClassifier beside scikit-learn's ensembles."""
    return ensembles(kept("adapters")["scikit-learn"], "fit seconds", "{:.2g}")


def adapters_river() -> str:
    """FusionClassifier beside River's ensembles."""
    return ensembles(kept("adapters")["river"], "us", "{:.0f}")


def adapters_losses() -> str:
    """Where the default, asked for labels or for probabilities, is less accurate than somebody else."""
    lines = []
    for library in ("scikit-learn", "river"):
        for where, methods in kept("adapters")[library].items():
            accuracy = {name: one["accuracy"] for name, one in methods.items()}
            ours = max(accuracy[f"linmax, {way}"] for way in ("labels", "probabilities"))
            others = {name: figure for name, figure in accuracy.items() if not name.startswith("linmax")}
            ahead = [
                f"{name} by {100 * (figure - ours):.2f} points"
                for name, figure in sorted(others.items(), key=lambda one: -one[1])
                if figure > ours
            ]
            if ahead:
                lines.append(f"- {where}: behind {', '.join(ahead)}.\n".replace("|", "\\|"))
    return "".join(lines) or "Nowhere in these tables.\n"


def adapters_overhead() -> str:
    """What a call of an adapter costs beside the session's."""
    rows = [
        (
            code(one["call"]),
            one["learner"],
            f"{one['us']:.0f}",
            f"{one['core us']:.0f}",
            f"{one['ratio']:.2f}",
            f"{one['limit']:.0f}",
        )
        for one in kept("adapters")["overhead"]
    ]
    return table(("call", "learner", "adapter", "session", "ratio", "at most"), rows)


def ensembles(found: dict[str, Any], cost: str, form: str) -> str:
    """Accuracy and cost, a row per method and a column per data set."""
    rows = []
    for name in next(iter(found.values())):
        cells = [
            f"{one[name]['accuracy']:.4f}"
            + (f" ({form.format(one[name][cost])})" if cost in one[name] else "")
            for one in found.values()
        ]
        rows.append((name.replace("|", "\\|"), *cells))
    return table(("", *found), rows)


def kept(name: str) -> Any:
    """The results of a benchmark."""
    return json.loads((HERE.parent / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


REASONS = (
    "small steps: steady panels",
    "larger steps: drift",
    "large steps, averaged: rules that fire seldom",
    "a large margin: many good experts",
    "one weight for each thing an expert may say, with steps of its own: confused and sleeping experts",
    "the same by counting: fast for experts who speak seldom",
    "how often an expert is right: many experts who know nothing",
)

PARTS: dict[str, Callable[[], str]] = {
    "figures": lambda: table(("", "linmax", "beside it"), figures()),
    "committees": committees,
    "bank": bank,
    "members": members,
    "peers": peers,
    "rules": rules,
    "bounds": bounds,
    "techniques": techniques,
    "sources": sources,
    "sharing": sharing,
    "claims": papers.table,
    "counts": papers.counts,
    "fitted": papers.fitted,
    "adapters_sklearn": adapters_sklearn,
    "adapters_river": adapters_river,
    "adapters_losses": adapters_losses,
    "adapters_overhead": adapters_overhead,
}


def listing(kind: str) -> str:
    """The entries of one kind, with what they do."""
    rows = [
        (code(entry.name), parameters(entry), entry.summary)
        for entry in catalogue(own=True)
        if entry.kind == kind
    ]
    return table((kind, "parameters", "what it does"), rows)


def parameters(entry: Entry) -> str:
    """Parameters with their defaults."""
    return ", ".join(map(code, entry.parameters))


def proven(entry: Entry) -> str:
    """Whether a theorem bounds a rule's mistakes."""
    return "[yes](bounds.md)" if _registry.find(entry.name) in THEOREMS else "none known"


def code(text: str) -> str:
    """Text as code, safe in a table."""
    return f"`{text}`".replace("|", "\\|") if text else ""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rebuilt(page: str) -> str:
    """A page with its generated parts as they should be now."""
    return PART.sub(lambda part: part[1] + PARTS[part[2]]() + part[3], page)


def main() -> int:
    """Rewrite the pages; the number of those that were out of date when only asked to check."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="change nothing; fail if a page is out of date")
    check = options.parse_args().check
    stale = 0
    for page in [*sorted(HERE.glob("*.md")), *HERE.parent.glob("README.md")]:
        text = page.read_text(encoding="utf-8")
        if rebuilt(text) != text:
            stale += 1
            print(f"{page.name} {'is out of date: run make docs' if check else 'is rewritten'}")
            if not check:
                page.write_text(rebuilt(text), encoding="utf-8")
    return stale if check else 0


if __name__ == "__main__":
    sys.exit(main())

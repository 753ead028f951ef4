"""Rewrite the generated tables of the README and of this folder; with --check, only report outdated pages."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.quality.page import summary
from docs import decision_tables, scale_tables
from docs.consult_figures import consult_figures
from docs.figures import figures
from experiments import committee_multiplier, pages, papers, standard_sub_experts, sub_experts_search
from linmax import recommended, spec
from linmax.bounds import check_certificate
from linmax.bounds.theorems import THEOREMS
from linmax.panels.roles import names
from linmax.report import Entry, catalogue, options

HERE = Path(__file__).parent
PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rules() -> str:
    """Every rule with its formula, its parameters and the mathematical checks that hold for it."""
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
    shared = f"\nEvery rule also has the options {', '.join(map(code, options()))}.\n"
    return table(("rule", "formula", "parameters", "claims", "bound"), rows) + shared


def bounds() -> str:
    """The theorem of every rule that has one."""
    named = {spec.name_of(rule) or rule.__name__: theorem for rule, theorem in THEOREMS.items()}
    rows = [(code(name), code(named[name].formula), named[name].source) for name in sorted(named)]
    return table(("rule", "bound on the number of mistakes", "reference"), rows)


def multipliers() -> str:
    """The ways to adapt the multiplier of Winnow, relative to the best fixed one."""
    whole = pages.read(committee_multiplier.EXPERIMENT)
    assert whole is not None, "run linmax reproduce committee-multiplier"
    tried = committee_multiplier.tables(whole["figures"])[1]
    return table(tuple(tried.head[:4]), [tuple(line[:4]) for line in tried.lines])


def standard_streams() -> str:
    """The default with and without standard sub-experts, and other libraries, on streams of attributes."""
    return _standard_table(0, (0, 1, 2, 3, 6, 7, 8))


def standard_tried() -> str:
    """The ways to generate sub-experts that were tried."""
    return _standard_table(2, (0, 1, 2, 3, 4, 5))


def _standard_table(number: int, columns: tuple[int, ...]) -> str:
    whole = pages.read(standard_sub_experts.EXPERIMENT)
    assert whole is not None, "run linmax reproduce standard-sub-experts"
    found = standard_sub_experts.tables(whole["figures"])[number]
    lines = [found.head, *found.lines]
    head, *rows = (tuple(line[i] for i in columns) for line in lines)
    return table(head, rows)


def search() -> str:
    """The committees that search their parameters, relative to VR-Combine and to the best multiplier."""
    whole = pages.read(sub_experts_search.EXPERIMENT)
    assert whole is not None, "run linmax reproduce sub-experts-search"
    tried = sub_experts_search.tables(whole["figures"])[-1]
    return table(tuple(tried.head[:-1]), [tuple(line[:-1]) for line in tried.lines])


def techniques() -> str:
    """Every technique."""
    return listing("technique")


def sources() -> str:
    """Every source of sub-experts, with the mathematical checks that hold for it."""
    rows = [
        (code(entry.name), parameters(entry), ", ".join(sorted(entry.claims)), entry.summary)
        for entry in catalogue(own=True)
        if entry.kind == "source"
    ]
    return table(("source", "parameters", "claims", "description"), rows)


def committees() -> str:
    """Every ensemble and every preset."""
    return listing("ensemble") + "\n" + listing("preset")


def bank() -> str:
    """The members of the default learner, and the purpose of each."""
    members = recommended().members[1].members  # type: ignore[attr-defined]
    rows = [(code(repr(member)), purpose) for member, purpose in zip(members, PURPOSES, strict=True)]
    return table(("member", "purpose"), rows)


def attribute_bank() -> str:
    """The members of the default learner on attributes, and the purpose of each."""
    members = recommended(votes=False, attributes=True).members[1].members  # type: ignore[attr-defined]
    pairs = zip(members, ATTRIBUTE_PURPOSES, strict=True)
    return table(("member", "purpose"), [(code(repr(member)), purpose) for member, purpose in pairs])


def streams() -> str:
    """linmax and the best method of each other library, on real streams of attributes."""
    return summary([row for row in stored("quality")["problems"] if row["kind"] == "stream"])


def members() -> str:
    """The accuracy of the default learner, of its members, and of the default without each of them."""
    panels = stored("members")["panels"]
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
    """linmax and the best method of each other library, on real panels."""
    return summary([row for row in stored("quality")["problems"] if row["kind"] == "panel"])


def sharing() -> str:
    """The cost of hypothesis sharing: on generated clusters over time, and with kernels on LETTER."""
    found = stored("sharing")
    rows = []
    for where, many in (("clusters", found["clouds"]), ("LETTER", found.get("letter", {}))):
        for name, one in many.items():
            costs = one["microseconds"]
            span = f"{costs[0]:.0f} to {costs[-1]:.0f}" if len(costs) > 1 else f"{costs[0]:.0f} on average"
            supports = str(one["supports"][-1]) if "kernel" in name else ""
            rows.append((where, name, span, supports, f"{one['megabytes']:.1f}"))
    return table(("data", "source", "microseconds per trial", "supports", "memory in MB"), rows)


def column_names() -> str:
    """What the words in the names of columns mean, as they are in `linmax.panels.roles.names`."""
    rows = [(meaning, ", ".join(sorted(words))) for meaning, words in COLUMN_WORDS.items()]
    return table(("a column of", "words"), rows)


def adapters_sklearn() -> str:
    """FusionClassifier compared with the ensembles of scikit-learn."""
    return ensembles(stored("adapters")["scikit-learn"], "fit seconds", "{:.2g}")


def adapters_river() -> str:
    """FusionClassifier compared with the ensembles of River."""
    return ensembles(stored("adapters")["river"], "us", "{:.0f}")


def adapters_losses() -> str:
    """The data sets on which the default learner is less accurate than another method."""
    lines = []
    for library in ("scikit-learn", "river"):
        for where, methods in stored("adapters")[library].items():
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
    """The cost of a call of an adapter, compared with the same call of the session."""
    rows = [
        (
            code(one["call"]),
            one["learner"],
            f"{one['us']:.0f}",
            f"{one['core us']:.0f}",
            f"{one['ratio']:.2f}",
            f"{one['limit']:.0f}",
        )
        for one in stored("adapters")["overhead"]
    ]
    return table(("call", "learner", "adapter", "session", "ratio", "limit"), rows)


def ensembles(found: dict[str, Any], cost: str, form: str) -> str:
    """Accuracy and cost, with one row per method and one column per data set."""
    rows = []
    for name in next(iter(found.values())):
        cells = [
            f"{one[name]['accuracy']:.4f}"
            + (f" ({form.format(one[name][cost])})" if cost in one[name] else "")
            for one in found.values()
        ]
        rows.append((name.replace("|", "\\|"), *cells))
    return table(("", *found), rows)


def stored(name: str) -> Any:
    """The stored results of a benchmark."""
    return json.loads((HERE.parent / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


PURPOSES = (
    "small steps, for panels that do not change",
    "larger steps, for drift",
    "large steps, averaged, for rules that vote rarely",
    "a large margin, for many good experts",
    "a weight with its own step size per vote, for experts that confuse classes or abstain often",
    "the same by counting, which learns fast about experts that vote rarely",
    "the accuracy of each expert, for many uninformative experts",
)

ATTRIBUTE_PURPOSES = (
    "a step per weight; good everywhere",
    "a step per weight, and steps that never overshoot; best on texts",
    "a variance per attribute; learns fast from few items",
    "as far as an item needs, on rows as long as they are; best where the classes can be separated",
    "the rule of the papers, averaged; robust",
    "all covariances, while there are few attributes; best on correlated columns",
    "nearly a Gaussian kernel, for up to 64 attributes; best where classes are not linear in them",
)

COLUMN_WORDS = {
    "labels, as the whole name": names.TRUTH_NAMES,
    "labels, in the name": names.TRUTH_WORDS,
    "labels, with a word such as label": names.PERSON_WORDS,
    "labels, as the last word; other columns have them, too": names.WEAK_TRUTH_WORDS,
    "ids": names.ID_WORDS,
    "items": names.ITEM_WORDS,
    "experts, in long tables": names.EXPERT_WORDS,
    "votes, in long tables": names.VOTE_WORDS,
    "confidences, scores and probabilities": names.CONFIDENCE_WORDS,
    "times": names.TIME_WORDS,
    "attributes, which do not vote": names.ATTRIBUTE_WORDS | names.ATTRIBUTE_STARTS,
    "results, which are made from the labels and do not vote": names.RESULT_WORDS,
}

PARTS: dict[str, Callable[[], str]] = {
    "figures": lambda: table(("", "linmax", "other libraries"), figures()),
    "committees": committees,
    "bank": bank,
    "attribute_bank": attribute_bank,
    "streams": streams,
    "members": members,
    "peers": peers,
    "rules": rules,
    "bounds": bounds,
    "multipliers": multipliers,
    "standard_streams": standard_streams,
    "standard_tried": standard_tried,
    "search": search,
    "checker": lambda: f"```python\n{Path(check_certificate.__file__).read_text(encoding='utf-8')}```\n",
    "techniques": techniques,
    "sources": sources,
    "sharing": sharing,
    "column_names": column_names,
    "claims": papers.table,
    "counts": papers.counts,
    "fitted": papers.fitted,
    "decision_losses": lambda: decision_tables.losses(stored("decisions"), table, code),
    "decision_costs": lambda: decision_tables.costs(stored("decisions"), table, code),
    "decision_answers": lambda: decision_tables.answers(stored("decisions"), table),
    "decision_sets": lambda: decision_tables.sets(stored("decisions"), table),
    "decision_drift": lambda: decision_tables.drift(stored("decisions"), table),
    "decision_alarms": lambda: decision_tables.alarms(stored("decisions"), table),
    "decision_time": lambda: decision_tables.time(stored("decisions"), table, code),
    "adapters_sklearn": adapters_sklearn,
    "adapters_river": adapters_river,
    "adapters_losses": adapters_losses,
    "adapters_overhead": adapters_overhead,
    "consult": consult_figures,
    "scale_keys": lambda: scale_tables.keys(stored("scale"), table),
    "scale_tasks": lambda: scale_tables.tasks(stored("scale"), table),
    "scale_shards": lambda: scale_tables.shards(stored("scale"), table),
    "scale_stores": lambda: scale_tables.stores(stored("scale"), table),
    "scale_reckoning": lambda: scale_tables.reckoning(stored("scale"), table),
}


def listing(kind: str) -> str:
    """The entries of one kind, with their descriptions."""
    rows = [
        (code(entry.name), parameters(entry), description(entry))
        for entry in catalogue(own=True)
        if entry.kind == kind
    ]
    return table((kind, "parameters", "description"), rows)


def description(entry: Entry) -> str:
    """The summary; that of a function begins with the word Return."""
    text = entry.summary.removeprefix("Return ")
    return text[0].upper() + text[1:]


def parameters(entry: Entry) -> str:
    """Parameters with their defaults."""
    return ", ".join(map(code, entry.parameters))


def proven(entry: Entry) -> str:
    """Whether there is a bound on the mistakes of a rule."""
    return "[yes](bounds.md)" if spec.find(entry.name) in THEOREMS else "none known"


def code(text: str) -> str:
    """Text as code, escaped for a table."""
    return f"`{text}`".replace("|", "\\|") if text else ""


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rebuilt(page: str) -> str:
    """A page with its generated parts replaced by current ones."""
    return PART.sub(lambda part: part[1] + PARTS[part[2]]() + part[3], page)


def main() -> int:
    """Rewrite the pages; with --check, return the number of outdated pages instead."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="change nothing; fail if a page is out of date")
    check = options.parse_args().check
    stale = 0
    for page in [*sorted(HERE.glob("*.md")), *HERE.parent.glob("README.md")]:
        text = page.read_text(encoding="utf-8")
        if rebuilt(text) != text:
            stale += 1
            print(f"{page.name} {'is out of date: run make docs' if check else 'has been rewritten'}")
            if not check:
                page.write_text(rebuilt(text), encoding="utf-8")
    return stale if check else 0


if __name__ == "__main__":
    sys.exit(main())

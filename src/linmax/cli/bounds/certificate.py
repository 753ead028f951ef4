"""`linmax bounds --certify`: the certificate of a run on a CSV file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from linmax.bounds import check_certificate
from linmax.bounds.certificate import certify, read_plain_csv, why_not
from linmax.cli.bounds.panel import PanelVotes, check_cost, read_votes
from linmax.cli.fuse.late_doubts import StreamedVotes
from linmax.cli.inputs import parse_learner, require_reading
from linmax.cli.options.files import BoundsOptions
from linmax.cli.output import check_output, print_warning_messages, stdout_console


def write_certificate(
    learner: str | None, file: str | None, options: BoundsOptions, console: Console | None = None
) -> None:
    """Certify a run, write the certificate, and print its contents in a few lines."""
    console = console or stdout_console()
    if learner is None or file is None or options.output is None or options.panel is not None:
        raise ValueError("write: linmax bounds --certify 'Winnow(1.2)' votes.csv -o certificate.json")
    rule = parse_learner(learner)
    if reason := why_not(rule):
        raise ValueError(f"{learner} has no certificate: {reason}")
    C = 1.0 if options.C is None else options.C
    check_cost(C)
    check_output(options.output)
    if options.output.resolve() == Path(file).resolve():
        raise ValueError(f"the certificate would replace the data in {file}; pass another file to -o")
    panel = require_reading(options.read([file]), [file])
    print_warning_messages(panel.warnings)
    watched = StreamedVotes(panel)
    votes = read_votes(panel.stream(), options.first, watched.watch)
    print_warning_messages(watched.doubts())
    label = panel.reading.column("label")
    assert label is not None
    with console.status("Fitting the comparator, learning and checking ..."):
        certificate = certify(
            rule,
            file,
            label,
            list(dict.fromkeys(name for row in votes.rows for name in row)),
            abstentions=_abstentions(votes, Path(file), label),
            items=len(votes.rows),
            C=C,
        )
    certificate.save(options.output)
    trials, made, most = certificate.trials, len(certificate.mistakes), certificate.bound
    for line in (
        f"{certificate.learner} made {made} mistakes in {trials} trials; its bound is {most:.1f}.",
        *([f"This bound is trivial, because there are {trials} trials."] if certificate.trivial else []),
        f"Comparator: {certificate.fitted}, margin {certificate.margin:.4g}, noise {certificate.noise:.4g}.",
        f"To check {options.output} without linmax, copy {Path(check_certificate.__file__).name} from"
        f" {Path(check_certificate.__file__).parent}.",
    ):
        console.print(Text(line), soft_wrap=True)


def _abstentions(votes: PanelVotes, path: Path, label: str) -> set[str]:
    """The cells that are no vote; a ValueError if a plain CSV reader reads other votes or labels."""
    header, rows = read_plain_csv(path)
    silent: set[str] = set()
    spoken: set[str] = set()
    experts = {name for row in votes.rows for name in row}
    if not {label, *experts} <= set(header) or len(rows) < len(votes.rows):
        raise ValueError(
            f"{path.name} is not a table with a column per expert in plain CSV; a certificate requires one"
        )
    for number, (row, plain, truth) in enumerate(zip(votes.rows, rows, votes.labels, strict=False), start=1):
        read = {name: row.get(name) for name in experts} | {label: truth}
        for name, value in read.items():
            cell = plain[name]
            if value is None and name != label:
                silent.add(cell)
            elif (value or "") != cell:
                raise ValueError(
                    f"item {number} of {path.name} has {cell!r} in {name!r}, which linmax reads as {value!r};"
                    " a certificate requires a CSV file whose cells are read as they are"
                )
            elif name != label:
                spoken.add(cell)
    if both := silent & spoken:
        raise ValueError(f"{min(both)!r} is sometimes a vote and sometimes none in {path.name}; rename one")
    return silent

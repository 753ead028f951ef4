"""`make docs`: rebuild the pages and plots of the experiments from the stored figures."""

from __future__ import annotations

from experiments.catalogue import experiments
from experiments.pages import rebuilt_files
from linmax._files import write_atomic


def main() -> None:
    """Rewrite files that are out of date."""
    for one in experiments().values():
        for path, content in rebuilt_files(one).items():
            if not path.is_file() or path.read_bytes() != content:
                write_atomic(path, content)
                print(f"{path.name} is rewritten")


if __name__ == "__main__":
    main()

"""`make docs`: the experiments' pages and pictures once more, from the figures that are kept."""

from __future__ import annotations

from experiments.catalogue import experiments
from experiments.pages import made_again
from linmax._files import write_atomic


def main() -> None:
    """Rewrite what is out of date."""
    for one in experiments().values():
        for path, content in made_again(one).items():
            if not path.is_file() or path.read_bytes() != content:
                write_atomic(path, content)
                print(f"{path.name} is rewritten")


if __name__ == "__main__":
    main()

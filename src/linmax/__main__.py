"""`python -m linmax`: the command line, for a Python whose scripts are not on the path."""

from linmax.cli import main

if __name__ == "__main__":
    main()

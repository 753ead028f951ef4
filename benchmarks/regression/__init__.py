"""Figures that hardly depend on the load of the machine, to detect performance regressions."""

"""Figures that hardly depend on what else a machine does: they show a change that makes linmax slower."""

"""The papers' experiments, a folder each: what is claimed (`expected.json`), how it is run, what was found.

`linmax reproduce` runs them. A folder with an `expected.json` whose module has an `EXPERIMENT` is found by
being there.
"""

"""The papers' experiments, one folder each: the claims (`expected.json`), the runs, and the results.

`linmax reproduce` runs them. A folder with an `expected.json` whose module has an `EXPERIMENT` is found by
being there.
"""

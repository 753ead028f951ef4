"""The adapters compared with the ensembles of scikit-learn and River, and their overhead over a session."""

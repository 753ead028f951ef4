"""The runs of rules: their settings, weights and groups."""

"""Findings: the results of an audited run as plain values, and the verdict on it."""

"""Readers: one file per format or layout of tables."""

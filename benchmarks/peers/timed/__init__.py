"""Timed runs of the peers, which predict each row before they learn it."""

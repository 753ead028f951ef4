"""Consultations: experts are asked one after the other, until the prediction is settled."""

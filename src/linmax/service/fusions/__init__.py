"""The fusions of a server: their state, what requests do with items, amendments, and histories."""

"""`linmax demo` and its data."""

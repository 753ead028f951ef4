"""The log of all events in SQLite: its tables, its one writer, and how items and votes are stored in it."""

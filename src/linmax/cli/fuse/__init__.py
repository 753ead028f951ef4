"""`linmax fuse`: where a pass begins, the pass itself, and its findings as text."""

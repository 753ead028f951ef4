"""The charts of the HTML page and of commands."""

"""Commands that run until they are stopped: `linmax serve` and `linmax follow`."""

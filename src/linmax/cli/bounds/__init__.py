"""`linmax bounds`: mistake bounds in a given case or on a panel, and certificates."""

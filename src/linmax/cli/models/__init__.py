"""Commands that use a saved model: `linmax predict`, `linmax inspect` and `linmax explain`."""

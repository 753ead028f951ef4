"""linmax in the words of other libraries: `linmax.adapters.sklearn` and, if installed, `.river`."""

"""Adapters for other libraries: `linmax.adapters.sklearn` and `linmax.adapters.river`.

Each needs its library, which the extras `linmax[sklearn]` and `linmax[river]` install.
"""

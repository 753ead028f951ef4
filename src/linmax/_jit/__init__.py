"""Compilation: the only package that knows numba and LLVM."""

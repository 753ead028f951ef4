"""What most forms do without: a memory, and sketches."""

from typing import TypeVar

Form = TypeVar("Form", bound=type)


def _enter(self, t):
    pass


def _observe(self, t, y):
    pass


def without_entrance(form: Form) -> Form:
    """Give a form that freezes nothing the verb `enter` that does nothing."""
    form.enter = _enter  # type: ignore[attr-defined]
    return form


def without_memory(form: Form) -> Form:
    """Give a form the verbs `enter` and `observe` that do nothing."""
    form.enter, form.observe = _enter, _observe  # type: ignore[attr-defined]
    return form


def _marks(self, t, bits, blank, shifts):
    pass


def _backdrop(self, k, at, bits, q):
    return 0


def _no_marks(self):
    return -1


def without_sketch(form: Form) -> Form:
    """Give a form whose votes are not all 0 or 1 the verbs of sketches, which are never used."""
    form.marks, form.backdrop, form.most_marks = _marks, _backdrop, _no_marks  # type: ignore[attr-defined]
    return form

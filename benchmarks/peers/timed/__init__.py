"""The peers under the clock: what each is given, how it is called, and that it guesses before it learns."""

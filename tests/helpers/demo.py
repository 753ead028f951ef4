"""The panel of the demo, whose experts take half a second to fit."""

import functools

from linmax.cli.demo.digits import digits_panel

panel_of = functools.cache(digits_panel)

"""The session: learn, predict, explain, grow, save, load."""

from linmax.fusion.loading import load
from linmax.fusion.run import Explanation, Run
from linmax.fusion.session import Fusion
from linmax.fusion.tickets import Ticket

__all__ = ["Explanation", "Fusion", "Run", "Ticket", "load"]

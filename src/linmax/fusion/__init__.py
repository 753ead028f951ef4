"""The session: learn, predict, explain, grow, save, load."""

from linmax.fusion.model_file import load
from linmax.fusion.results import Consultation, Explanation, Run
from linmax.fusion.session import Fusion
from linmax.fusion.tickets import Ticket

__all__ = ["Consultation", "Explanation", "Fusion", "Run", "Ticket", "load"]

"""The client of the service: the verbs of a session over HTTP (requires the extra service)."""

from linmax.client.client import AsyncClient, Client
from linmax.client.errors import ClientError

__all__ = ["AsyncClient", "Client", "ClientError"]

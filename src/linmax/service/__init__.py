"""The service: a durable HTTP server around `Fusion` (requires the extra service)."""

from linmax.validation import require_extra

for _name in ("apsw", "msgspec", "prometheus_client", "starlette", "uvicorn"):
    require_extra(_name, "service", "linmax.service")

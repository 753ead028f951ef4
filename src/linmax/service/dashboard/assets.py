"""The files of the dashboard, read once from the package and sent compressed."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parent / "static"
PAGE = "index.html"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


class Asset(NamedTuple):
    """One file.

    Attributes
    ----------
    content, compressed : bytes
        The file, and the same compressed with gzip.
    media : str
        Its media type.
    etag : str
        What changes with the content: browsers ask with it whether their copy is still right.
    """

    content: bytes
    compressed: bytes
    media: str
    etag: str


@cache
def load_assets() -> dict[str, Asset]:
    """Return all files by their paths below the folder; a request never reaches the file system.

    >>> assets = load_assets()
    >>> "main.js" in assets, "../__init__.py" in assets
    (True, False)
    """
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in MEDIA_TYPES:
            content = path.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            compressed = gzip.compress(content, 9, mtime=0)
            name = path.relative_to(FOLDER).as_posix()
            found[name] = Asset(content, compressed, MEDIA_TYPES[path.suffix], etag)
    return found


def answer_asset(request: Request, name: str) -> Response:
    """Answer with a file; 304 if the browser has it, 404 if there is none of this name."""
    asset = load_assets().get(name)
    if asset is None:
        return Response("there is no such file\n", 404, media_type="text/plain")
    headers = {"etag": asset.etag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        return Response(asset.compressed, headers=headers, media_type=asset.media)
    return Response(asset.content, headers=headers, media_type=asset.media)

"""Send requests that schemathesis generates from the OpenAPI document to a server: `make soak`.

No answer may have a status of 500 or more, and the log must be what the states were learned from.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from linmax.client.requests import ARROW, NDJSON
from linmax.service.administration import verify
from linmax.service.http import openapi
from tests.service.api import ADMIN, server_process

LEARNER = "Averaged(Winnow(1.2))"
MISSING = "schemathesis is not installed: pip install schemathesis"


def operations() -> list[Any]:
    """The operations of the document; a stream of events does not end, and is left out."""
    import schemathesis

    for media in (NDJSON, ARROW):
        schemathesis.serializer(media)(lambda context, value: value)
    schema = schemathesis.openapi.from_dict(openapi.build()).exclude(path_regex="/events$")
    return [found.ok() for found in schema.get_all_operations()]


def send(client: httpx.Client, case: Any, alone: bool) -> int:
    """Send a generated request, to the fusion that exists unless it is to have the name that was drawn."""
    if not alone and "name" in (case.path_parameters or {}):
        case.path_parameters["name"] = "spam"
    given = case.as_transport_kwargs(base_url=str(client.base_url))
    headers = {} if case.media_type is None else {"content-type": case.media_type}
    body = given.get("data")
    kinds = {"json": given["json"]} if "json" in given else {"content": body if body is not None else b""}
    if given.get("json") is None and "json" in given:
        kinds = {"content": b"null"}
    answer = client.request(
        given["method"], given["url"], params=given.get("params"), headers=headers, **kinds
    )
    return answer.status_code


def draw(operation: Any, count: int, seed: int, use: Callable[[Any], None]) -> None:
    """Use generated requests for an operation, fewer if it has no more."""
    import hypothesis

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=max(2, count), deadline=None, database=None,
        suppress_health_check=list(hypothesis.HealthCheck), phases=[hypothesis.Phase.generate],
    )  # fmt: skip
    @hypothesis.given(operation.as_strategy())
    def one(case: Any) -> None:
        use(case)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one()


def run(requests: int) -> tuple[int, list[str], list[str]]:
    """The number of requests that were sent, the failures, and what is wrong with the log."""
    failures: list[str] = []
    counter = itertools.count()
    sent = 0

    def check(case: Any) -> None:
        nonlocal sent
        try:
            status = send(client, case, next(counter) % 4 == 0)
        except (httpx.InvalidURL, UnicodeError, TypeError, ValueError):
            return  # httpx cannot send it
        except httpx.TimeoutException:
            failures.append(f"{case.method} {case.path}: no answer {case.body!r}"[:500])
            return
        sent += 1
        if status >= 500:
            failures.append(f"{case.method} {case.path}: {status} {case.body!r}"[:500])

    with tempfile.TemporaryDirectory() as folder:
        with server_process(Path(folder)) as (_, base):  # in this one, hypothesis may fail in ast
            header = {"authorization": f"Bearer {ADMIN}"}
            with httpx.Client(base_url=base, headers=header, trust_env=False, timeout=60) as client:
                found = operations()
                for turn in itertools.takewhile(lambda _: sent < requests, itertools.count()):
                    share = (requests - sent) // len(found) + 1
                    for operation in found:
                        client.put("/v1/fusions/spam", json={"learner": LEARNER})
                        draw(operation, share, turn, check)
        problems = verify(Path(folder), lambda *_: None)
    return sent, failures, problems


def main() -> None:
    """Send 100,000 requests and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    options = parser.parse_args()
    try:
        import schemathesis  # noqa: F401
    except ImportError:
        print(MISSING)
        return
    start = time.monotonic()
    sent, failures, problems = run(options.requests)
    print(f"{sent} generated requests in {time.monotonic() - start:.0f} s: {len(failures)} failures")
    if failures or problems:
        raise SystemExit("\n".join([*failures[:20], *problems]))


if __name__ == "__main__":
    main()

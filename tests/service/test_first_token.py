"""The admin token that a server draws, or takes from the environment."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from linmax.service.app import Service
from linmax.service.messages.errors import ServiceError
from linmax.service.server import first_token
from tests.service.api import serving


def test_another_token_of_the_environment_revokes_the_former(tmp_path: Path) -> None:
    async def main() -> None:
        service = Service(tmp_path)
        for text in ("a" * 40, "b" * 40, "b" * 40):
            first_token(service, text)
        (token,) = service.tokens.list()
        assert token == service.tokens.find("b" * 40)
        with pytest.raises(ServiceError, match="unknown, revoked"):
            service.tokens.find("a" * 40)
        with pytest.raises(ValueError, match="the token in LINMAX_ADMIN_TOKEN was revoked; set another one"):
            first_token(service, "a" * 40)
        assert service.tokens.list() == [token]
        service.database.close()

    asyncio.run(main())


def test_the_first_token_is_shown_once(tmp_path: Path) -> None:
    async def main() -> None:
        service = Service(tmp_path)
        text = first_token(service, None)
        assert text is not None
        assert first_token(service, None) is None
        with pytest.raises(ValueError, match="LINMAX_ADMIN_TOKEN has 5 characters; a token needs 32"):
            first_token(service, "short")
        service.database.close()
        async with serving(tmp_path) as api:
            answer = await api("GET", "/v1/tokens", headers={"authorization": f"Bearer {text}"})
            assert answer.status_code == 200

    asyncio.run(main())

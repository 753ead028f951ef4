"""After amendments, items are excluded by who has set the label that counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.api import Api
from tests.service.test_amendments import TRIALS, expected, teach
from tests.service.test_items import run

EXCLUDE, ROLLBACK = "/v1/fusions/spam/exclude", "/v1/fusions/spam/rollback"


async def make_tokens(api: Api) -> dict[str, dict[str, str]]:
    """The headers of two tokens by their names."""
    found = {}
    for scopes in (("learn", "label", "grow"), ("label", "learn", "grow")):
        headers = await api.token(*scopes)
        found[api.tokens[-1]] = headers
    return found


async def set_label(api: Api, headers: dict[str, str], id_: str, label: str, replaces: str) -> int:
    body = {"id": id_, "label": label, "replaces": replaces}
    answer = await api("POST", "/v1/fusions/spam/labels", body, headers=headers)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["position"])


@pytest.mark.parametrize("earlier", [False, True])
def test_a_label_that_a_rollback_has_brought_back_is_excluded_by_who_has_set_it(
    tmp_path: Path, earlier: bool
) -> None:
    """Events of earlier versions do not say to which position a fusion was rolled back."""

    async def story(api: Api) -> None:
        await teach(api)
        tokens = await make_tokens(api)
        first, second = tokens
        position = await set_label(api, tokens[first], "3", "new", TRIALS[3][2])
        await set_label(api, tokens[second], "3", "other", "new")
        assert (await api("POST", ROLLBACK, {"position": position})).json()["events"] == 1
        if earlier:
            without = "CAST(json_remove(CAST(body AS TEXT), '$.to') AS BLOB)"
            await api.service.panels.submit([(f"UPDATE events SET body = {without} WHERE kind = 5", ())])
        preview = "/dashboard/fusions/spam/preview"
        assert (await api("POST", preview, {"ids": ["3"]})).json()["actors"] == {first: 1}
        assert (await api("POST", EXCLUDE, {"actor": second})).json()["events"] == 0
        assert await api.digest() == expected({"3": "new"})
        assert (await api("POST", EXCLUDE, {"actor": first})).json()["events"] == 1
        assert await api.digest() == expected({"3": None})

    run(story, tmp_path)

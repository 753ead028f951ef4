"""The requests of the service, as OpenAPI describes them, and items as they are stored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$(?!\n)")]
# $ also matches before a line break at the end of a text
NO_CONTROL = r"^(?![\s\S]*[\x00-\x1f\x7f-\x9f])"
ItemId = Annotated[str, Meta(min_length=1, max_length=200, pattern=NO_CONTROL)]
DOT_SEGMENTS = frozenset({".", ".."})  # clients remove them from a path, so that no URL leads to such an item
Expert = Annotated[str, Meta(min_length=1, max_length=200, pattern=NO_CONTROL)]
Label = str | int | bool
Vote = str | int | bool | dict[str, float] | None
Votes = Annotated[dict[str, Vote], Meta(max_length=100_000)]
Attributes = dict[str, float | int | str | bool | None]
Scope = Literal["predict", "label", "learn", "grow", "read", "admin"]


class Request(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The base of all requests: an unknown field is an error, since it may be a misspelled one."""


class Limits(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """What a fusion may grow to.

    Attributes
    ----------
    classes, experts, attributes : int
        The largest number of names of each kind.
    item_bytes : int
        The largest size of one item as JSON; of a row of an Arrow stream, that of its votes.
    waiting : int
        The largest number of predictions that wait for a label.
    retention : float
        For how many seconds a prediction waits for its label.
    """

    classes: Annotated[int, Meta(ge=2, le=100_000)] = 1000
    experts: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    attributes: Annotated[int, Meta(ge=0, le=1_000_000)] = 10_000
    item_bytes: Annotated[int, Meta(ge=100, le=10_000_000)] = 100_000
    waiting: Annotated[int, Meta(ge=1, le=100_000_000)] = 1_000_000
    retention: Annotated[float, Meta(gt=0, le=3.2e9)] = 90 * 86400.0


class FusionSettings(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """What a fusion is created with.

    Attributes
    ----------
    learner : str, optional
        The learner as text, such as ``Averaged(Winnow(1.2))``; without it, the default.
    classes : list, optional
        The classes that are known in advance.
    on_new_class : {"add", "error"}
        What happens if a label or vote names another class.
    abstain : str, int or bool, optional
        The vote that abstains, like null; null if no other one does. Without it, -1 and the empty text do.
    limits : Limits
        What the fusion may grow to.
    """

    learner: Annotated[str, Meta(max_length=10_000)] | None = None
    classes: Annotated[list[Label], Meta(max_length=100_000)] | None = None
    on_new_class: Literal["add", "error"] = "add"
    abstain: Label | UnsetType | None = UNSET
    limits: Limits = Limits()


class ChangeRequest(Request):
    """What changes in the settings of a fusion.

    Attributes
    ----------
    limits : Limits
        The new limits; those that are left out stay.
    """

    limits: Limits


class PredictRequest(Request):
    """An item to predict; its label may come later.

    Attributes
    ----------
    id : str, optional
        What names the item from now on; a request with an id may be repeated.
    votes : dict
        What each expert says: a class, a score per class, or null.
    attributes : dict, optional
        The attributes of the item.
    explain : bool
        Whether the answer says what each expert added.
    """

    votes: Votes | None = None
    id: ItemId | UnsetType = UNSET
    attributes: Attributes | None = None
    explain: bool = False


class LabelRequest(Request):
    """The label of an item that was predicted.

    Attributes
    ----------
    id : str
        The item.
    label : class
        Its true class.
    replaces : class, optional
        The label that it was given before, and that was wrong.
    after : int, optional
        The position of the event that has set that label: the request is refused if another one came since.
    """

    id: ItemId
    label: Label
    replaces: Label | UnsetType = UNSET
    after: Annotated[int, Meta(ge=1, le=2**62)] | UnsetType = UNSET


class LearnRequest(Request):
    """An item and its label at once."""

    label: Label
    votes: Votes | None = None
    id: ItemId | UnsetType = UNSET
    attributes: Attributes | None = None


class NextExpertRequest(Request):
    """Whom to ask next about an item.

    Attributes
    ----------
    votes : dict
        The answers so far; null for an expert that was asked and abstains.
    id : str, optional
        What names the item in the answer; nothing is stored.
    experts : list of str, optional
        The experts that can be asked; without it, all that the fusion knows.
    attributes : dict, optional
        The attributes of the item.
    prices : dict, optional
        What it costs to ask each expert.
    score_range : list of float, optional
        The least and the largest score that an expert can give; without it, an expert that has answered with
        scores leaves nothing settled.
    """

    votes: Votes
    id: ItemId | None = None
    experts: Annotated[list[Expert], Meta(max_length=10_000)] | None = None
    attributes: Attributes | None = None
    prices: dict[str, float] | None = None
    score_range: tuple[float, float] | None = None


class TokenRequest(Request):
    """A token to create: its name, its scopes, the fusions it is for, and when it ends."""

    name: Annotated[str, Meta(min_length=1, max_length=100, pattern=NO_CONTROL)]
    scopes: Annotated[list[Scope], Meta(min_length=1)]
    fusions: Annotated[str, Meta(min_length=1, max_length=100)] = "*"
    days: Annotated[float, Meta(gt=0, le=36500)] | None = None


class ExcludeRequest(Request, rename={"from_time": "from", "until_time": "until"}):
    """Which events to take back: those that fit everything that is given.

    Attributes
    ----------
    ids : list of str, optional
        The items.
    actor : str, optional
        The name of the token that taught their labels, or has replaced one with that which counts.
    from_time, until_time : float, optional
        When that was, in seconds since 1970.
    """

    ids: Annotated[list[ItemId], Meta(max_length=100_000)] | None = None
    actor: Annotated[str, Meta(max_length=100)] | None = None
    from_time: float | None = None
    until_time: float | None = None


class RollbackRequest(Request):
    """The position in the log after which nothing counts."""

    position: Annotated[int, Meta(ge=0, le=2**62)]


class StoredItem(Struct, omit_defaults=True, gc=False):
    """The body of an event with votes, as it is in the log."""

    votes: dict[str, Any] | None = None
    attributes: dict[str, Any] | None = None
    label: Label | None = None
    prediction: Label | None = None
    right: bool | None = None
    probabilities: dict[str, float] | None = None
    version: int = 0
    replaces: Label | None = None


def check_name(name: str, kind: Any, what: str) -> str | None:
    """Return a sentence about a name that is not allowed.

    Parameters
    ----------
    name
        The name.
    kind
        The type with its rules, such as `Expert`.
    what
        What is named.

    Examples
    --------
    >>> check_name("ann", Expert, "an expert")
    >>> check_name("", Expert, "an expert")
    "an expert cannot be called ''; use 1 to 200 characters, no control characters"
    """
    try:
        msgspec.convert(name, kind)
    except msgspec.ValidationError:
        return f"{what} cannot be called {name[:100]!r}; use 1 to 200 characters, no control characters"
    return None


def fusion_name_fault(name: str) -> str | None:
    """Return a sentence about what cannot be the name of a fusion; None for other names."""
    try:
        msgspec.convert(name, Name)
    except msgspec.ValidationError:
        return (
            f"a fusion cannot be called {name[:100]!r}; use at most 100 letters, digits, dots, dashes and"
            " underscores, with a letter or digit first"
        )
    return None


def content_of(request: PredictRequest | LearnRequest) -> bytes:
    """Return what makes two requests with the same id the same.

    Parameters
    ----------
    request
        The request.
    """
    return encode_content(request.votes, request.attributes, getattr(request, "label", UNSET))


def encode_content(votes: Any, attributes: Any, label: Any) -> bytes:
    """Return the content of a request, in one order of keys.

    Parameters
    ----------
    votes, attributes
        What it says about an item.
    label
        The label; UNSET if it is a prediction.

    Examples
    --------
    >>> encode_content({"bob": "y", "ann": "x"}, None, "x")
    b'["LearnRequest",{"attributes":null,"label":"x","votes":{"ann":"x","bob":"y"}}]'
    """
    kind = "PredictRequest" if label is UNSET else "LearnRequest"
    fields = {"attributes": attributes, "label": label, "votes": votes}
    given = {name: value for name, value in fields.items() if value is not UNSET}
    return msgspec.json.encode([kind, given], order="deterministic")

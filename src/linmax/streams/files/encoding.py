"""Encodings of text files: UTF-16 and Windows-1252 are detected and converted to UTF-8."""

from __future__ import annotations

import codecs
import re

from linmax.streams.schema import StreamError

BOM = b"\xef\xbb\xbf"
UTF16_BOMS = {b"\xff\xfe": "UTF-16-LE", b"\xfe\xff": "UTF-16-BE"}
SAMPLE_SIZE = 1 << 12
MIN_ZEROS, MAX_ZEROS = 0.7, 0.02  # share of zero bytes in the high and in the low half of UTF-16 letters
MAX_CONTROLS = 0.02  # share of control characters in a text
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x1b"))
WINDOWS_1252 = "".join(
    bytes([code]).decode("cp1252", errors="ignore") or bytes([code]).decode("latin-1") for code in range(256)
)


def check_encoding(name: str) -> None:
    """Refuse the name of an encoding of text that Python does not know.

    Examples
    --------
    >>> check_encoding("cp1251")
    >>> check_encoding("cp9")
    Traceback (most recent call last):
    linmax.streams.schema.StreamError: there is no encoding 'cp9'; usual ones are utf-8, cp1252, cp1251, gbk
    """
    try:
        "a".encode(name or "utf-8")
    except (LookupError, ValueError):
        raise StreamError(
            f"there is no encoding {name!r}; usual ones are utf-8, cp1252, cp1251, gbk"
        ) from None


def has_foreign_letters(text: str) -> bool:
    """Whether a text that was read as Windows-1252 has words of accented letters only, as no language has.

    Examples
    --------
    >>> has_foreign_letters("спам,хорошо".encode("cp1251").decode("cp1252")), has_foreign_letters("café, Öl")
    (True, False)
    """
    accented = re.findall(r"[^\W\d_]+", text)
    accented = [word for word in accented if not word.isascii()]
    letters = [letter for word in accented for letter in word]
    return len(letters) > 3 and sum(map(str.isascii, letters)) < 0.2 * len(letters)


def utf16_encoding(head: bytes) -> str:
    """Return the encoding of a UTF-16 text, from its byte order mark or its zero bytes; "" for others.

    Parameters
    ----------
    head : bytes
        The first bytes of a file.

    Returns
    -------
    {"", "UTF-16-LE", "UTF-16-BE"}

    Examples
    --------
    >>> utf16_encoding("a,b".encode("utf-16")), utf16_encoding("a,b\\n".encode("utf-16-be"))
    ('UTF-16-LE', 'UTF-16-BE')
    """
    if head[:2] in UTF16_BOMS and len(head) > 2:
        return UTF16_BOMS[head[:2]]
    head = head[:SAMPLE_SIZE]
    pairs = len(head) // 2
    if pairs < 2:
        return ""
    low, high = head[: 2 * pairs : 2].count(0) / pairs, head[1 : 2 * pairs : 2].count(0) / pairs
    text = head.translate(None, b"\0")
    if len(text.translate(None, CONTROLS)) < (1 - MAX_CONTROLS) * len(text):
        return ""
    if high >= MIN_ZEROS and low <= MAX_ZEROS:
        return "UTF-16-LE"
    return "UTF-16-BE" if low >= MIN_ZEROS and high <= MAX_ZEROS else ""


def is_windows_1252(data: bytes) -> bool:
    """Return whether bytes that are not UTF-8 are likely text in Windows-1252, which includes Latin-1.

    They are not if they contain NUL or many control characters, or more letters in UTF-8 than other bytes.

    Parameters
    ----------
    data : bytes
        Some bytes of a file.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_windows_1252("café".encode("latin-1")), is_windows_1252("éé".encode() + b"\\xe9 ")
    (True, False)
    """
    if b"\0" in data or len(data.translate(None, CONTROLS)) < (1 - MAX_CONTROLS) * len(data):
        return False
    text = data.decode(errors="replace")
    other = text.count("\ufffd")
    letters = sum(map(str.isascii, text)) + other
    return len(text) - letters < other


def from_windows_1252(data: bytes) -> bytes:
    """Convert Windows-1252 to UTF-8.

    Examples
    --------
    >>> from_windows_1252(b"5 \\x80, caf\\xe9").decode()
    '5 €, café'
    """
    return codecs.charmap_decode(data, "strict", WINDOWS_1252)[0].encode()

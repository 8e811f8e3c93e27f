"""A file and its checksum: the last line of a saved fit is the SHA-256 of all that is before it.

HDF5 ignores what follows the end of its own data, so that any program opens the file.
"""

from __future__ import annotations

import hashlib
import re

from bayesvb.errors import DataError

SEAL = re.compile(rb"\nbayesvb sha256 ([0-9a-f]{64})\n")

LENGTH = len("\nbayesvb sha256 \n") + 64


def seal(content: bytes) -> bytes:
    """The content, with its checksum behind it.

    Examples
    --------
    >>> unseal(seal(b"numbers"))
    (b'numbers', True)
    >>> unseal(b"numbers")
    (b'numbers', False)
    """
    return content + f"\nbayesvb sha256 {hashlib.sha256(content).hexdigest()}\n".encode()


def unseal(sealed: bytes) -> tuple[bytes, bool]:
    """The content without its checksum, and whether it had one.

    Raises
    ------
    DataError
        If the checksum is of other bytes.
    """
    match = SEAL.fullmatch(sealed[-LENGTH:])
    if match is None:
        return sealed, False
    content = sealed[:-LENGTH]
    if hashlib.sha256(content).hexdigest().encode() != match[1]:
        raise DataError(
            "the checksum does not match: the file was changed or damaged after it was saved",
            hint="use another copy",
        )
    return content, True

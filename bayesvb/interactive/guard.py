"""Who may talk to the page: the browser of this machine that has the token of this start.

A page on the loopback interface can be reached by every program of the machine, and by every page
open in a browser on it (DNS rebinding, cross-site WebSockets). The token keeps out other users, the
comparison of Host and Origin other pages. See RFC 6455, section 10.2, and RFC 6265bis, section 8.5:
cookies do not know ports, so that the name of this one has it.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

LARGEST_UPLOAD = 64 << 20
"""Bytes of one request."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'self'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port}; "
    "frame-ancestors 'none'; form-action 'none'; base-uri 'none'; object-src 'none'"
)

REFUSED = b"Open the address that the terminal shows.\n"
TOO_LARGE = b"This file is larger than 64 MB: start the workbench with its path instead.\n"


class _TooLarge(Exception):
    """The body of a request is longer than allowed, whatever its header says."""


@dataclass(frozen=True)
class Guard:
    """An ASGI application in front of another.

    Attributes
    ----------
    app : ASGI application
    token : str
        In the first address, then in a cookie.
    port : int
    largest : int
        Bytes of a request.
    scripts : tuple of str
        Scripts in the page itself, the only ones that are run: Shiny writes one.
    """

    app: Application
    token: str
    port: int
    largest: int = LARGEST_UPLOAD
    scripts: tuple[str, ...] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        if not self._is_here(scope, headers):
            await self._refuse(scope, receive, send)
        elif scope["type"] == "http" and self._has_token(scope):
            await self._give_cookie(send)
        elif not self._has_cookie(headers):
            await self._refuse(scope, receive, send)
        else:
            await self._hand_on(scope, receive, send)

    @property
    def cookie(self) -> str:
        """Name of the cookie."""
        return f"bayesvb-{self.port}"

    def _is_here(self, scope: Scope, headers: dict[str, str]) -> bool:
        """Whether the request is to this machine, and from a page of this server."""
        hosts = (f"127.0.0.1:{self.port}", f"localhost:{self.port}")
        origin = headers.get("origin")
        if origin is None and scope["type"] == "websocket":  # every browser sends one
            return False
        same_origin = origin is None or origin == f"http://{headers.get('host')}"
        return headers.get("host") in hosts and same_origin

    def _has_token(self, scope: Scope) -> bool:
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        return self._is_token(tokens[0])

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return morsel is not None and self._is_token(morsel.value)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.token.encode())

    async def _give_cookie(self, send: Send) -> None:
        """Send the browser to the page without the token, which histories would keep."""
        cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), *self._headers]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _hand_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, count the bytes that it reads, add headers."""
        length, answered, too_large = 0, False, False

        async def counted() -> Message:
            nonlocal length, too_large
            message = await receive()
            length += len(message.get("body", b""))
            if length > self.largest and scope["type"] == "http":
                too_large = True
                raise _TooLarge
            return message

        async def protected(message: Message) -> None:
            nonlocal answered
            if too_large and not answered:
                return  # what the application makes of our exception
            if message["type"] == "http.response.start":
                answered = True
                message = {**message, "headers": [*message["headers"], *self._headers]}
            await send(message)

        try:
            await self.app(scope, counted, protected)
        except Exception:
            if not too_large:
                raise
        if too_large and not answered:
            await self._answer(send, 413, TOO_LARGE)

    @property
    def _headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"content-security-policy", self._policy),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cache-control", b"no-store"),
        ]

    @cached_property
    def _policy(self) -> bytes:
        hashes = [b64encode(sha256(script.encode()).digest()) for script in self.scripts]
        scripts = "".join(f" 'sha256-{code.decode()}'" for code in hashes)
        return POLICY.format(port=self.port, scripts=scripts).encode()

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._answer(send, 403, REFUSED)

    async def _answer(self, send: Send, status: int, body: bytes) -> None:
        headers = [(b"content-type", b"text/plain; charset=utf-8"), *self._headers]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

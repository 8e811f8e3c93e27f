"""Who is let in, as a table over the bare ASGI application: no server and no socket."""

import asyncio

import pytest

from bayesvb.interactive.guard import Guard

PORT, TOKEN = 8123, "s" * 32
HOST, COOKIE = f"127.0.0.1:{PORT}", f"bayesvb-{PORT}={TOKEN}"
OWN = f"http://{HOST}"


async def application(scope, receive, send):
    """Accept a WebSocket; read the whole body of a request and answer with its length."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    length, more = 0, True
    while more:
        message = await receive()
        length, more = length + len(message["body"]), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(length).encode()})


def ask(kind="http", query="", body=(b"",), largest=100, app=application, **headers):
    """Messages that the guard sends; headers of None are left out."""
    sent = []
    parts = [{"type": "http.request", "body": part, "more_body": True} for part in body]
    parts[-1]["more_body"] = False
    messages = iter([{"type": "websocket.connect"}] if kind == "websocket" else parts)

    async def receive():
        return next(messages)

    async def send(message):
        sent.append(message)

    given = {"host": HOST, **headers}
    scope = {
        "type": kind,
        "query_string": query.encode(),
        "headers": [(k.encode(), v.encode()) for k, v in given.items() if v is not None],
    }
    asyncio.run(Guard(app, TOKEN, PORT, largest)(scope, receive, send))
    return sent


ANSWERS = [
    # kind, query, host, origin, cookie -> status, or type of the WebSocket's message
    ("http", f"token={TOKEN}", HOST, None, None, 303),
    ("http", f"token={TOKEN}", f"localhost:{PORT}", None, None, 303),
    ("http", "", HOST, None, COOKIE, 200),
    ("http", "", HOST, OWN, COOKIE, 200),
    ("http", "", HOST, None, None, 403),
    ("http", "token=" + "t" * 32, HOST, None, None, 403),
    ("http", "token=\xe9", HOST, None, None, 403),
    ("http", "", HOST, None, COOKIE.replace("ss", "tt"), 403),
    ("http", "", HOST, None, COOKIE.replace(str(PORT), "8124"), 403),
    ("http", "", HOST, None, 'a\x01=;;"', 403),
    ("http", f"token={TOKEN}", "evil.example", None, COOKIE, 403),
    ("http", f"token={TOKEN}", f"127.0.0.1.evil.example:{PORT}", None, COOKIE, 403),
    ("http", "", None, None, COOKIE, 403),
    ("http", "", HOST, "http://evil.example", COOKIE, 403),
    ("http", "", HOST, "null", COOKIE, 403),
    ("http", "", HOST, f"http://127.0.0.1:{PORT + 1}", COOKIE, 403),
    ("websocket", "", HOST, OWN, COOKIE, "websocket.accept"),
    ("websocket", "", HOST, OWN, None, "websocket.close"),
    ("websocket", "", HOST, None, COOKIE, "websocket.close"),
    ("websocket", "", HOST, "http://evil.example", COOKIE, "websocket.close"),
    ("websocket", "", "evil.example", "http://evil.example", COOKIE, "websocket.close"),
    ("websocket", f"token={TOKEN}", HOST, OWN, None, "websocket.close"),
]


@pytest.mark.parametrize(("kind", "query", "host", "origin", "cookie", "answer"), ANSWERS)
def test_only_the_browser_with_the_token_is_let_in(kind, query, host, origin, cookie, answer):
    sent = ask(kind, query, host=host, origin=origin, cookie=cookie)
    assert sent[0].get("status", sent[0]["type"]) == answer
    headers = dict(sent[0].get("headers", ()))
    if kind == "http":
        assert b"frame-ancestors 'none'" in headers[b"content-security-policy"]
        assert headers[b"cache-control"] == b"no-store"
    assert TOKEN.encode() not in headers.get(b"location", b"")


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites():
    headers = dict(ask(query=f"token={TOKEN}")[0]["headers"])
    assert headers[b"set-cookie"].startswith(COOKIE.encode())
    assert b"HttpOnly; SameSite=Strict" in headers[b"set-cookie"]


@pytest.mark.parametrize(("parts", "status"), [(4, 200), (5, 200), (6, 413)])
def test_a_body_is_limited_by_what_comes_not_by_what_its_header_says(parts, status):
    body = [b"x" * 20] * parts
    sent = ask(body=body, cookie=COOKIE, **{"content-length": "1"})
    assert [m["status"] for m in sent if m["type"] == "http.response.start"] == [status]


def test_an_application_that_hides_the_exception_of_a_long_body_does_not_answer_200():
    async def hiding(scope, receive, send):
        try:
            await application(scope, receive, send)
        except Exception:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    assert ask(body=[b"x" * 200], cookie=COOKIE, app=hiding)[0]["status"] == 413


def test_errors_of_the_application_are_not_hidden():
    async def broken(scope, receive, send):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(cookie=COOKIE, app=broken)


def test_starting_and_ending_is_handed_on():
    seen = []

    async def lifespan(scope, receive, send):
        seen.append(scope["type"])

    ask("lifespan", app=lifespan)
    assert seen == ["lifespan"]

"""The page in Chromium. What is seen stands in attributes: they are waited for, never a time."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesvb.interactive.session import open_session

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

WAIT = 60_000
"""Milliseconds that a fit may take on a machine which others use too."""

PROGRAM = "from bayesvb.interactive.server import workbench; workbench('mcycle', browser=False)"


def children(pid: int) -> set[int]:
    """Processes that descend from one."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = stat.read_text().split(" ", 1)
        except OSError:
            continue
        if int(rest.rpartition(")")[2].split()[1]) == pid:
            found |= {int(number), *children(int(number))}
    return found


@contextmanager
def serving(sessions, program=PROGRAM):
    """Process of a server that saves sessions below a folder, and its address with the token."""
    command, environment = [sys.executable, "-c", program], {"XDG_STATE_HOME": str(sessions)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    try:
        yield process, re.search(r"http\S+", process.stdout.readline())[0]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("state")) as started:
        yield started


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(server, browser):
    """A page with the first picture; it must say nothing to the console, and ask nobody else."""
    told, asked = [], set()
    context = browser.new_context(bypass_csp=False, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.on("console", lambda message: told.append(f"{message.text} {message.location}"))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.add(request.url.split("/")[2]))
    page.set_default_timeout(WAIT)
    page.goto(server[1])
    has(page, "#shown", formula="accel ~ s(times)")
    yield page
    context.close()
    assert told == []
    assert {host for host in asked if not host.startswith(",")} == {server[1].split("/")[2]}


def has(page, selector, **data):
    """Wait until an element has this data."""
    from playwright.sync_api import expect

    for name, value in data.items():
        expect(page.locator(selector)).to_have_attribute(f"data-{name}", value, timeout=WAIT)


def write(page, formula):
    page.locator("#formula").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type(formula, delay=15)


def choose(page, size):
    page.locator("#n_components").fill(str(size))


def test_a_formula_is_typed_completed_by_keyboard_and_its_picture_follows(page):
    from playwright.sync_api import expect

    write(page, "accel ~ poly(ti")
    expect(page.locator("#choices [role=option]")).to_have_text(["times"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type(", 2)")
    has(page, "#message", formula="accel ~ poly(times, 2)")
    has(page, "#shown", formula="accel ~ poly(times, 2)", full="false", along="times")
    assert "accel ~ poly(times, 2)" in page.locator("#python").inner_text()
    page.keyboard.type("sq")
    page.locator("#choices [role=option]").first.wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#choices").is_hidden()


def test_carets_stand_below_an_unknown_name_and_the_picture_stays(page):
    write(page, "accel ~ s(tmes)")
    has(page, "#message", formula="accel ~ s(tmes)")
    assert page.locator("#message pre").text_content() == " " * 10 + "^^^^"
    assert "times" in page.locator("#message .hint").inner_text()
    has(page, "#shown", formula="accel ~ s(times)")
    write(page, "accel ~ <img src=x onerror=alert(1)>")
    has(page, "#message", formula="accel ~ <img src=x onerror=alert(1)>")
    assert page.locator("main img").count() == 0


def test_a_remedy_is_a_button_and_fits_are_compared_and_saved(page, tmp_path):
    has(page, "#judged", formula="accel ~ s(times)")
    page.locator(".checks .act", has_text="sigma(times)").click()
    better = "accel ~ s(times) | sigma(times)"
    has(page, "#shown", formula=better)
    for formula in (better, "accel ~ times"):
        write(page, formula)
        has(page, "#shown", formula=formula)
        page.keyboard.press("Control+Enter")
        has(page, "#judged", formula=formula, full="true")
    has(page, "#compared", rows="2")
    rows = page.locator("#compared tbody tr")
    assert better in rows.nth(0).inner_text() and "best" in rows.nth(0).inner_text()
    rows.nth(0).get_by_role("button", name="Report").click()
    page.locator("[data-pane=report] summary").click()
    has(page, "#previewed", formula=better)
    page.locator("#previewed iframe").evaluate("frame => frame.dataset.kept = true")
    has(page, "#files-shown", written="true")
    has(page, "#previewed iframe", kept="true")
    title = page.frame_locator("#previewed iframe").locator("h1")
    assert title.inner_text() == "How does accel depend on times?"
    for name, content in (
        ("Fit", b"\x89HDF"),
        ("HTML", b"<!doctype html>"),
        ("Markdown", b"bayesvb"),
    ):
        with page.expect_download() as download:
            page.locator("#files-shown").get_by_role("link", name=name).click()
        assert Path(download.value.path()).read_bytes().startswith(content)
    page.get_by_label(f"Back to {better}").click()
    has(page, "#shown", formula=better, full="true")
    page.locator("#along").select_option("times")  # the full fit stays
    has(page, "#shown", along="times", full="true")
    page.locator("#saving summary").click()
    page.locator("#folder").fill(str(tmp_path / "saved"))
    page.locator("#save").click()
    page.locator("#doing", has_text="bayesvb workbench").wait_for()
    (tmp_path / "into").mkdir()
    session = open_session(tmp_path / "saved", None, tmp_path / "into")
    formulas = {record.request.formula for record in session.history.records}
    assert formulas == {better, "accel ~ times"}  # the one gone back to is last once it is checked
    page.get_by_label("Remove accel ~ times", exact=True).click()
    has(page, "#compared", rows="1")


def test_a_row_is_predicted_and_components_are_shown(page):
    for pane in ("predict", "components"):
        page.locator(f"[data-pane={pane}] summary").click()
    has(page, "#components-shown", formula="accel ~ s(times)", components="1")
    page.get_by_role("spinbutton", name="times").fill("15")
    has(page, "#row-predicted", values='{"times": "15"}')
    page.get_by_label("Probability of a response above").fill("0")
    page.locator("#row-predicted", has_text="P(accel (g) > 0)").wait_for()
    choose(page, 2)
    has(page, "#components-shown", components="2")
    has(page, "#row-predicted", values='{"times": "15"}')
    choose(page, 1)
    page.locator("#family").select_option("bernoulli")
    write(page, "I(accel > 0) ~ times")
    has(page, "#row-predicted", formula="I(accel > 0) ~ times", numeric="false")
    assert page.locator("#above").is_hidden()


def test_a_pasted_line_restores_its_state(page):
    line = "bayesvb fit 'accel ~ times' mcycle --components 2 --gate dirichlet --seed 3"
    page.locator("#pasted").fill(line)
    page.locator("#restore").click()
    has(page, "#shown", formula="accel ~ times", components="2")
    assert page.locator("#gate").input_value() == "dirichlet"
    assert line.removesuffix(" --seed 3") in page.locator("#shell").inner_text()
    page.locator("#pasted").fill("rm -rf /")
    page.locator("#restore").click()
    has(page, "#doing", tone="failed")
    page.locator("#pasted").fill(
        "bvb.Normal('accel ~ 1', data, priors=bvb.NormalPriors(noise_rate=0.1))"
    )
    page.locator("#restore").click()
    has(page, "#shown", formula="accel ~ 1", components="None")
    assert page.locator("#gate").is_hidden()
    assert "bvb.NormalPriors(noise_rate=0.1)" in page.locator("#python").inner_text()
    page.locator("#model").select_option("GaussianMixture")
    write(page, "~ accel + times")
    choose(page, 2)
    has(page, "#judged", formula="~ accel + times", components="2")


def test_files_are_opened_and_what_is_no_table_is_said(page, tmp_path):
    hostile = tmp_path / "<b>rows.csv"
    rows = "".join(f"{i * 7919 % 97},{'abc'[i % 3]}\n" for i in range(60))
    hostile.write_text("dose,site\n" + rows)
    page.locator("#opening summary").click()
    page.locator("#upload").set_input_files(hostile)
    has(page, "#table", name="<b>rows.csv")
    has(page, "#shown", formula="dose ~ site")
    (tmp_path / "bad.csv").write_text("a,b\n1,2,3\n")
    page.locator("#upload").set_input_files(tmp_path / "bad.csv")
    has(page, "#doing", tone="failed")
    assert "more values" in page.locator("#doing").inner_text()
    has(page, "#table", name="<b>rows.csv")


def test_a_long_fit_is_stopped_and_closing_a_page_leaves_no_process(page, server, tmp_path):
    rows = "".join(f"{i * 7919 % 997},{i * 104729 % 991}\n" for i in range(60_000))
    (tmp_path / "long.csv").write_text("y,x\n" + rows)
    page.locator("#opening summary").click()
    page.locator("#upload").set_input_files(tmp_path / "long.csv")
    has(page, "#shown", formula="y ~ x")
    choose(page, 8)
    has(page, "#shown", components="8")
    for stop in (True, False):
        page.locator("button.main").click()
        page.locator("#doing", has_text="iteration").wait_for()
        if stop:
            page.keyboard.press("Escape")
            page.keyboard.press("Escape")
            page.locator("[role=status] #doing", has_text="stopped").wait_for()
    page.close()
    for _ in range(500):
        if len(children(server[0].pid)) == 1:  # the zygote
            return
        signal.sigtimedwait([], 0.01)
    pytest.fail(f"still there: {children(server[0].pid)}")


def test_two_pages_do_not_disturb_each_other(page, server):
    other = page.context.new_page()
    other.goto(server[1])
    has(other, "#shown", formula="accel ~ s(times)")
    write(other, "accel ~ 1")
    has(other, "#shown", formula="accel ~ 1")
    has(page, "#shown", formula="accel ~ s(times)")


def test_a_session_that_cannot_save_itself_is_a_sentence(browser):
    with serving("/dev/null") as (_, address):
        page = browser.new_page()
        page.set_default_timeout(WAIT)
        page.goto(address)
        page.locator("#doing", has_text="not saved: /dev/null/bayesvb").wait_for()
        write(page, "accel ~ times")
        has(page, "#judged", formula="accel ~ times")
        page.locator("button.main").click()
        has(page, "#compared", rows="1")
        page.close()


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><b>bold",
    "left\N{RIGHT-TO-LEFT OVERRIDE}thgir",
    "a\x1b[31mred",
    "say 'hi' \"there\"",
    "100% of {x}",
]
"""Names of columns, each of which would do harm if it were taken for more than text."""


def test_names_and_levels_stay_text_wherever_they_are_shown(page, tmp_path):
    frame = pd.DataFrame({name: np.arange(40.0) * (1 + i) % 11 for i, name in enumerate(HOSTILE)})
    frame["level"] = ["<u>one", "two & <i>three"] * 20
    frame.to_csv(tmp_path / "rows.csv", index=False)
    page.locator("#opening summary").click()
    page.locator("#upload").set_input_files(tmp_path / "rows.csv")
    has(page, "#table", name="rows.csv")
    for pane in ("predict", "components"):
        page.locator(f"[data-pane={pane}] summary").click()
    for name in HOSTILE[1:]:
        formula = f"`{HOSTILE[0]}` ~ `{name}` + level"
        write(page, formula)
        has(page, "#message", formula=formula)
        assert page.locator("#message.wrong").count() == ("\x1b" in name), name
        if "\x1b" not in name:
            has(page, "#judged", formula=formula)
            has(page, "#row-predicted", formula=formula)
    assert page.locator("main :is(img, b, u, i):not(.parameters *)").count() == 0


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.csv", "größe,y\n1,2\n3,5\n4,7\n9,1\n".encode("latin-1"), None),
        ("rows.csv", "größe,y\n1,2\n3,5\n4,7\n9,1\n".encode("utf-16"), None),
        ("rows.csv", b"\x00\x01\x02\xff" * 50, "NUL"),
        ("rows.csv", b"<!doctype html><p>not found</p>", "no rows"),
        ("rows.csv", b"a,a\n1,2\n", "two columns named"),
        ("rows.parquet", b"PAR1 no", "Parquet"),
        ("rows.csv.gz", b"\x1f\x8b broken", "cannot be read as CSV"),
    ],
)
def test_a_file_that_is_no_table_is_one_sentence(page, tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    page.locator("#opening summary").click()
    page.locator("#upload").set_input_files(tmp_path / name)
    if said is None:
        has(page, "#table", name=name)
        assert page.locator(".columns .name").all_inner_texts() == ["größe", "y"]
        return
    has(page, "#doing", tone="failed")
    text = page.locator("#doing").inner_text()
    assert said in text and "Traceback" not in text and "\n" not in text
    has(page, "#table", name="mcycle")
    has(page, "#shown", formula="accel ~ s(times)")


def test_an_upload_that_is_too_large_and_a_folder_that_takes_no_files_are_sentences(page, tmp_path):
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(200 << 20)
    page.locator("#opening summary").click()
    page.locator("#upload").set_input_files(tmp_path / "large.csv")
    page.locator("#doing", has_text="large.csv is larger than 64 MB").wait_for()
    page.locator("#opening summary").click()
    page.locator("#saving summary").click()
    for folder, said in (("/dev/null/here", "cannot be made"), ("/proc", "do not belong")):
        page.locator("#folder").fill(folder)
        page.locator("#save").click()
        page.locator("#doing", has_text=said).wait_for()
    has(page, "#shown", formula="accel ~ s(times)")


def test_a_fifth_page_is_told_so_and_a_closed_one_makes_room(page, server):
    others = [page.context.new_page() for _ in range(4)]
    for other in others:
        other.goto(server[1])
    others[-1].get_by_text("is open in 4 pages").wait_for()
    others[0].close()
    for _ in range(100):
        others[-1].reload()
        if others[-1].get_by_text("is open in 4 pages").count() == 0:
            has(others[-1], "#shown", formula="accel ~ s(times)")
            return
    pytest.fail("a closed page makes no room")


def test_a_killed_server_loses_nothing_and_is_a_sentence(browser, tmp_path):
    formula = "accel ~ s(times) | sigma(times)"
    with serving(tmp_path) as (process, address):
        page = browser.new_page()
        page.set_default_timeout(WAIT)
        page.goto(address)
        write(page, formula)
        has(page, "#shown", formula=formula)
        page.keyboard.press("Control+Enter")
        has(page, "#compared", rows="1")
        write(page, "accel ~ s(ti")
        has(page, "#message", formula="accel ~ s(ti")
        for _ in range(500):
            saved = list(tmp_path.glob("bayesvb/sessions/*/session.json"))
            if saved and '"accel ~ s(ti"' in saved[0].read_text():
                break
            signal.sigtimedwait([], 0.01)
        process.kill()
        page.locator("#gone", has_text="offers to restore").wait_for()
        page.close()
    assert sorted(path.suffix for path in saved[0].parent.iterdir()) == [".json", ".nc"]
    with serving(tmp_path) as (_, address):
        page = browser.new_page()
        page.goto(address)
        has(page, "#offered", formula="accel ~ s(ti")
        assert "1 full fit" in page.locator("#offered").inner_text()
        page.get_by_role("button", name="Restore session", exact=True).click()
        has(page, "#message", formula="accel ~ s(ti")
        has(page, "#compared", rows="1")
        assert page.locator("#offered").count() == 0
        page.get_by_label(f"Back to {formula}").click()
        has(page, "#shown", formula=formula, full="true")
        page.close()


def tabbed_to(page, matches):
    """Press Tab until the element that has the focus matches a selector."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.locator(f"{matches}:focus").count():
            return page.locator(f"{matches}:focus")
    pytest.fail(f"Tab never reaches {matches}")


def test_everything_is_reached_by_the_keyboard(page):
    page.locator("h1").click()
    tabbed_to(page, "#saving > summary")
    tabbed_to(page, "#formula")
    page.keyboard.press("Control+a")
    page.keyboard.type("accel ~ 1 + times")
    has(page, "#shown", formula="accel ~ 1 + times")
    tabbed_to(page, "#n_components")
    page.keyboard.press("ArrowRight")
    has(page, "#shown", components="2")
    page.keyboard.press("ArrowLeft")
    tabbed_to(page, "#further > summary")
    page.keyboard.press("Enter")
    tabbed_to(page, "#missing")
    tabbed_to(page, "button.main")
    page.keyboard.press("Enter")
    has(page, "#judged", formula="accel ~ 1 + times", components="1", full="true")
    tabbed_to(page, "#judged .act")
    page.keyboard.press("Enter")
    has(page, "#judged", full="false")
    tabbed_to(page, "[data-event=report]")
    page.keyboard.press("Space")
    tabbed_to(page, "[data-pane=predict] summary")
    page.keyboard.press("Enter")
    has(page, "#row-predicted", values='{"times": "23.4"}')
    tabbed_to(page, "[data-covariate=times]")
    page.keyboard.press("ArrowRight")
    has(page, "#row-predicted", values='{"times": "23.5"}')
    tabbed_to(page, "[data-pane=report] summary")
    page.keyboard.press("Enter")
    has(page, "#previewed", formula="accel ~ 1 + times")
    tabbed_to(page, "#pasted")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_for_everybody(server, browser, scheme):
    from axe_core_python.sync_playwright import Axe

    context = browser.new_context(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()  # axe evaluates text, which the policy of the page forbids
    page.set_default_timeout(WAIT)
    page.goto(server[1])
    has(page, "#shown", formula="accel ~ s(times)")
    choose(page, 2)
    has(page, "#shown", components="2")
    page.keyboard.press("Control+Enter")
    page.locator("button.main").click()
    has(page, "#judged", formula="accel ~ s(times)", components="2", full="true")
    page.get_by_role("button", name="Report of").click()
    for details in page.locator("summary").all():
        if details.is_visible():
            details.click()
    has(page, "#files-shown", written="true")
    has(page, "#components-shown", components="2")
    page.locator("#row-predicted").wait_for()
    write(page, "accel ~ s(tmes) + ti")
    page.locator("#choices [role=option]").first.wait_for()
    for state in ("completing", "wrong"):
        violations = Axe().run(page)["violations"]
        found = [(v["id"], [node["html"][:90] for node in v["nodes"]]) for v in violations]
        assert found == [], state
        page.locator("h1").click()
    for element in ("#gone", "#doing"):
        role = page.locator(f":is([role=alert], [role=status]):is({element}, :has({element}))")
        assert role.count() == 1
    moving = "el => getComputedStyle(el).transitionDuration + getComputedStyle(el).animationName"
    assert {element.evaluate(moving) for element in page.locator("button").all()} == {"0snone"}
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    context.close()

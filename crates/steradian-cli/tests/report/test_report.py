"""Tests of the report of a clip in Chromium: the page loads, the player moves, and the images are correct.

`make test-report` installs the requirements. STERADIAN is the path of the program. The browser is that of Playwright, or
chromium, chromium-browser or google-chrome on the path; without one, the tests are skipped.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from chromium import NoChromium, launch
from playwright.sync_api import Browser, Page, sync_playwright

FRAMES, HEIGHT, WIDTH, SIDE = 120, 60, 80, 20


def corner(t: int) -> tuple[int, int]:
    """The upper left corner of the square in a frame."""
    return t * 2 % (HEIGHT - SIDE), t * 3 % (WIDTH - SIDE)


def level(t: int, y: int, x: int) -> int:
    """A wall that brightens to the right, noise of a few levels, and a white square."""
    top, left = corner(t)
    if top <= y < top + SIDE and left <= x < left + SIDE:
        return 240
    return 60 + x + (t * 7919 + y * 104729 + x * 1299709) % 5


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a gray clip."""
    folder = tmp_path_factory.mktemp("clip")
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({FRAMES}, {HEIGHT}, {WIDTH}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    pixels = bytes(level(t, y, x) for t in range(FRAMES) for y in range(HEIGHT) for x in range(WIDTH))
    # A file name with a tag must be escaped.
    clip = folder / "a <b> clip.npy"
    clip.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + pixels)
    return report_of(clip, folder / "out")


def report_of(clip: Path, folder: Path, *options: str) -> Path:
    """Run `background` on a clip and return the path of the report."""
    command = [os.environ["STERADIAN"], "background", clip, "-o", folder, "--no-videos", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "report.html"


@pytest.fixture(scope="session")
def browser():
    """A Chromium."""
    with sync_playwright() as playwright:
        try:
            started = launch(playwright)
        except NoChromium as error:
            pytest.skip(str(error))
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser, report: Path):
    """The open report; fails at the end if the browser reported an error or requested a URL."""
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    errors: list[str] = []
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else errors.append(request.url))
    opened.goto(report.as_uri())
    opened.wait_for_selector("body[data-shown]")
    yield opened
    opened.close()
    assert errors == []


def shown(page: Page) -> int:
    """The number of the frame in the player."""
    return int(page.evaluate("document.body.dataset.shown"))


def wait_for(page: Page, number: int) -> None:
    """Wait until the player shows a frame."""
    page.wait_for_function(f"document.body.dataset.shown === '{number}'")


def pane(page: Page, name: str) -> list[int]:
    """Red, green, blue and alpha of a canvas, pixel by pixel."""
    script = "id => { const c = document.getElementById(id); return Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data) }"
    return page.evaluate(script, name)


def numbers(page: Page) -> list[int]:
    """The numbers of the frames in the page."""
    return page.evaluate("data.samples.map(sample => sample.number)")


def test_the_page_is_small_and_complete(page: Page, report: Path) -> None:
    assert report.stat().st_size < 5_000_000
    assert page.title() == "a <b> clip.npy: background and foreground"
    assert page.locator("h1").inner_text() == "a <b> clip.npy: background and foreground"
    held = numbers(page)
    assert held[0] == 0 and len(held) == 48 and held == sorted(held)
    assert page.locator("#timeline svg").count() == 1 and page.locator("#histogram rect").count() == 30
    assert page.locator("img[alt^=component]").count() >= 1
    table = page.locator("table").inner_text()
    for word in ("method", "passes", "certificate", "120 frames of 60 x 80"):
        assert word in table


def test_slider_and_keys_move_the_player(page: Page) -> None:
    held = numbers(page)
    page.locator("#slider").focus()
    page.keyboard.press("ArrowRight")
    wait_for(page, held[1])
    page.keyboard.press("End")
    wait_for(page, held[-1])
    assert f"frame {held[-1]}" in page.locator("#shown").inner_text()
    page.locator("#timeline svg").focus()
    page.keyboard.press("ArrowLeft")
    wait_for(page, held[-2])


def test_a_click_on_the_timeline_moves_the_player(page: Page) -> None:
    box = page.locator("#timeline svg").bounding_box()
    for fraction in (0.75, 0.25):
        # The chart starts 44 of 1000 units from the left.
        x = box["width"] * (0.044 + 0.956 * fraction)
        page.locator("#timeline svg").click(position={"x": x, "y": box["height"] / 2})
        page.wait_for_function(f"Math.abs(document.body.dataset.shown - {fraction * FRAMES}) <= 3")
        mark = float(page.locator("#mark").get_attribute("x1"))
        assert abs(mark - (44 + 956 * (shown(page) + 0.5) / FRAMES)) < 1


def test_the_images_are_correct(page: Page) -> None:
    for sample in (0, 20, 47):
        number = numbers(page)[sample]
        page.evaluate(f"show({sample})")
        wait_for(page, number)
        frame, background, foreground, overlay = (pane(page, name) for name in ("frame", "background", "foreground", "overlay"))
        top, left = corner(number)
        off_frame = off_background = wrong = 0
        for y in range(HEIGHT):
            for x in range(WIDTH):
                at = 4 * (y * WIDTH + x)
                off_frame += abs(frame[at] - level(number, y, x))
                off_background += abs(background[at] - (62 + x))
                inside = top <= y < top + SIDE and left <= x < left + SIDE
                wrong += (foreground[at] > 0) != inside
                tinted = overlay[at] != overlay[at + 2]
                assert tinted == (foreground[at] > 0) or foreground[at] == 0
        pixels = HEIGHT * WIDTH
        assert off_frame / pixels < 4 and off_background / pixels < 4
        assert wrong < 0.02 * pixels


def test_the_report_is_in_color(browser: Browser, tmp_path: Path) -> None:
    tint = (1.1, 1.0, 0.5)
    (tmp_path / "clip").mkdir()
    for t in range(30):
        levels = [level(t, y, x) for y in range(HEIGHT) for x in range(WIDTH)]
        # The square is white; the wall is not.
        pixels = bytes(at if at == 240 else int(part * at) for at in levels for part in tint)
        (tmp_path / "clip" / f"{t}.ppm").write_bytes(b"P6\n%d %d\n255\n" % (WIDTH, HEIGHT) + pixels)
    page = browser.new_page()
    page.goto(report_of(tmp_path / "clip", tmp_path / "out", "--color").as_uri())
    page.wait_for_selector("body[data-shown]")
    background, foreground = pane(page, "background"), pane(page, "foreground")
    for part in range(3):
        mean = sum(background[part::4]) / (HEIGHT * WIDTH)
        expected = tint[part] * (62 + (WIDTH - 1) / 2)
        assert abs(mean - expected) < 4, (part, mean, expected)
    top, left = corner(shown(page))
    middle = 4 * ((top + SIDE // 2) * WIDTH + left + SIDE // 2)
    assert min(foreground[middle : middle + 3]) > 220
    page.close()


def test_small_screens_and_dark_mode(browser: Browser, report: Path) -> None:
    phone = browser.new_page(viewport={"width": 360, "height": 700}, color_scheme="dark")
    phone.goto(report.as_uri())
    phone.wait_for_selector("body[data-shown]")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    color = phone.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in color.removeprefix("rgb(").rstrip(")").split(",")) < 60
    phone.close()

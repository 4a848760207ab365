"""Screenshot of a report.

Usage: python picture.py REPORT.html IMAGE.png

`make picture` runs it on the report of the built-in scene.
"""

from __future__ import annotations

import sys
from pathlib import Path

from chromium import launch
from playwright.sync_api import sync_playwright

# Position of a frame with a stationary person and moving people.
POSITION = 0.5
SIZE = {"width": 1100, "height": 640}


def main() -> None:
    """Open the report, move the player and take the screenshot."""
    report, image = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(report.as_uri())
        page.wait_for_selector("body[data-shown]")
        sample = page.evaluate(f"Math.floor(data.samples.length * {POSITION})")
        page.evaluate(f"show({sample})")
        page.wait_for_function(f"document.body.dataset.shown === String(data.samples[{sample}].number)")
        page.screenshot(path=image)
        browser.close()


if __name__ == "__main__":
    main()

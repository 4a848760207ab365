"""A picture of a report, as a browser shows it.

Usage: python picture.py REPORT.html PICTURE.png

`make picture` runs it on the report of the built-in scene.
"""

from __future__ import annotations

import sys
from pathlib import Path

from chromium import launch
from playwright.sync_api import sync_playwright

# A frame while somebody rests and others cross.
SHARE = 0.5
SIZE = {"width": 1100, "height": 640}


def main() -> None:
    """Opens, moves the player, takes the picture."""
    report, picture = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(report.as_uri())
        page.wait_for_selector("body[data-shown]")
        sample = page.evaluate(f"Math.floor(data.samples.length * {SHARE})")
        page.evaluate(f"show({sample})")
        page.wait_for_function(f"document.body.dataset.shown === String(data.samples[{sample}].number)")
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()

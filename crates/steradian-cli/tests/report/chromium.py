"""A Chromium: that of playwright, or one of the system."""

from __future__ import annotations

import shutil

from playwright.sync_api import Browser, Error, Playwright

SYSTEM_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class NoChromium(Exception):
    """There is none here; the message says how to get one."""


def launch(playwright: Playwright) -> Browser:
    """Starts it."""
    try:
        return playwright.chromium.launch(args=["--no-sandbox"])
    except Error as error:
        found = next(filter(None, map(shutil.which, SYSTEM_BROWSERS)), None)
        if found is None:
            raise NoChromium(f"no Chromium here (playwright install chromium, or apt install chromium): {str(error)[:200]}") from error
        return playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])

"""Launch of Chromium: that of Playwright, or one of the system."""

from __future__ import annotations

import shutil

from playwright.sync_api import Browser, Error, Playwright

SYSTEM_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class NoChromium(Exception):
    """No Chromium is installed; the message has the install commands."""


def launch(playwright: Playwright) -> Browser:
    """Start the browser."""
    try:
        return playwright.chromium.launch(args=["--no-sandbox"])
    except Error as error:
        found = next(filter(None, map(shutil.which, SYSTEM_BROWSERS)), None)
        if found is None:
            raise NoChromium(f"no Chromium found; install it with `playwright install chromium` or `apt install chromium`: {str(error)[:200]}") from error
        return playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])

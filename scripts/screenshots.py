"""The pictures of the run page in docs/img, taken from runs over a made world.

Runs six methods without a language model's weights (`llm=world_reader`), writes their page, and
takes pictures in headless Chromium at 1,280 and 390 pixels of width, light and dark.

Usage: python scripts/screenshots.py [--home FOLDER] [--all FOLDER]
  --home  where the runs are kept; a second call runs nothing
  --all   every place at both widths in light and dark, into a folder, to look at
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "img"
COMMAND = (sys.executable, "-m", "graphrag_bench.cli.main")
METHODS = "vanilla,bm25,hipporag,entitypassage,pathrag,pathcorag"
WORLD = ("dataset=world", "dataset.size=60", "dataset.n_questions=60", "llm=world_reader")
WIDE, TALL, NARROW = (1280, 900), (1280, 1260), (390, 780)
COLOURS = 256
GAP = 12
READY = """
const graph = document.querySelector("#graph");
const plots = [...document.querySelectorAll(".plot")];
return !!document.querySelector("#main").dataset.view && (!graph || !!graph.dataset.drawn)
  && plots.every((one) => one.dataset.drawn);
"""
Shot = tuple[str, str, tuple[int, int], bool, str]
PAGE: tuple[Shot, ...] = (
    ("page-overview", "overview", TALL, False, ""),
    ("page-question", "question/{hipporag}/2", WIDE, False, ""),
    ("page-diff", "diff", WIDE, False, ""),
    ("page-health", "health", WIDE, False, ""),
)
STRIP: tuple[Shot, ...] = (
    ("overview", "overview", NARROW, False, ".plot"),
    ("questions", "questions/{vanilla}", NARROW, True, ""),
    ("graph", "question/{hipporag}/2", NARROW, False, "#graph"),
    ("diff", "diff", NARROW, True, ""),
)
PLACES = (
    "overview",
    "questions",
    "diff",
    "health",
    "question/{hipporag}/2",
    "question/{pathrag}/2",
)


def page_of(home: Path) -> tuple[Path, dict[str, str]]:
    """The page of the runs below a home, made where they are missing, and its runs by method."""
    words = [*WORLD, f"method={METHODS}", f"paths.home={home}"]
    done = subprocess.run([*COMMAND, "run", "-m", *words], check=True, capture_output=True)
    lines = done.stdout.decode().splitlines()
    folders = [line.removeprefix("run: ") for line in lines if line.startswith("run: ")]
    page = home / "page"
    subprocess.run([*COMMAND, "view", *folders, "--out", str(page)], check=True)
    return page, {Path(folder).parent.name: f"r{row}" for row, folder in enumerate(folders)}


def browser() -> Any:
    """Headless Chromium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    return webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )


def taken(
    driver: Any, page: Path, place: str, size: tuple[int, int], dark: bool, at: str = ""
) -> bytes:
    """A picture of a place of the page, as PNG; `at` is scrolled to the top."""
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    driver.get("about:blank")
    driver.get(f"{(page / 'index.html').as_uri()}#{place}")
    until = time.monotonic() + 20
    while not driver.execute_script(READY):
        if time.monotonic() > until:
            raise SystemExit(f"{place} was not drawn")
        time.sleep(0.05)
    if at:
        scroll = "document.querySelector(arguments[0]).closest('section').scrollIntoView();"
        driver.execute_script(f"{scroll} window.scrollBy(0, -16)", at)
    time.sleep(0.5)
    return bytes(driver.get_screenshot_as_png())


def smaller(picture: bytes) -> Any:
    """A picture of few colours."""
    import io

    from PIL import Image

    return (
        Image.open(io.BytesIO(picture))
        .convert("RGB")
        .quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=0)
    )


def strip(pictures: Iterator[bytes]) -> Any:
    """Pictures side by side."""
    import io

    from PIL import Image

    held = [Image.open(io.BytesIO(one)).convert("RGB") for one in pictures]
    width = sum(one.width for one in held) + GAP * (len(held) - 1)
    made = Image.new("RGB", (width, max(one.height for one in held)), "white")
    at = 0
    for one in held:
        made.paste(one, (at, 0))
        at += one.width + GAP
    return made.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=0)


def every_place(driver: Any, page: Path, runs: dict[str, str], folder: Path) -> None:
    """Every place at both widths, light and dark, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, size, dark in product(PLACES, (WIDE, NARROW), (False, True)):
        told = place.format(**runs)
        theme = "dark" if dark else "light"
        path = folder / f"{told.replace('/', '-')}-{size[0]}-{theme}.png"
        path.write_bytes(taken(driver, page, told, size, dark))


def pictures(driver: Any, page: Path, runs: dict[str, str]) -> None:
    """The pictures of docs/img."""
    IMAGES.mkdir(exist_ok=True)
    for name, place, size, dark, at in PAGE:
        shot = taken(driver, page, place.format(**runs), size, dark, at)
        smaller(shot).save(IMAGES / f"{name}.png", optimize=True)
    shots = (taken(driver, page, p.format(**runs), s, d, at) for _, p, s, d, at in STRIP)
    strip(shots).save(IMAGES / "page-strip.png", optimize=True)


def main() -> int:
    """Take the pictures; the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--all", type=Path)
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        page, runs = page_of(asked.home or Path(folder))
        driver = browser()
        try:
            if asked.all:
                every_place(driver, page, runs, asked.all)
            else:
                pictures(driver, page, runs)
        finally:
            driver.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main())

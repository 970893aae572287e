"""The run page in headless Chromium: from disk, without network, by mouse and by keyboard."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: make test-browser")
from selenium.webdriver import ActionChains, Keys  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1] / "view"))
from pages import IMAGE, SCRIPT, planted_runs  # noqa: E402
from toy_runs import command  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs Chromium: make test-browser"),
]
PATIENCE = 20


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of four runs over a corpus with markup."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        planted_runs(home)
        ended = command("view", "--out", str(home / "page"), "--home", str(home))
    assert ended.code == 0, ended.err
    return home / "page"


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    """A browser without network: only the host of the driver resolves."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"):  # fmt: skip
        options.add_argument(word)
    options.add_argument("--window-size=1280,900")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    result = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    result.set_page_load_timeout(60)
    yield result
    result.quit()


class Browser:
    """The page in the browser."""

    def __init__(self, driver: Any, page: Path) -> None:
        self.driver, self.page = driver, page

    def at(self, place: str) -> None:
        """Open a view of the page, and wait until it is drawn."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(f"{(self.page / 'index.html').as_uri()}#{place}")
        view = place.partition("/")[0]
        self.until(lambda: self.one("#main").get_attribute("data-view") == view)

    def until(self, what: Any) -> Any:
        """Wait until a condition is true; return its value."""
        return WebDriverWait(self.driver, PATIENCE, 0.05).until(lambda _: what())

    def one(self, css: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def js(self, code: str, *args: Any) -> Any:
        return self.driver.execute_script(code, *args)

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def drawn(self) -> None:
        """Wait until the graph is drawn."""
        self.until(lambda: self.one("#graph").get_attribute("data-drawn"))

    def plotted(self) -> list[Any]:
        """The plots of the overview, once Plotly has drawn them."""
        plots = self.all(".plot")
        self.until(lambda: all(one.get_attribute("data-drawn") for one in plots))
        return plots

    def complaints(self) -> list[str]:
        return [one["message"] for one in self.driver.get_log("browser")]


@pytest.fixture
def browser(driver: Any, page: Path) -> Browser:
    return Browser(driver, page)


@pytest.mark.parametrize(
    "place", ["overview", "questions/r1", "question/r2/1", "pair/r1/r2/1", "diff"]
)
@pytest.mark.parametrize("packaged", [False, True])
def test_every_view_opens_from_disk_without_network_or_error(
    driver: Any, page: Path, tmp_path: Path, place: str, packaged: bool
) -> None:
    if packaged:
        page = tmp_path / "demo"
        assert command("view", "--demo", "--out", str(page)).code == 0
    browser = Browser(driver, page)
    browser.at(place)
    assert not browser.all(".error")
    if place.startswith("question/"):
        browser.drawn()
    if place == "overview":
        browser.plotted()
    assert browser.complaints() == []


def test_markup_in_data_stays_text(browser: Browser) -> None:
    browser.at("questions/r1")
    assert SCRIPT in browser.one("#list").text
    for question in range(3):
        browser.at(f"question/r1/{question}")
        if browser.all("#graph"):
            browser.drawn()
        browser.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert IMAGE in browser.one("#main").text
    browser.at("question/r3/0")
    browser.drawn()
    assert SCRIPT in browser.js("return grb.drawing.nodes().map((n) => n.data('label')).join()")
    browser.at("overview")
    browser.js(
        "grb.index.runs[0].title = arguments[0];"
        "document.getElementById('main').replaceChildren(...grb.views.overview().filter(Boolean))",
        f"{SCRIPT}<b>b</b>",
    )
    legend = browser.plotted()[0].find_elements(By.CSS_SELECTOR, ".legendtext")
    assert len(legend) == 4 and any("<script>" in one.text for one in legend)
    assert browser.js("return window.planted") is None
    assert browser.complaints() == []


def test_a_question_opens_in_two_runs(browser: Browser) -> None:
    browser.at("question/r0/1")
    Select(browser.one("#beside")).select_by_value("r1")
    browser.until(lambda: browser.one("#main").get_attribute("data-view") == "pair")
    assert any(one.text == "in both" for one in browser.all(".badge"))
    browser.press(Keys.ESCAPE)
    browser.until(lambda: browser.one("#main").get_attribute("data-view") == "diff")


def test_filters_and_the_keyboard_work_in_the_list(browser: Browser) -> None:
    browser.at("questions/r1")
    browser.one("#text-filter").send_keys("head of")
    browser.until(lambda: browser.one("#shown").text == "1 of 3 questions")
    browser.at("questions/r1")
    frame = browser.until(lambda: browser.one("#list"))
    for _ in range(30):
        browser.press(Keys.TAB)
        if browser.js("return document.activeElement.id") == "list":
            break
    assert browser.js("return document.activeElement") == frame
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    browser.until(lambda: browser.all("#question"))
    assert browser.one("#question").text == "What does </script> end?"
    browser.press(Keys.ESCAPE)
    browser.until(lambda: browser.one("#main").get_attribute("data-view") == "questions")

"""The run page in headless Chromium: from disk, without network, by mouse and by keyboard."""

import shutil
import sys
from pathlib import Path

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
def page(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        planted_runs(home)
        ended = command("view", "--out", str(home / "page"), "--home", str(home))
    assert ended.code == 0, ended.err
    return home / "page"


@pytest.fixture(scope="module")
def driver():
    """A browser without network: only the host of the driver resolves."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
                 "--window-size=1280,900"):  # fmt: skip
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    result = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    result.set_page_load_timeout(60)
    yield result
    result.quit()


class Browser:
    def __init__(self, driver, page):
        self.driver, self.page, self.js = driver, page, driver.execute_script

    def at(self, place):
        """Open a view of the page, and wait until it is drawn."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(f"{(self.page / 'index.html').as_uri()}#{place}")
        view = place.partition("/")[0]
        self.until(lambda: self.one("#main").get_attribute("data-view") == view)

    def until(self, what):
        return WebDriverWait(self.driver, PATIENCE, 0.05).until(lambda _: what())

    def one(self, css):
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def drawn(self, css):
        every = self.all(css)
        self.until(lambda: all(one.get_attribute("data-drawn") for one in every))
        return every

    def complaints(self):
        return [one["message"] for one in self.driver.get_log("browser")]


@pytest.fixture
def browser(driver, page):
    return Browser(driver, page)


@pytest.mark.parametrize(
    "place", ["overview", "questions/r1", "question/r2/1", "pair/r1/r2/1", "diff"]
)
@pytest.mark.parametrize("packaged", [False, True])
def test_every_view_opens_from_disk_without_network_or_error(
    driver, page, tmp_path, place, packaged
):
    if packaged:
        page = tmp_path / "demo"
        assert command("view", "--demo", "--out", str(page)).code == 0
    browser = Browser(driver, page)
    browser.at(place)
    assert not browser.all(".error")
    css = {"question": "#graph", "overview": ".plot"}.get(place.partition("/")[0])
    assert css is None or browser.drawn(css)
    assert browser.complaints() == []


def test_markup_in_data_stays_text(browser):
    browser.at("questions/r1")
    assert SCRIPT in browser.one("#list").text
    for question in range(3):
        browser.at(f"question/r1/{question}")
        browser.drawn("#graph")
        browser.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert IMAGE in browser.one("#main").text
    browser.at("question/r3/0")
    assert browser.drawn("#graph")
    assert SCRIPT in browser.js("return grb.drawing.nodes().map((n) => n.data('label')).join()")
    browser.at("overview")
    browser.js(
        "grb.index.runs[0].title = arguments[0];"
        "document.getElementById('main').replaceChildren(...grb.views.overview().filter(Boolean))",
        f"{SCRIPT}<b>b</b>",
    )
    legend = browser.drawn(".plot")[0].find_elements(By.CSS_SELECTOR, ".legendtext")
    assert len(legend) == 4 and any("<script>" in one.text for one in legend)
    assert browser.js("return window.planted") is None
    assert browser.complaints() == []


def test_a_question_opens_in_two_runs(browser):
    browser.at("question/r0/1")
    Select(browser.one("#beside")).select_by_value("r1")
    browser.until(lambda: browser.one("#main").get_attribute("data-view") == "pair")
    assert any(one.text == "in both" for one in browser.all(".badge"))
    browser.press(Keys.ESCAPE)
    browser.until(lambda: browser.one("#main").get_attribute("data-view") == "diff")


def test_filters_and_the_keyboard_work_in_the_list(browser):
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

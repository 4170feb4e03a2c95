"""A headless Chromium that is used as people use one: by its keyboard, and by what can be seen."""
import base64
import contextlib
import os
import pathlib
import shutil

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

# A machine that does much else is slow; on another it is never waited for so long.
WAIT_SECONDS = 120
MOST_TABS = 60


def find_programs():
    """Paths of a browser and its driver, or what is missing."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = next(filter(None, map(shutil.which, ("chromedriver", "chromium.chromedriver"))), None)
    return browser, driver


class Browser:
    def __init__(self, driver, axe):
        self.driver, self.axe = driver, axe

    def open(self, url):
        self.driver.get(url)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, what, condition):
        WebDriverWait(self.driver, WAIT_SECONDS, poll_frequency=0.05).until(lambda _: condition(), f"never: {what}")

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def seen(self, selector):
        return any(element.is_displayed() for element in self.driver.find_elements(By.CSS_SELECTOR, selector))

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def press_with_control(self, key):
        ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(key).key_up(Keys.CONTROL).perform()

    def focused(self):
        """Tag and id of what has the focus, or "body"; it must be marked for the eye."""
        name, marked = self.run(
            "const e = document.activeElement; if (!e || e === document.body) return ['body', true];"
            "const s = getComputedStyle(e); return [e.id ? '#' + e.id : e.tagName.toLowerCase() + ' ' + e.textContent,"
            " s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2]")
        assert marked, f"the focus on {name} cannot be seen"
        return name

    def tab_to(self, name):
        """As somebody without a mouse: on and on, round the page at most once."""
        passed = []
        for _ in range(MOST_TABS):
            if (now := self.focused()) == name:
                return
            passed.append(now)
            self.press(Keys.TAB)
        raise AssertionError(f"no way to {name} by Tab, only to {sorted(set(passed))}")

    def type_into(self, name, text):
        """Instead of what stands there."""
        self.tab_to(name)
        self.press_with_control("a")
        self.press(Keys.DELETE)
        # What is beyond the first plane cannot be typed key by key; a keyboard's method inserts it at once.
        self.driver.execute_cdp_cmd("Input.insertText", {"text": text})

    def show_as(self, scheme, width, height=900):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def picture(self, path):
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def audit(self, where):
        """Every rule of axe-core for WCAG 2.2 A and AA, and its good practices; nothing where there is no axe."""
        if self.axe is None:
            return
        # Through the protocol, which the page's own policy does not bind.
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": self.axe})
        result = self.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
            ".then(r => done({passes: r.passes.length, violations: r.violations.map(v =>"
            " v.id + ': ' + v.help + ': ' + v.nodes.map(n => n.html + ' ' + n.failureSummary).join('; ')),"
            " unsure: r.incomplete.map(v => v.id + ': ' + v.nodes.length)}))"
            ".catch(e => done({passes: 0, violations: [String(e)], unsure: []}))")
        assert result["passes"] > 20, (where, result)
        assert not result["violations"], (where, result["violations"])
        print(f"   axe {where}: {result['passes']} rules passed, for people to look at: {result['unsure'] or 'none'}")

    def complaints(self):
        """What the browser wrote to its console, such as what the content policy kept from the page. Answers that are
        errors are there too, and no fault of the page."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]]


@contextlib.contextmanager
def browser(axe):
    program, driver_program = find_programs()
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in ("--headless=new", "--lang=en-US", "--disable-background-networking", "--disable-component-update",
                 "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium does not start for root without
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_program))
    driver.set_script_timeout(WAIT_SECONDS)
    try:
        yield Browser(driver, axe)
    finally:
        driver.quit()

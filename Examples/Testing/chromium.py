"""Headless Chromium, driven over its DevTools protocol by a pipe. Standard library only."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

ACCESSIBILITY = (pathlib.Path(__file__).parent / "accessibility.js").read_text()


class Browser:
    """A process of Chromium. Each window has its own cookies, as if it were another person's."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        to_browser, commands = os.pipe()
        results, from_browser = os.pipe()
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if program is None:
            raise AssertionError("there is no chromium: run `make setup-service`")
        options = [
            "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
            "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
            "--disable-background-networking", "--hide-scrollbars", "--force-color-profile=srgb"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")
        # The browser reads commands from descriptor 3 and writes to descriptor 4.
        script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, program, *options], pass_fds=[to_browser, from_browser],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.commands = os.fdopen(commands, "wb", buffering=0)
        self.results = os.fdopen(results, "rb")
        self.changed = threading.Condition()
        self.answers = {}
        self.last = 0
        self.is_closed = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        rest = b""
        while chunk := self.results.read1(1 << 16):
            *messages, rest = (rest + chunk).split(b"\0")
            with self.changed:
                for message in map(json.loads, messages):
                    if "id" in message:
                        self.answers[message["id"]] = message
                self.changed.notify_all()
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()

    def call(self, method, session=None, **parameters):
        """Runs a command, and returns its result."""
        with self.changed:
            self.last += 1
            number = self.last
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self.commands.write(json.dumps(message).encode() + b"\0")
        with self.changed:
            done = self.changed.wait_for(lambda: number in self.answers or self.is_closed, 60)
            if not done or self.is_closed:
                raise AssertionError(f"the browser does not answer {method}")
            answer = self.answers.pop(number)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def window(self, width=1280, height=900):
        context = self.call("Target.createBrowserContext")["browserContextId"]
        return Window(self, context, width, height)

    def close(self):
        try:
            self.call("Browser.close")
        except (AssertionError, OSError):
            pass
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.commands.close()
        self.results.close()
        shutil.rmtree(self.profile, ignore_errors=True)


class Window:
    """A page in a browser."""

    def __init__(self, browser, context, width, height):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)
        self.session = browser.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")
        self.resize(width, height)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def color_scheme(self, scheme):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, script):
        """Returns the value of an expression, a promise awaited."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait(self, condition, seconds=20):
        """Waits until an expression is true, and returns its value."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if value := self.evaluate(condition):
                    return value
            except AssertionError as error:
                # While a page is exchanged there is no place to run a script.
                if time.monotonic() > deadline:
                    raise error
            if time.monotonic() > deadline:
                text = self.evaluate("document.body.innerText")
                raise AssertionError(f"never true: {condition}\n{text}")
            time.sleep(0.02)

    def open(self, url):
        self.evaluate("window.isOld = true")
        answer = self.call("Page.navigate", url=url)
        if "errorText" in answer:
            raise AssertionError(f"{url}: {answer['errorText']}")
        self.settle()

    def settle(self):
        """Waits for the page that replaces the one that `isOld` marks."""
        self.wait("!window.isOld && document.readyState === 'complete'")

    def click(self, selector):
        """Clicks in the middle of an element, as a person does."""
        place = self.evaluate(f"""(async () => {{
            const selector = {json.dumps(selector)};
            const frame = () => new Promise(requestAnimationFrame);
            // Until the element is at rest, and nothing covers it.
            for (let turn = 0, last = ""; turn < 100; turn += 1) {{
                const element = document.querySelector(selector);
                if (!element) throw new Error("there is no " + selector);
                element.scrollIntoView({{ block: "center", behavior: "instant" }});
                await frame();
                const box = element.getBoundingClientRect();
                const place = [box.x + box.width / 2, box.y + box.height / 2];
                const top = document.elementFromPoint(...place);
                if (last === `${{place}}` && top && element.contains(top)) return place;
                last = `${{place}}`;
            }}
            throw new Error(selector + " cannot be clicked");
        }})()""")
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1],
                      button="left", clickCount=1)

    def submit(self, selector):
        """Clicks something that leads to another page."""
        self.evaluate("window.isOld = true")
        self.click(selector)
        self.settle()

    def type(self, selector, text):
        """Replaces the text of an input, as a person does."""
        self.click(selector)
        self.evaluate("document.activeElement.select()")
        self.call("Input.insertText", text=text)

    def choose(self, selector, value):
        self.evaluate(f"""(() => {{
            const list = document.querySelector({json.dumps(selector)});
            list.value = {json.dumps(value)};
            list.dispatchEvent(new Event("input", {{ bubbles: true }}));
        }})()""")

    def press(self, key, code=None, text=None, modifiers=0):
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}
        parameters = {"key": key, "windowsVirtualKeyCode": codes[key], "code": key,
                      "modifiers": modifiers}
        if key == "Enter":
            parameters["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **parameters)
        self.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def text(self, selector="body"):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def screenshot(self, path, clip=None):
        """Writes a picture of the page: of all that is in a clip, or of its first 1,600 pixels."""
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = clip or {"x": 0, "y": 0, "width": size["width"],
                        "height": min(size["height"], 1600), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))

    # Rules that a page must keep.

    def violations(self):
        """Returns what is wrong for people with keyboards, screen readers and weak eyes."""
        return self.evaluate(f"{ACCESSIBILITY}; violations()")

    def focus_violations(self):
        """Walks through the page with the Tab key, and returns what is wrong.

        A long page repeats itself: the walk ends after a hundred controls.
        """
        self.evaluate(f"{ACCESSIBILITY}; prepareFocusWalk(100)")
        wanted = self.evaluate("focusable.length")
        for _ in range(wanted):
            self.press("Tab")
            self.evaluate("recordFocus()")
        return self.evaluate("focusViolations()")

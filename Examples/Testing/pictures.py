"""Makes the pictures of the README from the example data, after `make service-test`:

    python3 Examples/Testing/pictures.py
"""

import subprocess
import tempfile

from chromium import Browser
from program import BUILD, ROOT, Program

HEIGHT = 760


def picture(window, name):
    clip = {"x": 0, "y": 0, "width": 1200, "height": HEIGHT, "scale": 0.64}
    window.screenshot(ROOT / "docs" / name, clip)


def main():
    with tempfile.TemporaryDirectory() as directory:
        store = f"{directory}/example.stet"
        subprocess.run([BUILD / "tracker", "seed", "--store", store], check=True)
        tracker = Program("tracker", "--store", store, "--port", 0)
        inspector = Program("stet-browse", store)
        browser = Browser()
        window = browser.window(1200, HEIGHT)
        people = tracker.get("/api/users").json
        window.open(tracker.url)
        window.choose("#user", people[0]["id"])
        window.submit("form[action='/session'] button")
        window.open(f"{tracker.url}/projects/ST")
        picture(window, "tracker-board.png")
        window.open(f"{tracker.url}/issues/ST-1?at=3")
        picture(window, "tracker-issue.png")
        issue = tracker.get("/api/issues/ST-1").json["id"]
        window.open(inspector.url)
        window.open(f"http://127.0.0.1:{inspector.port}/objects/{issue}")
        picture(window, "stet-browse.png")
        browser.close()
        inspector.stop()
        tracker.stop()


if __name__ == "__main__":
    main()

"""The inspector: who may see a store, and its pages in headless Chromium."""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Testing"))
from chromium import Browser  # noqa: E402
from program import BUILD, OUTPUT, Program  # noqa: E402

ADA = "ada@example.org"


class BrowseTestCase(unittest.TestCase):
    """Starts the inspector on an example store that nobody else uses."""

    options = []
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="browse-")
        cls.store = f"{cls.directory}/example.stet"
        subprocess.run([BUILD / "tracker", "seed", "--store", cls.store, "--issues", "120"], check=True)
        cls.program = Program("stet-browse", cls.store, *cls.options)
        cls.origin = f"http://127.0.0.1:{cls.program.port}"
        cls.token = urllib.parse.urlsplit(cls.program.url).query.split("=")[1]
        cls.cookie = f"stet-browse-{cls.program.port}={cls.token}"

    @classmethod
    def tearDownClass(cls):
        cls.program.stop()
        shutil.rmtree(cls.directory)

    def send(self, path, method="GET", body=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.program.request(method, path, body, {"Cookie": self.cookie, **headers})

    def stet(self, *arguments):
        """Returns what the tool says of the store."""
        result = subprocess.run([BUILD / "stet", *arguments, "--json"], capture_output=True,
                                text=True, check=True)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def object(self, entity, condition):
        return self.stet("query", self.store, entity, condition)[0]


class AccessTests(BrowseTestCase):
    def test_only_who_has_the_token_gets_in(self):
        self.assertRegex(self.token, "^[0-9a-f]{32}$")
        for headers in [{}, {"Cookie": f"stet-browse-{self.program.port}=wrong"},
                        {"Cookie": f"stet-browse-1={self.token}"}]:
            with self.subTest(headers):
                answer = self.program.request("GET", "/", None, headers)
                self.assertEqual(answer.status, 403)
                self.assertNotIn("example.stet", answer.text)
        self.assertEqual(self.program.get("/?token=wrong").status, 403)
        answer = self.program.get(f"/?token={self.token}")
        self.assertEqual((answer.status, answer.headers["Location"]), (303, "/"))
        for word in [self.cookie, "HttpOnly", "SameSite=Strict"]:
            self.assertIn(word, answer.headers["Set-Cookie"])
        self.assertEqual(self.send("/").status, 200)

    def test_another_host_and_another_site_are_refused(self):
        for headers in [{"Host": "evil.example"}, {"Host": f"evil.example:{self.program.port}"},
                        {"Host": "127.0.0.1"}, {"Sec_Fetch_Site": "cross-site"},
                        {"Sec_Fetch_Site": "same-site"}, {"Origin": "http://evil.example"},
                        {"Origin": "null"}]:
            with self.subTest(headers):
                self.assertEqual(self.send("/", **headers).status, 403)
        self.assertEqual(self.program.request(
            "GET", f"/?token={self.token}", None, {"Host": "evil.example"}).status, 403)
        self.assertEqual(self.send("/", Host=f"localhost:{self.program.port}").status, 200)

    def test_it_listens_on_the_loopback_only(self):
        rows = [line.split() for name in ["/proc/net/tcp", "/proc/net/tcp6"]
                for line in pathlib.Path(name).read_text().splitlines()[1:]]
        port = f"{self.program.port:04X}"
        addresses = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{port}")]
        self.assertEqual(addresses, [f"0100007F:{port}"])

    def test_nothing_is_written_without_the_option(self):
        def digest():
            return hashlib.sha256(pathlib.Path(self.store).read_bytes()).hexdigest()
        before = digest()
        author = self.object("User", f'email == "{ADA}"')["id"]
        answer = self.send("/undo", "POST", f"author={author}&action=undo")
        self.assertEqual(answer.status, 403)
        for path in ["/", "/entities/Issue", "/timeline", f"/undo?author={author}"]:
            self.assertEqual(self.send(path).status, 200)
        self.assertEqual(digest(), before)

    def test_what_a_browser_sends_is_never_an_option_of_the_tool(self):
        for path, status in [
            ("/entities/--help", 404), ("/objects/--help", 400), ("/revisions/--help", 400),
            ("/entities/Issue?where=--count", 400), ("/entities/Issue?sort=--count", 400),
            ("/entities/Issue?as-of=--count", 400), ("/timeline?author=--help", 200),
            ("/undo?author=--help", 200), ("/entities/Nothing", 404), ("/revisions/9999", 404),
            ("/objects/01a20fa0-81bf-765c-82b7-8113db11ee10", 404), ("/nothing", 404),
        ]:
            with self.subTest(path):
                answer = self.send(path)
                self.assertEqual(answer.status, status, answer.text)
                self.assertNotIn("SUBCOMMANDS", answer.text)

    def test_a_file_that_is_no_store_is_refused_at_once(self):
        path = pathlib.Path(self.directory) / "text.stet"
        path.write_text("no store")
        result = subprocess.run([BUILD / "stet-browse", path], capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("text.stet", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_a_damaged_store_is_shown_as_far_as_it_can_be_read(self):
        copy = f"{self.directory}/damaged.stet"
        data = bytearray(pathlib.Path(self.store).read_bytes())
        # All pages after those with the head of the file.
        for page in range(4, len(data) // 4096):
            data[page * 4096 + 16:page * 4096 + 64] = b"\xff" * 48
        pathlib.Path(copy).write_bytes(data)
        result = subprocess.run([BUILD / "stet", "info", copy], capture_output=True)
        if result.returncode:
            refused = subprocess.run([BUILD / "stet-browse", copy], capture_output=True, text=True)
            self.assertNotEqual(refused.returncode, 0)
            self.assertTrue(refused.stderr)
        # A store that is damaged while it is looked at: pages fail, the inspector does not.
        pathlib.Path(copy).write_bytes(pathlib.Path(self.store).read_bytes())
        program = Program("stet-browse", copy)
        try:
            cookie = f"stet-browse-{program.port}={program.url.split('=')[1]}"
            with open(copy, "r+b") as file:
                file.write(data)
            for path in ["/", "/entities/Issue", "/timeline", "/diff"]:
                answer = program.request("GET", path, None, {"Cookie": cookie})
                self.assertIn(answer.status, (200, 500))
            with open(copy, "r+b") as file:
                file.write(pathlib.Path(self.store).read_bytes())
            answer = program.request("GET", "/entities/Issue", None, {"Cookie": cookie})
            self.assertEqual(answer.status, 200)
        finally:
            program.stop()


class BrowserTestCase(BrowseTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        super().tearDownClass()

    def window(self, path="/"):
        window = self.browser.window()
        window.open(self.program.url)
        if path != "/":
            window.open(self.origin + path)
        return window

    def follow(self, window, text, within="main"):
        """Clicks the first link with a text."""
        window.evaluate(f"""[...document.querySelectorAll("{within} a")]
            .find((link) => link.innerText.includes({json.dumps(text)})).id ||= "followed" """)
        window.submit("#followed")


class PageTests(BrowserTestCase):
    def test_links_lead_from_the_entities_to_an_object_and_on(self):
        window = self.window()
        self.assertIn("Issue", window.text("main"))
        self.assertEqual(window.evaluate("location.search"), "")
        self.follow(window, "Issue")
        self.assertEqual(window.evaluate("document.querySelectorAll('tbody tr').length"), 50)
        window.type("#where", "number == 1")
        window.submit("main > form button")
        window.submit("tbody th a")
        self.assertEqual(window.text("h1"), "Search finds nothing after a restart of the service")
        rows = window.evaluate("""Object.fromEntries([...document.querySelectorAll("tbody tr")]
            .map((row) => [row.cells[0].innerText, [...row.cells].slice(1).map((c) => c.innerText)]))""")
        self.assertEqual(rows["priority"][0], "2")
        self.assertRegex(rows["priority"][1], "revision 3\\s+Ada Okafor")
        self.assertEqual(rows["assignee"][0], "Bruno Lindqvist")
        self.assertEqual(sorted(rows["labels"][0].split("\n")), ["bug", "performance"])
        self.follow(window, "Bruno Lindqvist", within=".value")
        self.assertEqual(window.text("h1"), "Bruno Lindqvist")
        self.follow(window, "Issue whose assignee is this object")
        shown = window.evaluate("document.querySelectorAll('tbody tr').length")
        bruno = self.object("User", 'name hasPrefix "Bruno"')["id"]
        self.assertEqual(shown, len(self.stet("query", self.store, "Issue", f'assignee == "{bruno}"')))

    def test_a_condition_that_cannot_be_read_comes_back_with_the_reason(self):
        window = self.window("/entities/Issue")
        window.type("#where", "color == 3")
        window.submit("main > form button")
        self.assertIn("Issue has no property color", window.text("#where-error"))
        self.assertEqual(window.evaluate("document.getElementById('where').value"), "color == 3")
        self.assertEqual(window.violations(), [])

    def test_a_table_goes_on_at_the_next_page_and_in_the_past(self):
        window = self.window("/entities/Issue?sort=-number")
        self.follow(window, "Next 50")
        self.follow(window, "Next 50")
        self.assertIn("Objects 101 to 120", window.text("main"))
        window.open(self.origin + '/entities/Issue?as-of=2&where=number+%3D%3D+1')
        self.assertIn("Search finds nothing after a restart", window.text("tbody"))
        self.assertNotIn("of the service", window.text("tbody"))

    def test_the_timeline_leads_to_commits_and_their_differences(self):
        window = self.window("/timeline")
        self.assertEqual(window.evaluate("document.querySelectorAll('.timeline > li').length"), 9)
        self.follow(window, "change title of ST-1")
        self.assertIn("Search finds nothing after a restart of the service", window.text("#main ins"))
        self.follow(window, "Since then")
        changed = self.stet("diff", self.store, "6", "9")
        self.assertEqual(window.text("#changes"), f"{len(changed)} objects differ")
        self.assertIn("labels added bug", " ".join(window.text("#main .commits").split()))
        window.type("#from", "3")
        window.type("#to", "2")
        window.submit("main > form button")
        self.assertEqual(window.text("#changes"), "1 object differs")

    def test_undo_is_previewed(self):
        window = self.window("/undo")
        author = self.object("User", f'email == "{ADA}"')["id"]
        window.choose("#author", author)
        window.submit("main > form button")
        self.assertIn("done", window.text("main del"))
        self.assertEqual(window.evaluate("document.querySelectorAll('form[method=post]').length"), 0)

    def test_every_page_is_usable_in_every_size_and_light(self):
        issue = self.object("Issue", "number == 1")["id"]
        author = self.object("User", f'email == "{ADA}"')["id"]
        pages = {
            "entities": "/", "table": "/entities/Issue?where=number+%3C+20", "empty": "/entities/Issue?where=number+%3C+0",
            "object": f"/objects/{issue}", "timeline": "/timeline", "revision": "/revisions/4",
            "bulk": "/revisions/2", "diff": "/diff?from=2&to=9", "undo": f"/undo?author={author}",
            "missing": "/revisions/999"}
        window = self.window()
        for name, path in pages.items():
            for width in [1280, 390]:
                window.resize(width)
                for scheme in ["light", "dark"]:
                    with self.subTest(name, width=width, scheme=scheme):
                        window.color_scheme(scheme)
                        window.open(self.origin + path)
                        window.screenshot(OUTPUT / f"browse-{name}-{width}-{scheme}.png")
                        self.assertEqual(window.violations(), [])
            with self.subTest(name):
                # The last of them, at which the window still is.
                self.assertEqual(window.focus_violations(), [])


class WriteTests(BrowserTestCase):
    options = ["--write"]

    def test_undo_and_redo_are_done_by_a_button(self):
        author = self.object("User", f'email == "{ADA}"')["id"]
        window = self.window(f"/undo?author={author}")
        window.submit("[aria-labelledby=undo] .primary")
        issue = self.object("Issue", "number == 2")
        self.assertEqual(issue["values"]["state"], "started")
        commit = self.stet("log", self.store, "--limit", "1")[0]
        self.assertEqual((commit["cause"], commit["author"]), ("undo", author))
        window.submit("[aria-labelledby=redo] .primary")
        self.assertEqual(self.object("Issue", "number == 2")["values"]["state"], "done")

    def test_an_undo_from_another_site_is_refused(self):
        author = self.object("User", f'email == "{ADA}"')["id"]
        for headers in [{"Sec_Fetch_Site": "cross-site"}, {"Origin": "http://evil.example"}]:
            answer = self.send("/undo", "POST", f"author={author}&action=undo", **headers)
            self.assertEqual(answer.status, 403)


if __name__ == "__main__":
    unittest.main()

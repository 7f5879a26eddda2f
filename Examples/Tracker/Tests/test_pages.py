"""The pages, in headless Chromium. Screenshots are kept for people to look at."""

import unittest

from support import ADA, BRUNO, TrackerTestCase
from chromium import Browser
from program import OUTPUT


class PageTestCase(TrackerTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        super().tearDownClass()

    def window(self, user=None, path="/", **size):
        """Opens a page, as a person who signs in by the page."""
        window = self.browser.window(**size)
        if user:
            window.open(self.program.url + "/")
            window.choose("#user", self.user_id(user))
            window.submit("form[action='/session'] button")
        window.open(self.program.url + path)
        return window

    def assertNoViolations(self, window, focus=True):
        self.assertEqual(window.violations(), [])
        if focus:
            self.assertEqual(window.focus_violations(), [])


class LiveTests(PageTestCase):
    def test_an_edit_in_one_browser_appears_in_the_other(self):
        key = self.create("Seen by both", assignee=self.user_id(ADA))
        ada = self.window(ADA, "/projects/ST")
        bruno = self.window(BRUNO, "/projects/ST")
        bruno.wait("document.body.classList.contains('live')")
        ada.submit(f"#{key}-started")
        self.assertTrue(ada.evaluate(f"location.hash === '#{key}'"))
        bruno.wait(f"!!document.querySelector('[aria-labelledby=started] [id={key}]')")
        self.assertIn(f"Ada Okafor: change state of {key}", bruno.text("#news"))

    def test_the_focus_stays_while_the_board_changes(self):
        key, other = self.create("Has the focus"), self.create("Changes")
        window = self.window(ADA, "/projects/ST")
        window.wait("document.body.classList.contains('live')")
        window.evaluate(f"document.getElementById('{key}-done').focus()")
        self.edit(other, BRUNO, title="Changed meanwhile")
        window.wait("document.body.innerText.includes('Changed meanwhile')")
        self.assertEqual(window.evaluate("document.activeElement.id"), f"{key}-done")

    def test_a_form_in_use_is_not_replaced_and_merges_with_what_others_did(self):
        key = self.create("To be merged")
        window = self.window(ADA, f"/issues/{key}")
        window.wait("document.body.classList.contains('live')")
        window.type("#title", "Typed by Ada")
        self.edit(key, BRUNO, priority="urgent")
        window.wait("document.getElementById('history-list').innerText.includes('urgent')")
        self.assertIn("Your text is kept", window.text("#news"))
        self.assertEqual(window.evaluate("document.getElementById('title').value"), "Typed by Ada")
        window.submit("#edit .primary")
        issue = self.get(f"/api/issues/{key}").json
        self.assertEqual((issue["title"], issue["priority"]), ("Typed by Ada", "urgent"))

    def test_pages_come_back_after_the_service_was_killed(self):
        key = self.create("Survives")
        board = self.window(ADA, "/projects/ST")
        board.wait("document.body.classList.contains('live')")
        self.program.kill()
        board.wait("document.getElementById('news').innerText.includes('is lost')")
        port = self.program.port
        self.start(port)
        self.edit(key, BRUNO, title="Edited after the kill")
        board.wait("document.body.innerText.includes('Edited after the kill')")
        board.open(f"{self.program.url}/issues/{key}")
        self.assertEqual(board.evaluate("document.getElementById('title').value"),
                         "Edited after the kill")


class EditTests(PageTestCase):
    def test_a_refused_edit_keeps_the_text_and_says_what_is_wrong_field_by_field(self):
        key = self.create("Before")
        window = self.window(ADA, f"/issues/{key}")
        window.type("#title", "x")
        window.type("#body", "A long text that must not get lost.\n\n  Its second paragraph.")
        window.type("#estimate", "many")
        window.choose("#state", "started")
        window.submit("#edit .primary")
        self.assertEqual(window.evaluate("document.activeElement.id"), "refusal")
        values = window.evaluate(
            "['title', 'body', 'estimate', 'state'].map((id) => document.getElementById(id).value)")
        self.assertEqual(values, [
            "x", "A long text that must not get lost.\n\n  Its second paragraph.", "many",
            "started"])
        errors = window.evaluate(
            "['title', 'estimate', 'assignee'].map((id) => document.getElementById(`${id}-error`).innerText)")
        self.assertEqual(errors, [
            "title must be at least 3 characters", "estimate must be a whole number of hours",
            "an issue that is started needs an assignee"])
        self.assertNoViolations(window)
        window.screenshot(OUTPUT / "refused.png")
        window.type("#title", "After")
        window.type("#estimate", "12")
        window.choose("#assignee", self.user_id(ADA))
        window.submit("#edit .primary")
        issue = self.get(f"/api/issues/{key}").json
        self.assertEqual((issue["title"], issue["estimate"], issue["state"]), ("After", 12, "started"))
        self.assertIn("second paragraph", issue["body"])

    def test_a_conflict_shows_both_texts_and_keeps_mine(self):
        key = self.create("The base")
        window = self.window(ADA, f"/issues/{key}")
        window.type("#title", "Mine")
        self.edit(key, BRUNO, title="Theirs", priority="urgent")
        window.submit("#edit .primary")
        self.assertIn("Others have changed this to “Theirs”", window.text("#title-error"))
        self.assertEqual(window.evaluate("document.getElementById('title').value"), "Mine")
        self.assertEqual(window.evaluate("document.getElementById('priority').value"), "urgent")
        self.assertNoViolations(window)
        window.screenshot(OUTPUT / "conflict.png")
        window.click("#title-error button")
        self.assertEqual(window.evaluate("document.getElementById('title').value"), "Theirs")
        window.type("#title", "Both")
        window.submit("#edit .primary")
        self.assertEqual(self.get(f"/api/issues/{key}").json["title"], "Both")

    def test_a_refused_move_leads_to_the_form_that_can_mend_it(self):
        key = self.create("Nobody has it")
        window = self.window(ADA, "/projects/ST")
        window.submit(f"#{key}-started")
        self.assertIn("needs an assignee", window.text("#refusal"))
        self.assertEqual(window.evaluate("document.getElementById('state').value"), "started")

    def test_the_undo_button_says_what_it_will_undo(self):
        key = self.create("Undo me")
        window = self.window(ADA, f"/issues/{key}")
        window.type("#title", "Renamed")
        window.submit("#edit .primary")
        self.assertEqual(window.text("#undo"), f"Undo: change title of {key}")
        window.submit("#undo")
        self.assertEqual(window.evaluate("document.getElementById('title').value"), "Undo me")
        self.assertEqual(window.text("#redo"), f"Redo: change title of {key}")
        window.submit("#redo")
        self.assertEqual(window.evaluate("document.getElementById('title').value"), "Renamed")

    def test_an_undo_that_others_prevent_offers_to_undo_the_rest(self):
        key = self.create("Shared", BRUNO)
        self.edit(key, ADA, title="By Ada", priority="urgent")
        self.edit(key, BRUNO, title="By Bruno")
        window = self.window(ADA, f"/issues/{key}")
        window.submit("#undo")
        self.assertIn("title of Issue", window.text("main"))
        self.assertNoViolations(window)
        window.submit("main form button")
        issue = self.get(f"/api/issues/{key}").json
        self.assertEqual((issue["title"], issue["priority"]), ("By Bruno", "normal"))

    def test_an_issue_is_added_commented_reverted_and_deleted_with_the_keyboard(self):
        window = self.window(ADA, "/projects/ST/new")
        window.evaluate("document.getElementById('title').focus()")
        window.call("Input.insertText", text="Only keys")
        window.evaluate("window.isOld = true")
        window.press("Enter")
        window.settle()
        key = window.evaluate("location.pathname.split('/').at(-1)")
        window.evaluate("document.getElementById('text').focus()")
        window.call("Input.insertText", text="A comment\nof two lines")
        window.evaluate("window.isOld = true")
        window.press("Tab")
        window.press("Enter")
        window.settle()
        self.assertIn("A comment\nof two lines", window.text("#comment-list"))
        self.edit(key, BRUNO, title="Renamed by Bruno")
        window.open(f"{self.program.url}/issues/{key}?at=2")
        window.submit("#past button")
        self.assertEqual(self.get(f"/api/issues/{key}").json["title"], "Only keys")
        window.submit("#edit .quiet")
        self.assertEqual(self.get(f"/api/issues/{key}").status, 404)

    def test_the_slider_shows_each_revision(self):
        window = self.window(ADA, "/issues/ST-1")
        window.evaluate("document.getElementById('at').focus()")
        window.press("Home")
        window.wait("document.getElementById('past').innerText.includes('revision 2')")
        self.assertIn("Search finds nothing after a restart\n", window.text("#past"))
        window.press("ArrowRight")
        window.press("ArrowRight")
        window.wait("document.getElementById('past').innerText.includes('by Bruno')")
        self.assertEqual(window.evaluate(
            "[...document.querySelectorAll('#past mark')].map((mark) => mark.innerText)"),
            ["started", "Bruno Lindqvist"])

    def test_what_people_write_is_never_markup(self):
        text = "<img src=x onerror=\"document.title='bad'\"> & '\""
        key = self.create(text, body=text, labels=["<b>"])
        self.send("POST", f"/api/issues/{key}/comments", {"text": text})
        for path in [f"/issues/{key}", "/projects/ST", f"/projects/ST?q={'%3Cimg'}"]:
            window = self.window(ADA, path)
            self.assertEqual(window.evaluate("document.querySelectorAll('main img, main b').length"), 0)
            self.assertIn(text, window.text("main"))

    def test_somebody_without_a_name_reads_and_cannot_edit(self):
        window = self.window(path="/issues/ST-1")
        self.assertEqual(window.evaluate("document.querySelectorAll('main form[method=post]').length"), 0)
        self.assertIn("Search finds nothing", window.text("#edit") + window.text("h1"))
        self.assertNoViolations(window)

    def test_a_new_person_and_a_new_project_are_added_by_the_pages(self):
        window = self.window(path="/")
        window.click("summary")
        window.submit("form[action='/people'] button")
        self.assertIn("name must be at least 1 character", window.text("#name-error"))
        window.type("#name", "Eve")
        window.type("#email", "eve@example.org")
        window.submit("form[action='/people'] button")
        self.assertIn("Eve", window.text("header"))
        window.type("#project-name", "Warehouse")
        window.type("#key", "bad key")
        window.submit("form[action='/projects'] button")
        self.assertIn("key", window.text("#refusal").lower())
        window.type("#key", "WH")
        window.submit("form[action='/projects'] button")
        self.assertIn("Nothing is open.", window.text("main"))


class LookTests(PageTestCase):
    seed = ["--issues", "500"]

    def test_every_page_is_usable_in_every_size_and_light(self):
        window = self.window(ADA)
        pages = {
            "home": "/", "board": "/projects/ST", "empty": "/projects/NEW",
            "nothing": "/projects/ST?q=zzz", "issue": "/issues/ST-1?at=3", "new": "/projects/ST/new",
            "long": "/issues/ST-11", "right-to-left": "/issues/ST-7", "missing": "/issues/ST-0"}
        for name, path in pages.items():
            for width in [1280, 390]:
                window.resize(width)
                for scheme in ["light", "dark"]:
                    with self.subTest(name, width=width, scheme=scheme):
                        window.color_scheme(scheme)
                        window.open(self.program.url + path)
                        window.screenshot(OUTPUT / f"{name}-{width}-{scheme}.png")
                        self.assertEqual(window.violations(), [])
                with self.subTest(name, width=width):
                    self.assertEqual(window.focus_violations(), [])

    def test_the_rules_for_pages_find_what_is_wrong(self):
        window = self.window(ADA, "/issues/ST-2")
        window.evaluate("""(() => {
            document.querySelector(".hint").style.color = "#bbb";
            document.querySelector("label[for=title]").remove();
            document.querySelector("#estimate").style.width = "200vw";
            document.querySelector("#title").style.outline = "none";
            document.querySelector("#state").tabIndex = 5;
        })()""")
        found = "\n".join(window.violations() + window.focus_violations())
        for part in ["contrast 1.9", "has no name", "is wider than the page",
                     "“The export has no header” has no outline", "select#state"]:
            self.assertIn(part, found)

    def test_a_long_column_goes_on_at_the_next_page(self):
        window = self.window(path="/projects/ST")
        total = int(window.text("#open .count"))
        window.submit("[aria-labelledby=open] .more a")
        first = window.evaluate("document.querySelectorAll('.card').length")
        seen = 50 + first
        while window.evaluate("!!document.querySelector('.more a')"):
            window.submit(".more a")
            seen += window.evaluate("document.querySelectorAll('.card').length")
        self.assertEqual(seen, total)


if __name__ == "__main__":
    unittest.main()

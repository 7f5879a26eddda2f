"""The service for programs, over a socket."""

import concurrent.futures
import threading
import time
import unittest

from support import ADA, BRUNO, TrackerTestCase


class RESTTests(TrackerTestCase):
    def test_an_issue_is_created_and_read(self):
        answer = self.send("POST", "/api/projects/ST/issues", {
            "title": "  A title  ", "priority": "high", "labels": ["Bug", "new label"],
            "estimate": 3})
        self.assertEqual(answer.status, 201)
        key = answer.json["key"]
        self.assertEqual(answer.headers["Location"], f"/api/issues/{key}")
        read = self.get(answer.headers["Location"])
        self.assertEqual(read.json, answer.json)
        wanted = {
            "title": "A title", "body": "", "state": "open", "priority": "high", "estimate": 3,
            "labels": ["bug", "new label"]}
        self.assertEqual({name: read.json[name] for name in wanted}, wanted)
        self.assertEqual(read.json["reporter"]["name"], "Ada Okafor")
        self.assertNotIn("assignee", read.json)
        self.assertEqual(self.get(f"/api/issues/{read.json['id']}").json, read.json)

    def test_a_request_waits_for_the_revision_that_it_names(self):
        key = self.create("To be awaited")
        last = int(self.get(f"/api/issues/{key}").headers["Stet-Revision"])
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = pool.submit(self.get, f"/api/issues/{key}", Stet_Revision=str(last + 1))
            edited = self.edit(key, title="Awaited")
            self.assertEqual(int(edited.headers["Stet-Revision"]), last + 1)
            answer = waiting.result()
        self.assertEqual((answer.status, answer.json["title"]), (200, "Awaited"))
        answer = self.get(f"/api/issues/{key}", Stet_Revision=str(last + 100))
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.json["title"], "This machine does not have that revision yet.")
        self.assertEqual(self.get(f"/api/issues/{key}", Stet_Revision="x").status, 400)

    def test_a_refusal_names_everything_that_is_wrong(self):
        answer = self.send("POST", "/api/projects/ST/issues", {
            "title": "x", "state": "lost", "priority": "huge", "estimate": -1, "body": 7,
            "assignee": "nobody", "labels": list("abcdef")})
        self.assertEqual(answer.status, 422)
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        self.assertEqual(answer.json["code"], "validation")
        pointers = sorted({error["pointer"] for error in answer.json["errors"]})
        self.assertEqual(pointers, [
            "#/assignee", "#/body", "#/estimate", "#/labels", "#/priority", "#/state", "#/title"])

    def test_the_state_machine_refuses_with_a_reason(self):
        key = self.create("To be started")
        answer = self.edit(key, state="started")
        self.assertEqual(answer.status, 422)
        self.assertEqual([error["detail"] for error in answer.json["errors"]],
                         ["an issue that is started needs an assignee"])
        self.assertEqual(self.edit(key, state="done").status, 200)
        answer = self.edit(key, state="started", assignee=self.user_id(ADA))
        self.assertEqual([error["detail"] for error in answer.json["errors"]],
                         ["state can't go from done to started"])

    def test_what_cannot_be_read_is_a_problem(self):
        cases = [
            ("POST", "/api/projects/ST/issues", "{", ADA, 400),
            ("POST", "/api/projects/ST/issues", {"color": "red"}, ADA, 400),
            ("POST", "/api/projects/NONE/issues", {"title": "A title"}, ADA, 404),
            ("POST", "/api/projects/ST/issues", {"title": "A title"}, None, 401),
            ("POST", "/api/projects/ST/issues", {"title": "A title"}, "x@example.org", 401),
            ("GET", "/api/issues/ST-0", None, None, 404),
            ("GET", "/api/issues/x", None, None, 404),
            ("GET", "/api/nothing", None, None, 404),
            ("GET", "/api/projects/ST/issues?after=x", None, None, 400),
            ("GET", "/api/projects/ST/issues?sort=color", None, None, 400),
            ("GET", "/api/projects/ST/issues?state=lost", None, None, 400),
        ]
        for method, path, body, user, status in cases:
            with self.subTest(path, body=body, user=user):
                answer = self.send(method, path, body, user)
                self.assertEqual((answer.status, answer.headers["Content-Type"]),
                                 (status, "application/problem+json"))
                self.assertEqual(answer.json["status"], status)

    def test_a_page_of_another_site_cannot_edit(self):
        for site, status in [("cross-site", 403), ("same-site", 403), ("same-origin", 201)]:
            answer = self.send("POST", "/api/projects/ST/issues", {"title": "A title"},
                               Sec_Fetch_Site=site)
            self.assertEqual(answer.status, status)

    def test_two_people_cannot_have_one_address(self):
        answer = self.send("POST", "/api/users", {"name": "Other", "email": "ADA@example.org"})
        self.assertEqual([error["pointer"] for error in answer.json["errors"]], ["#/email"])

    # Lists.

    def test_pages_have_every_issue_once(self):
        for order in ["number", "-priority", "title,-number", "assignee", "-updated"]:
            with self.subTest(order):
                keys, cursor = [], ""
                while cursor is not None:
                    page = self.get(
                        f"/api/projects/ST/issues?limit=7&sort={order}&total=true&after={cursor}"
                        if cursor else f"/api/projects/ST/issues?limit=7&sort={order}&total=true").json
                    keys += [issue["key"] for issue in page["items"]]
                    cursor = page.get("next")
                self.assertEqual(len(keys), page["total"])
                self.assertEqual(len(set(keys)), len(keys))

    def test_filters_find_what_they_say(self):
        everything = self.get("/api/projects/ST/issues?limit=100").json["items"]
        person = self.user_id(BRUNO)
        cases = {
            "state=done": lambda i: i["state"] == "done",
            "label=bug": lambda i: "bug" in i["labels"],
            f"assignee={person}": lambda i: i.get("assignee", {}).get("id") == person,
            "priority=high": lambda i: i["priority"] in ("high", "urgent"),
            "q=THE": lambda i: "the" in i["title"].lower(),
            "q=after+a%20restart": lambda i: "after a restart" in i["title"],
            "label=nothing": lambda i: False,
            "state=open&label=bug&priority=normal": lambda i: i["state"] == "open"
                and "bug" in i["labels"] and i["priority"] != "low",
        }
        for query, holds in cases.items():
            with self.subTest(query):
                page = self.get(f"/api/projects/ST/issues?limit=100&total=true&{query}").json
                wanted = [issue["key"] for issue in everything if holds(issue)]
                self.assertEqual([issue["key"] for issue in page["items"]], wanted)
                self.assertEqual(page["total"], len(wanted))

    # Conditional requests.

    def test_a_list_is_never_older_than_the_last_commit(self):
        path = "/api/projects/ST/issues?label=fresh&total=true"
        key = self.create("First", labels=["fresh"])
        first = self.get(path)
        self.assertEqual(self.get(path).body, first.body)
        self.assertEqual(self.get(path, If_None_Match=first.headers["ETag"]).status, 304)
        self.edit(key, title="Renamed")
        second = self.get(path, If_None_Match=first.headers["ETag"])
        self.assertEqual((second.status, second.json["items"][0]["title"]), (200, "Renamed"))

    def test_an_edit_of_a_stale_issue_gets_the_three_values(self):
        key = self.create("The base", priority="low", labels=["bug"])
        tag = self.get(f"/api/issues/{key}").headers["ETag"]
        self.assertEqual(self.edit(key, BRUNO, title="Theirs", labels=["design"]).status, 200)
        answer = self.edit(key, tag=tag, title="Mine", priority="high")
        self.assertEqual((answer.status, answer.json["code"]), (412, "stale"))
        self.assertEqual(answer.json["conflicts"], [
            {"field": "title", "base": "The base", "theirs": "Theirs", "mine": "Mine"},
            {"field": "priority", "base": "low", "theirs": "low", "mine": "high"},
            {"field": "labels", "base": ["bug"], "theirs": ["design"], "mine": ["bug"]}])
        self.assertEqual(self.get(f"/api/issues/{key}").json["title"], "Theirs")
        merged = self.edit(key, tag=answer.headers["ETag"], title="Both", priority="high")
        self.assertEqual((merged.status, merged.json["title"]), (200, "Both"))

    def test_other_issues_do_not_make_one_stale(self):
        key, other = self.create(), self.create()
        tag = self.get(f"/api/issues/{key}").headers["ETag"]
        self.edit(other, title="Another title")
        self.assertEqual(self.get(f"/api/issues/{key}", If_None_Match=tag).status, 304)
        self.assertEqual(self.edit(key, tag=tag, title="Mine").status, 200)
        self.assertEqual(self.get(f"/api/issues/{key}", If_None_Match=tag).status, 200)

    def test_a_tag_of_another_history_is_refused(self):
        key = self.create()
        self.assertEqual(self.edit(key, tag='"99999999"', title="Mine").status, 412)
        self.assertEqual(self.edit(key, tag='"x"', title="Mine").status, 400)
        self.assertEqual(self.edit(key, tag="*", title="Mine").status, 200)
        self.assertEqual(self.send("DELETE", f"/api/issues/{key}", If_Match='"1"').status, 412)
        self.assertEqual(self.send("DELETE", f"/api/issues/{key}").status, 204)

    # History and undo.

    def test_each_person_undoes_their_own_edits(self):
        key = self.create("Undo", BRUNO)
        self.edit(key, ADA, title="By Ada")
        self.edit(key, BRUNO, priority="urgent")
        self.assertEqual(self.get("/api/undo").json["undo"]["label"], f"change title of {key}")
        commit = self.send("POST", "/api/undo").json
        self.assertEqual(commit["objects"][0]["change"], "update")
        issue = self.get(f"/api/issues/{key}").json
        self.assertEqual((issue["title"], issue["priority"]), ("Undo", "urgent"))
        self.send("POST", "/api/redo")
        self.assertEqual(self.get(f"/api/issues/{key}").json["title"], "By Ada")

    def test_an_undo_keeps_what_others_have_changed_since(self):
        key = self.create("Conflict", BRUNO)
        self.edit(key, ADA, title="By Ada", priority="urgent")
        self.edit(key, BRUNO, title="By Bruno")
        preview = self.get("/api/undo").json["undo"]
        self.assertEqual(len(preview["conflicts"]), 1)
        refused = self.send("POST", "/api/undo")
        self.assertEqual((refused.status, refused.json["code"]), (409, "undo.conflict"))
        self.assertEqual(self.send("POST", "/api/undo?policy=skip").status, 200)
        issue = self.get(f"/api/issues/{key}").json
        self.assertEqual((issue["title"], issue["priority"]), ("By Bruno", "normal"))

    def test_a_deleted_issue_comes_back_with_everything(self):
        key = self.create("Deleted", labels=["bug"])
        self.send("POST", f"/api/issues/{key}/comments", {"text": "Keep me"}, BRUNO)
        before = self.get(f"/api/issues/{key}").json
        self.send("DELETE", f"/api/issues/{key}")
        self.assertEqual(self.get(f"/api/issues/{key}").status, 404)
        self.send("POST", "/api/undo")
        self.assertEqual(self.get(f"/api/issues/{key}").json, before)
        comments = self.get(f"/api/issues/{key}/comments").json
        self.assertEqual([comment["text"] for comment in comments], ["Keep me"])

    def test_history_and_blame_say_who_changed_what(self):
        key = self.create("History", labels=["bug"])
        self.edit(key, BRUNO, title="Renamed", labels=["bug", "design"])
        self.edit(key, ADA, estimate=5)
        history = self.get(f"/api/issues/{key}/history").json
        self.assertEqual([entry["author"] for entry in history],
                         ["Ada Okafor", "Bruno Lindqvist", "Ada Okafor"])
        changes = [(c["field"], c["old"], c["new"]) for c in history[1]["changes"]]
        self.assertEqual(changes, [("title", "History", "Renamed"), ("labels", [], ["design"])])
        blame = self.get(f"/api/issues/{key}/blame").json
        self.assertEqual({field: entry["author"] for field, entry in blame.items()}, {
            "title": "Bruno Lindqvist", "body": "Ada Okafor", "state": "Ada Okafor",
            "priority": "Ada Okafor", "estimate": "Ada Okafor", "labels": "Bruno Lindqvist"})

    # Operations.

    def test_health_and_metrics_are_served(self):
        self.assertEqual(self.get("/health/live").status, 200)
        ready = self.get("/health/ready")
        self.assertEqual((ready.status, ready.json["canSave"]), (200, True))
        self.create()
        text = self.get("/metrics").text
        for line in ['stet_save_duration_seconds_count{store="tracker.stet"}', "# TYPE hb_requests_total counter",
                     'http_request_method="POST"']:
            self.assertIn(line, text)

    def test_only_the_operator_backs_up_and_erases(self):
        person = self.user_id(BRUNO)
        for method, path in [("POST", "/api/backups"), ("DELETE", f"/api/users/{person}")]:
            self.assertEqual(self.send(method, path).status, 403)

    def test_an_unknown_person_cannot_be_erased(self):
        answer = self.operate("DELETE", "/api/users/01a20fa0-81bf-765c-82b7-8113db11ee10")
        self.assertEqual(answer.status, 404)

    def test_the_number_of_each_issue_is_its_own(self):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            keys = list(pool.map(lambda i: self.create(f"Issue {i}"), range(120)))
        self.assertEqual(len(set(keys)), 120)


class EventTests(TrackerTestCase):
    def revision(self):
        return int(self.get("/api/issues/ST-1").headers["ETag"].strip('"'))

    def test_a_stream_has_every_commit_once_and_continues_where_it_ended(self):
        start = self.revision()
        stream = self.events("/api/events", last=start)
        first = [self.create(f"Event {i}") for i in range(3)]
        events = stream.take(3)
        stream.close()
        second = [self.create(f"Event {i}") for i in range(4)]
        events += self.events("/api/events", last=events[-1][0]).take(4)
        self.assertEqual([event[0] for event in events], list(range(start + 1, start + 8)))
        self.assertEqual(len(first + second), 7)
        self.assertTrue(all(event[2]["label"] == "create an issue in ST" for event in events))

    def test_a_stream_continues_after_the_service_was_killed(self):
        start = self.revision()
        stream = self.events("/api/events", last=start)
        self.create("Before")
        seen = [event[0] for event in stream.take(1)]
        self.create("Not seen")
        self.program.kill()
        self.start()
        self.create("After")
        seen += [event[0] for event in self.events("/api/events", last=seen[-1]).take(2)]
        self.assertEqual(seen, [start + 1, start + 2, start + 3])

    def test_a_stream_that_is_ahead_of_the_store_is_told_to_begin_anew(self):
        event = self.events("/api/events", last=99999999).take(1)[0]
        self.assertEqual(event[:2], (self.revision(), "reset"))

    def test_a_page_hears_of_its_own_project_only(self):
        self.send("POST", "/api/projects", {"key": "OTHER", "name": "Other"})
        start = self.revision()
        stream = self.events(f"/projects/ST/events?after={start}")
        self.create("Elsewhere", project="OTHER")
        key = self.create("Here")
        self.send("POST", f"/api/issues/{key}/comments", {"text": "Hello"})
        events = stream.take(3)
        self.assertEqual([event[1] for event in events], ["message", "commit", "commit"])
        self.assertEqual([event[2] and event[2]["label"] for event in events],
                         [None, "create an issue in ST", f"comment on {key}"])

    def test_a_shutdown_ends_open_streams_within_a_second(self):
        durations = []
        for _ in range(3):
            streams = [self.events("/api/events") for _ in range(20)]
            began = time.monotonic()
            code = self.program.stop()
            durations.append(time.monotonic() - began)
            ends = [list(stream) for stream in streams]
            self.start()
            self.assertEqual((code, ends), (0, [[]] * 20))
        # The best of three, for the machine may be busy.
        self.assertLess(min(durations), 1)

    def test_streams_that_clients_leave_are_ended(self):
        def active():
            """The number of GET requests that are answered now, this one included."""
            line = next(line for line in self.get("/metrics").text.splitlines()
                        if line.startswith('http_server_active_requests{http_request_method="GET"}'))
            return int(float(line.split()[1]))

        def wait(count):
            deadline = time.monotonic() + 20
            while (found := active()) != count and time.monotonic() < deadline:
                threading.Event().wait(0.02)
            self.assertEqual(found, count)

        wait(1)
        streams = [self.events("/api/events") for _ in range(10)]
        wait(11)
        for stream in streams:
            stream.close()
        wait(1)


if __name__ == "__main__":
    unittest.main()

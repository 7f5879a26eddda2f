"""What happens to the data: backups, erasure, migration, a crash."""

import json
import pathlib
import subprocess
import unittest

from support import ADA, BRUNO, BUILD, Program, TrackerTestCase


class StoreTests(TrackerTestCase):
    def test_a_backup_is_a_store_that_can_be_served(self):
        key = self.create("In the backup")
        answer = self.operate("POST", "/api/backups")
        self.assertEqual((answer.status, answer.json["isClean"]), (200, True))
        self.create("Not in the backup")
        copy = Program("tracker", "--store", f"{self.directory}/backups/{answer.json['file']}",
                       "--port", 0)
        try:
            self.assertEqual(copy.get(f"/api/issues/{key}").json, self.get(f"/api/issues/{key}").json)
            count = copy.get("/api/projects/ST/issues?total=true").json["total"]
            self.assertEqual(count, self.get("/api/projects/ST/issues?total=true").json["total"] - 1)
        finally:
            copy.stop()

    def test_an_erased_person_is_gone_from_every_commit(self):
        person = self.send("POST", "/api/users", {
            "name": "Zacharias Marker", "email": "marker@example.org"}).json["id"]
        key = self.create("Theirs", user="marker@example.org", assignee=person, state="started")
        for text in ["Marker comment one", "Marker comment two"]:
            self.send("POST", f"/api/issues/{key}/comments", {"text": text}, "marker@example.org")
        self.send("POST", "/api/undo", user="marker@example.org")
        self.assertEqual(self.operate("DELETE", f"/api/users/{person}").status, 204)

        issue = self.get(f"/api/issues/{key}").json
        self.assertEqual((issue["state"], "reporter" in issue, "assignee" in issue),
                         ("open", False, False))
        self.assertEqual([c["text"] for c in self.get(f"/api/issues/{key}/comments").json], ["(erased)"])
        self.assertNotIn("author", self.get(f"/api/issues/{key}/history").json[-1])
        file = self.operate("POST", "/api/backups").json["file"]
        data = pathlib.Path(f"{self.directory}/backups/{file}").read_bytes()
        for marker in [b"Marker", b"marker@example.org"]:
            self.assertNotIn(marker, data)
        self.assertIn(b"Theirs", data)

    def test_each_commit_names_its_request_and_the_trace_to_which_that_belongs(self):
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        self.send("POST", "/api/projects/ST/issues", {"title": "Traced"}, traceparent=trace)
        output = subprocess.run([BUILD / "stet", "log", self.store, "--json", "--limit", "1"],
                                capture_output=True, text=True, check=True).stdout
        metadata = json.loads(output)["metadata"]
        self.assertEqual(sorted(metadata), ["request", "traceparent"])
        self.assertEqual(metadata["traceparent"], trace)

    def test_an_edit_that_was_acknowledged_survives_a_kill(self):
        keys = [self.create(f"Durable {i}") for i in range(5)]
        self.program.kill()
        self.start()
        self.assertEqual([self.get(f"/api/issues/{key}").json["title"] for key in keys],
                         [f"Durable {i}" for i in range(5)])


class MigrationTests(TrackerTestCase):
    seed = ["--first-version"]

    def test_estimates_of_the_first_version_become_hours(self):
        items = self.get("/api/projects/ST/issues").json["items"]
        self.assertEqual([issue.get("estimate") for issue in items], [2, 2, 24, 40, None, None])
        self.assertEqual({issue["labels"][0] for issue in items}, {"bug"})
        self.assertEqual([c["text"] for c in self.get("/api/issues/ST-1/comments").json], ["Indeed."])

    def test_a_migrated_issue_can_be_edited_and_has_its_history(self):
        self.assertEqual(self.edit("ST-3", title="Edited after the migration").status, 200)
        labels = [entry["label"] for entry in self.get("/api/issues/ST-3/history").json]
        self.assertEqual((labels[0], labels[-1]), ("change title of ST-3", "seed"))

    def test_the_first_version_can_no_longer_open_the_store(self):
        result = subprocess.run(
            [BUILD / "tracker", "seed", "--first-version", "--store", self.store],
            capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0)


if __name__ == "__main__":
    unittest.main()

"""A tracker on a store of its own, for one class of tests."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Testing"))
from program import BUILD, Program  # noqa: E402

ADA, BRUNO = "ada@example.org", "bruno@example.org"


class TrackerTestCase(unittest.TestCase):
    """Starts a tracker before the first test of the class, and ends it after the last."""

    seed = ["--issues", "40"]
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="tracker-")
        cls.store = f"{cls.directory}/tracker.stet"
        if cls.seed is not None:
            subprocess.run([BUILD / "tracker", "seed", "--store", cls.store, *cls.seed], check=True)
        cls.start()

    @classmethod
    def start(cls, port=0):
        cls.program = Program(
            "tracker", "--store", cls.store, "--port", port, "--backups", f"{cls.directory}/backups",
            environment={"TRACKER_TOKEN": "operator"})

    @classmethod
    def tearDownClass(cls):
        cls.program.stop()
        shutil.rmtree(cls.directory)

    # Requests of a person.

    def get(self, path, user=ADA, **headers):
        return self.send("GET", path, None, user, **headers)

    def send(self, method, path, body=None, user=ADA, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if user:
            headers["X-User"] = user
        return self.program.request(method, path, body, headers)

    def events(self, path, last=None):
        stream = self.program.events(path, last)
        self.addCleanup(stream.close)
        return stream

    def operate(self, method, path):
        return self.program.request(method, path, None, {"Authorization": "Bearer operator"})

    def create(self, title="An issue", user=ADA, project="ST", **fields):
        """Creates an issue, and returns its key."""
        answer = self.send("POST", f"/api/projects/{project}/issues", {"title": title, **fields}, user)
        self.assertEqual(answer.status, 201, answer.text)
        return answer.json["key"]

    def edit(self, key, user=ADA, tag=None, **fields):
        headers = {"If_Match": tag} if tag else {}
        return self.send("PATCH", f"/api/issues/{key}", fields, user, **headers)

    def user_id(self, email):
        return next(u["id"] for u in self.get("/api/users").json if u["email"] == email)

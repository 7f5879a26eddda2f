"""A program under test that serves HTTP, and a client for it. Standard library only."""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import threading
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SERVICE_BUILD", ROOT / ".build-service/debug"))
OUTPUT = pathlib.Path(os.environ.get("SERVICE_OUTPUT", ROOT / ".build-service/screenshots"))


class Answer:
    """What a request was answered with."""

    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.headers
        self.body = body

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


class Program:
    """A process that prints its address when it listens."""

    def __init__(self, name, *arguments, environment=None):
        self.process = subprocess.Popen(
            [BUILD / name, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})})
        for line in self.process.stdout:
            if line.startswith("http://"):
                break
        else:
            raise AssertionError(f"{name} ended with {self.process.wait()}")
        self.url = line.strip()
        address = urllib.parse.urlsplit(self.url)
        self.host, self.port = address.hostname, address.port
        # The rest of the output is read, so that the pipe never fills.
        self.reader = threading.Thread(target=self.process.stdout.read, daemon=True)
        self.reader.start()

    def connect(self, timeout=30):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None):
        """Sends a request; a dictionary is sent as JSON, text as a form."""
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        elif body is not None:
            headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        connection = self.connect()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response, response.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.request("GET", path, headers=_names(headers))

    def events(self, path, last=None):
        return Events(self, path, last)

    def kill(self):
        """Ends the process without giving it a chance, and waits until it is gone."""
        self.process.kill()
        self._wait()

    def stop(self):
        """Asks the process to end, and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._wait()

    def _wait(self):
        try:
            code = self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reader.join()
        self.process.stdout.close()
        return code


def _names(headers):
    return {name.replace("_", "-"): value for name, value in headers.items()}


class Events:
    """A stream of server-sent events."""

    def __init__(self, program, path, last=None):
        self.connection = program.connect()
        headers = {"Accept": "text/event-stream"}
        if last is not None:
            headers["Last-Event-ID"] = str(last)
        self.connection.request("GET", path, headers=headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.status

    def __iter__(self):
        """Yields (id, name, data) of each event, until the stream ends."""
        fields = {}
        while True:
            try:
                line = self.response.readline()
            except (OSError, http.client.HTTPException):
                return
            if not line:
                return
            line = line.decode().rstrip("\n")
            if line:
                name, _, value = line.partition(":")
                fields[name] = value.lstrip()
            else:
                if "id" in fields:
                    data = fields.get("data")
                    yield (int(fields["id"]), fields.get("event", "message"),
                           json.loads(data) if data else None)
                fields = {}

    def take(self, count):
        """Returns the next events."""
        result = []
        for event in self:
            result.append(event)
            if len(result) == count:
                break
        return result

    def close(self):
        self.response.close()
        self.connection.close()

"""Load: browsers that watch while writers save, and a service that is killed meanwhile.

    python3 load.py --seconds 120 --kills 4

Prints figures, and ends with 1 if an acknowledged edit is missing, a stream has a gap, or the store
does not verify. Uses SERVICE_BUILD, for which an optimised build is the sensible one.
"""

import argparse
import http.client
import json
import multiprocessing
import pathlib
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from support import ADA, BUILD, Program

EVENT = re.compile(rb"(?:^|\n)id: (\d+)\n")


class Stream:
    """A browser's stream, which comes back with the last id when it ends."""

    def __init__(self, port, selector):
        self.port, self.selector = port, selector
        self.last, self.gaps, self.count, self.resumes = 0, 0, 0, -1
        self.socket = None
        self.retry = 0

    def connect(self):
        try:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=2)
        except OSError:
            self.retry = time.monotonic() + 0.2
            return
        self.resumes += 1
        self.buffer = b""
        self.socket.sendall(
            b"GET /api/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: %d\r\n\r\n" % self.last)
        self.socket.setblocking(False)
        self.selector.register(self.socket, selectors.EVENT_READ, self)

    def read(self):
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(self.socket)
            self.socket.close()
            self.socket = None
            self.retry = time.monotonic() + 0.2
            return
        self.buffer += data
        end = self.buffer.rfind(b"\n\n")
        if end < 0:
            return
        for match in EVENT.finditer(self.buffer, 0, end):
            number = int(match[1])
            self.gaps += number != self.last + 1
            self.last = number
            self.count += 1
        self.buffer = self.buffer[end:]


def watch(port, count, goal, results):
    """Follows all commits by some streams, until each has seen the goal."""
    selector = selectors.DefaultSelector()
    streams = [Stream(port, selector) for _ in range(count)]
    while True:
        now = time.monotonic()
        for stream in streams:
            if stream.socket is None and stream.retry <= now:
                stream.connect()
        for key, _ in selector.select(timeout=0.1):
            key.data.read()
        if goal.value and all(stream.last >= goal.value for stream in streams):
            break
        if goal.value < 0:
            break
    results.put([(s.last, s.gaps, s.count, s.resumes) for s in streams])


class Writer(threading.Thread):
    """Somebody who edits without a pause, and remembers what was acknowledged."""

    def __init__(self, port, number, stop):
        super().__init__()
        self.port, self.number, self.stop = port, number, stop
        self.acknowledged, self.latencies, self.failures = [], [], 0

    def run(self):
        connection = None
        turn = 0
        while not self.stop.is_set():
            turn += 1
            title = f"Writer {self.number} turn {turn}"
            began = time.monotonic()
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
                connection.request("POST", "/api/projects/NEW/issues", json.dumps({"title": title}),
                                   {"X-User": ADA, "Content-Type": "application/json"})
                response = connection.getresponse()
                body = response.read()
                if response.status != 201:
                    raise AssertionError(f"{response.status} {body}")
                self.acknowledged.append((json.loads(body)["key"], title))
                self.latencies.append(time.monotonic() - began)
            except (OSError, http.client.HTTPException):
                # Nobody knows whether it was saved: it is not counted.
                self.failures += 1
                connection.close()
                connection = None
                time.sleep(0.05)


def memory(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    # Without the pages of the store, which belong to the cache of the system.
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) // 1024


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=int, default=120)
    options.add_argument("--kills", type=int, default=4)
    options.add_argument("--streams", type=int, default=50)
    options.add_argument("--writers", type=int, default=16)
    options = options.parse_args()

    directory = tempfile.mkdtemp(prefix="load-")
    store = f"{directory}/tracker.stet"
    subprocess.run([BUILD / "tracker", "seed", "--store", store], check=True)
    arguments = ["tracker", "--store", store, "--backups", f"{directory}/backups", "--port"]
    program = Program(*arguments, 0)
    port = program.port

    goal = multiprocessing.Value("q", 0)
    results = multiprocessing.Queue()
    watcher = multiprocessing.Process(target=watch, args=(port, options.streams, goal, results))
    watcher.start()
    stop = threading.Event()
    writers = [Writer(port, number, stop) for number in range(options.writers)]
    for writer in writers:
        writer.start()
    began = time.monotonic()
    next_kill = options.seconds / (options.kills + 1)
    kills = 0
    samples = []
    while (now := time.monotonic() - began) < options.seconds:
        time.sleep(min(5, options.seconds - now))
        now = time.monotonic() - began
        readers = program.get("/health/ready").json["readerCount"]
        samples.append((round(now), memory(program.process), readers))
        print("%4d s: %d MiB of its own, %d readers, %d acknowledged" % (
            *samples[-1], sum(len(writer.acknowledged) for writer in writers)), flush=True)
        if kills < options.kills and now >= next_kill * (kills + 1):
            program.kill()
            kills += 1
            restarted = time.monotonic()
            program = Program(*arguments, port)
            print("      killed, back after %.2f s" % (time.monotonic() - restarted), flush=True)
    stop.set()
    for writer in writers:
        writer.join()

    acknowledged = [pair for writer in writers for pair in writer.acknowledged]
    latencies = sorted(latency for writer in writers for latency in writer.latencies)
    last = int(program.get("/api/projects/NEW/issues?limit=1&sort=-number").json["items"][0]["key"][4:])
    stored = {}
    cursor = ""
    while cursor is not None:
        page = program.get(f"/api/projects/NEW/issues?limit=100{cursor and '&after=' + cursor}").json
        stored.update((issue["key"], issue["title"]) for issue in page["items"])
        cursor = page.get("next")
    missing = [pair for pair in acknowledged if stored.get(pair[0]) != pair[1]]
    revision = int(program.get("/api/issues/ST-1").headers["ETag"].strip('"'))
    goal.value = revision
    watcher.join(timeout=60)
    if watcher.is_alive():
        goal.value = -1
    streams = results.get()
    watcher.join()
    gaps = sum(stream[1] for stream in streams)
    behind = [stream for stream in streams if stream[0] != revision]

    # The streams stay open during a shutdown.
    idle = [program.events("/api/events") for _ in range(options.streams)]
    began = time.monotonic()
    code = program.stop()
    shutdown = time.monotonic() - began
    for stream in idle:
        stream.close()
    verified = subprocess.run([BUILD / "stet", "verify", store], capture_output=True, text=True)
    print(f"{options.streams} streams, {options.writers} writers, {options.seconds} s, {kills} kills")
    print(f"acknowledged {len(acknowledged)} edits ({len(acknowledged) / options.seconds:.0f}/s), "
          f"median {latencies[len(latencies) // 2] * 1000:.1f} ms, "
          f"99 % within {latencies[len(latencies) * 99 // 100] * 1000:.1f} ms; "
          f"{last} issues stored; missing: {len(missing)}")
    print(f"events delivered: {sum(stream[2] for stream in streams)}; gaps or repeats: {gaps}; "
          f"streams behind: {len(behind)}; resumed {sum(stream[3] for stream in streams)} times")
    print(f"memory {samples[0][1]} to {samples[-1][1]} MiB, at most {max(s[1] for s in samples)}; "
          f"readers at most {max(s[2] for s in samples)}")
    print(f"shutdown with {options.streams} streams: {shutdown:.2f} s, exit code {code}")
    print(verified.stdout.strip() or verified.stderr.strip())
    shutil.rmtree(directory)
    bad = missing or gaps or behind or code or verified.returncode
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

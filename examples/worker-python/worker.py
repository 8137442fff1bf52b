"""A worker of a Heddle fleet in plain Python: written from docs/reference/fleet-protocol.md alone.

    python3 worker.py --server http://127.0.0.1:4500 [--token hdl_...] [--exit-when-idle]

Exit codes: 0 ended, 3 refused, 4 another version of the protocol.
"""

import argparse
import http.client
import json
import math
import os
import platform
import random
import signal
import socket
import sys
import threading
import time
import urllib.parse
import uuid

PROTOCOL = [1]


# What this worker can do. A job of a campaign gets the numbers of its units and returns counts.


def play(units):
    """Unit n is a loss, a draw or a win by n modulo 3."""
    counts = [0, 0, 0]
    for unit in range(units["start"], units["start"] + units["count"]):
        counts[unit % 3] += 1
    return counts


def square(number):
    return number * number


JOBS = {("play", "1"): play, ("square", "1"): square}


class Refused(Exception):
    """The server says that repeating a call cannot help."""

    def __init__(self, status, code, message):
        super().__init__(message)
        self.status = status
        self.code = code


class LeaseLost(Exception):
    pass


class Connection:
    """One connection to the server, opened again when it breaks. Used by one thread at a time."""

    def __init__(self, server, token):
        self.url = urllib.parse.urlsplit(server)
        self.token = token
        self.lock = threading.Lock()
        self.open = None

    def call(self, path, body, within=30.0, insist=None, end=None, stopping=None):
        """Repeats a call with full jitter while its failure may pass: for `insist` seconds, until the event `end` is set, and
        for five seconds more when the worker stops."""
        give_up = math.inf if insist is None else time.monotonic() + insist
        failures = 0
        while True:
            try:
                return self.once(path, body, within)
            except Refused:
                raise
            except Exception as error:  # it may pass
                if stopping is not None and stopping.is_set():
                    give_up = min(give_up, time.monotonic() + 5.0)
                if time.monotonic() >= give_up or (end is not None and end.is_set()):
                    raise
                least = min(getattr(error, "retry_after", 0.0), 600.0)
                pause = least + random.random() * min(0.2 * 2**failures, 30.0)
                (end or threading.Event()).wait(min(pause, give_up - time.monotonic()))
                failures = min(failures + 1, 20)

    def once(self, path, body, within):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        with self.lock:
            try:
                if self.open is None:
                    secure = self.url.scheme == "https"
                    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
                    self.open = kind(self.url.hostname, self.url.port)
                self.open.timeout = within
                if self.open.sock is not None:
                    self.open.sock.settimeout(within)
                base = self.url.path.rstrip("/")
                self.open.request("POST", base + path, json.dumps(body), headers)
                response = self.open.getresponse()
                status, text = response.status, response.read()
            except Exception:
                if self.open is not None:
                    self.open.close()
                self.open = None
                raise
        return read_answer(path, status, text)


class Passing(Exception):
    """A failure that may pass."""

    def __init__(self, message, retry_after):
        super().__init__(message)
        self.retry_after = retry_after


# What an answer has at least one of, where this worker goes by it.
ANSWERS = {
    "/fleet/register": ("protocol",),
    "/fleet/claim": ("offer", "empty"),
    "/fleet/accept": ("next_beat_ms",),
    "/fleet/beat": ("lost",),
    "/fleet/update": ("counted",),
    "/fleet/params": ("parameters",),
}


def read_answer(path, status, text):
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    body = body if isinstance(body, dict) else {}
    if 200 <= status < 300 and any(field in body for field in ANSWERS.get(path, ())):
        return body
    if 200 <= status < 300 and path not in ANSWERS:
        return body
    error = body.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("retryable"), bool):
        # A proxy, or another program: what it says may pass, unless it will never take the request.
        if status in (400, 411, 413, 414, 431):
            raise Refused(status, str(status), "status %d" % status)
        raise Passing("status %d, and not the answer of a Heddle server" % status, 0.0)
    message = error.get("message", "status %d" % status)
    if error["retryable"] or status in (408, 429) or (status >= 500 and status != 501):
        raise Passing(message, error.get("retry_after_ms", 0) / 1000)
    raise Refused(status, error.get("code", str(status)), message)


class Lease:
    def __init__(self, offer):
        self.id = offer["lease"]
        self.epoch = offer["epoch"]
        self.work = offer["work"]
        self.progress = 0
        self.lost = threading.Event()


class Worker:
    def __init__(self, server, token, exit_when_idle):
        self.claims = Connection(server, token)
        self.calls = Connection(server, token)
        self.exit_when_idle = exit_when_idle
        self.stopping = threading.Event()
        self.held = {}
        self.beat_soon = threading.Event()
        self.next_beat = time.monotonic() + 120
        self.description = {
            "id": str(uuid.uuid4()),
            "name": "%s-%d" % (socket.gethostname(), os.getpid()),
            "threads": 1,
            "memory": 0,
            "capabilities": ["python"],
            "tags": [],
            "system": "%s-%s" % (sys.platform, platform.machine()),
            "jobs": [{"name": name, "version": version} for name, version in JOBS],
        }

    @property
    def id(self):
        return self.description["id"]

    def stop(self, *_):
        """The server answers a claim that waits when the worker leaves: no offer is lost on the way."""
        self.stopping.set()
        if not self.held:
            threading.Thread(target=self.leave, daemon=True).start()

    def run(self):
        try:
            body = {"protocol": PROTOCOL, "worker": self.description}
            self.calls.call("/fleet/register", body, end=self.stopping)
            threading.Thread(target=self.beats, daemon=True).start()
            print("connected", flush=True)
            while not self.stopping.is_set():
                if self.claim() == "idle" and self.exit_when_idle:
                    break
        except Refused as error:
            print("refused: %s" % error, file=sys.stderr)
            return 4 if error.status == 426 else 3
        except Exception:
            if not self.stopping.is_set():
                raise
        self.leave()
        return 0

    def leave(self):
        try:
            self.calls.call("/fleet/leave", {"worker": self.id}, within=5.0, insist=3.0)
        except Exception as error:
            print("could not leave: %s" % error, file=sys.stderr)

    # Beats come from a thread of their own.

    def beats(self):
        while True:
            self.beat_soon.wait(max(0.05, self.next_beat - time.monotonic()))
            self.beat_soon.clear()
            if time.monotonic() < self.next_beat:
                continue
            leases = list(self.held.values())
            self.next_beat = time.monotonic() + 120
            if not leases:
                continue
            body = {
                "worker": self.id,
                "leases": [
                    {"lease": each.id, "epoch": each.epoch, "progress": each.progress}
                    for each in leases
                ],
            }
            try:
                answer = self.calls.call("/fleet/beat", body, within=20.0)
            except Refused as error:
                # The token was revoked, or its user blocked: nothing is held any longer.
                for lease in leases if error.status in (401, 403) else []:
                    lease.lost.set()
                continue
            self.plan_beat(answer)
            for lost in answer["lost"]:
                lease = self.held.get(lost["lease"])
                if lease is not None:
                    lease.lost.set()

    def plan_beat(self, answer):
        wanted = answer.get("next_beat_ms", 0)
        if wanted > 0:
            self.next_beat = min(self.next_beat, time.monotonic() + wanted / 1000)
            self.beat_soon.set()

    # Work.

    def claim(self):
        wait = 0 if self.exit_when_idle else 25_000
        body = {
            "worker": self.description,
            "request": str(uuid.uuid4()),
            "wait_ms": wait,
            "holds": list(self.held),
        }
        answer = self.claims.call(
            "/fleet/claim", body, within=wait / 1000 + 30, end=self.stopping
        )
        if "offer" in answer:
            self.take(answer["offer"])
            return "worked"
        empty = answer["empty"]
        print("idle: %s" % empty["message"], flush=True)
        self.stopping.wait(min(empty["retry_after_ms"] / 1000, 600.0) * random.uniform(0.5, 1.5))
        # A server that is busy hands out nothing just now: there may be work.
        return "busy" if empty["reason"] == "busy" else "idle"

    def take(self, offer):
        lease = Lease(offer)
        job = JOBS.get((lease.work["job"], lease.work["version"]))
        try:
            if job is None:
                known = [version for name, version in JOBS if name == lease.work["job"]]
                return self.hand_back(lease, "this worker has versions %s" % known)
            if lease.work.get("input_bytes", False):
                return self.hand_back(lease, "this worker reads inputs in JSON only")
            self.plan_beat(self.about(lease, "/fleet/accept"))
        except LeaseLost:
            return None
        self.held[lease.id] = lease
        print("started %s" % lease.id, flush=True)
        try:
            if "campaign" in lease.work:
                self.run_units(lease, job)
            else:
                self.update(lease, 1, 1, job(lease.work["input"]))
            print("finished %s" % lease.id, flush=True)
        except LeaseLost:
            print("lost %s" % lease.id, flush=True)
        except Refused as error:
            if error.status in (401, 403, 426):
                raise
            self.fail(lease, "run", str(error))
        except Exception as error:
            stage = "hand_back" if self.stopping.is_set() else "run"
            self.fail(lease, stage, repr(error))
        finally:
            del self.held[lease.id]

    def run_units(self, lease, job):
        work, done, sequence, total = lease.work, 0, 0, None
        while done < work["size"]:
            if lease.lost.is_set():
                raise LeaseLost()
            if self.stopping.is_set():
                return self.fail(lease, "hand_back", "the worker stops")
            count = min(work["batch"], work["size"] - done)
            parameters = None
            if work["parameters"]:
                parameters = self.about(lease, "/fleet/params")["parameters"]
            units = {"input": work["input"], "start": work["start"] + done, "count": count}
            result = job({**units, "parameters": parameters})
            if work["outcomes"]:
                total = result if total is None else [a + b for a, b in zip(total, result)]
            done += count
            sequence += 1
            answer = self.update(lease, sequence, done, total if work["outcomes"] else result)
            if answer.get("closed") is not None:
                return None
        return None

    def update(self, lease, sequence, done, result):
        lease.progress += 1
        report = {"sequence": sequence, "done": done, "result": result}
        answer = self.about(lease, "/fleet/update", report)
        self.plan_beat(answer)
        return answer

    def hand_back(self, lease, message):
        """Another worker may do it: this one waits a moment, so that it does not get the same offer at once."""
        self.fail(lease, "hand_back", message)
        print("handed back %s: %s" % (lease.id, message), flush=True)
        self.stopping.wait(1.0)

    def fail(self, lease, stage, message):
        try:
            self.about(lease, "/fleet/fail", {"stage": stage, "message": message})
        except LeaseLost:
            pass

    def about(self, lease, path, more=None):
        """Repeated until the server answers: after an outage the lease continues, or is said to be lost."""
        body = {"lease": lease.id, "epoch": lease.epoch, "worker": self.id, **(more or {})}
        try:
            return self.calls.call(path, body, end=lease.lost, stopping=self.stopping)
        except Refused as error:
            if error.status == 410:
                raise LeaseLost() from error
            raise
        except Exception as error:  # the lease was lost meanwhile, or the worker stops
            raise LeaseLost() from error


def main():
    parser = argparse.ArgumentParser(description="A worker of a Heddle fleet.")
    parser.add_argument("--server", required=True)
    parser.add_argument("--token", default=os.environ.get("HEDDLE_TOKEN"))
    parser.add_argument("--exit-when-idle", action="store_true")
    options = parser.parse_args()
    worker = Worker(options.server, options.token, options.exit_when_idle)
    signal.signal(signal.SIGTERM, worker.stop)
    signal.signal(signal.SIGINT, worker.stop)
    sys.exit(worker.run())


if __name__ == "__main__":
    main()

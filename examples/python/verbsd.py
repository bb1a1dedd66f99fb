# SPDX-License-Identifier: Apache-2.0
"""Shared by the examples: a client of verbsd's API that needs only the standard library."""

import argparse
import http.client
import json
import os
import re
import signal
import ssl
import sys
import time
import urllib.parse
import uuid

FAILED, USAGE, TIMED_OUT, MISSED = 1, 2, 3, 4
WAIT_S = 10  # for Prefer: wait; the daemon delays an answer by 60 s at most
REQUEST_S = 30


class Failure(Exception):
    """An error message, and the exit status."""

    def __init__(self, text, status=FAILED):
        super().__init__(text)
        self.status = status


class Problem(Failure):
    """An answer of 4xx or 5xx, with the daemon's problem (application/problem+json)."""

    def __init__(self, what, url, http_status, body):
        self.http_status = http_status
        self.code = body.get("code")
        parts = [body.get(member) for member in ("title", "detail", "hint")]
        said = ". ".join(part for part in parts if part) or f"status {http_status}"
        super().__init__(f"can't {what} at {url}: {said}")


class Deadline:
    """A point in time after which requests are not repeated; `seconds` of 0 for none."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds if seconds else None

    def left_s(self, at_most=float("inf")):
        if self.end is None:
            return at_most
        return max(0.0, min(at_most, self.end - time.monotonic()))

    def is_over(self):
        return self.left_s(1) == 0


def token_of(variable):
    """Returns the token of an environment variable, or of the file named by VARIABLE_FILE; None if there is none."""
    if os.environ.get(variable):
        return os.environ[variable]
    path = os.environ.get(variable + "_FILE")
    if not path:
        return None
    try:
        with open(path, encoding="ascii") as file:
            return file.readline().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"there is no token in {path}: {error}") from error


def tls_context():
    """Returns what HTTPS needs: the CA of VERBSD_CA, and the certificate of VERBSD_CERT and VERBSD_KEY."""
    try:
        context = ssl.create_default_context(cafile=os.environ.get("VERBSD_CA") or None)
        if os.environ.get("VERBSD_CERT"):
            context.load_cert_chain(os.environ["VERBSD_CERT"], os.environ.get("VERBSD_KEY") or None)
    except OSError as error:
        raise Failure(f"VERBSD_CA, VERBSD_CERT and VERBSD_KEY: {error}") from error
    return context


class Daemon:
    """One verbsd. A request without an answer is repeated until the deadline."""

    def __init__(self, url, deadline, token=None, say=lambda text: None):
        parts = urllib.parse.urlsplit(url)
        if not re.fullmatch(r"https?://[^/?#@]+/?", url) or not re.fullmatch(r".*?(:[0-9]{1,5})?", parts.netloc):
            raise Failure(f"the URL of a verbsd is wanted, as in http://127.0.0.1:7480, not {url!r}", USAGE)
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.parts = parts
        self.deadline = deadline
        self.token = token
        self.server_id = None  # the run that has answered; see ask
        self.say = say

    def connect(self, timeout_s):
        """Opens a connection for one request, so that a failed request leaves no half-read answer to the next one."""
        where = (self.parts.hostname, self.parts.port)
        if self.parts.scheme == "http":
            return http.client.HTTPConnection(*where, timeout=timeout_s)
        return http.client.HTTPSConnection(*where, timeout=timeout_s, context=tls_context())

    def headers(self, more=None):
        headers = dict(more or {})
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def _send(self, method, path, body, headers):
        connection = self.connect(REQUEST_S)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        try:
            answer = json.loads(text) if text else {}
        except ValueError:
            answer = {"detail": text[:200].decode("utf-8", "replace")}
        self.server_id = self.server_id or response.getheader("Verbsd-Server")
        return response.status, answer, int(response.getheader("Retry-After", 0))

    def ask(self, what, method, path, body=None, wait_s=WAIT_S):
        """Returns the JSON of a successful answer. `what` names the action in error messages.

        Repeats a request without an answer, or with a temporary error, until the deadline. A POST carries an
        Idempotency-Key, so that it is executed once however often it is sent. A DELETE is for the run of verbsd that
        gave the id: after a restart the object is gone, and the id may be another one's.
        """
        # A GET that waits says so in its query; any other answers at once.
        headers = self.headers({} if method == "GET" else {"Prefer": f"wait={wait_s}"})
        if method == "POST":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        if method == "DELETE" and self.server_id:
            headers["Verbsd-If-Server"] = self.server_id
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        told, pause_s = False, 0.1
        while True:
            try:
                status, answer, retry_after_s = self._send(method, path, body, headers)
                pause_s = max(pause_s, retry_after_s)
                if status < 300 or (method == "DELETE" and status in (404, 412)):
                    return answer
                failure = Problem(what, self.url, status, answer)
                if status not in (429, 503) and failure.code != "idempotency_conflict":
                    raise failure
            except (OSError, http.client.HTTPException) as error:
                failure = Failure(f"can't {what} at {self.url}: {error or type(error).__name__}")
            if self.deadline.is_over():
                raise failure
            if not told:
                self.say(f"{failure}; trying again")
            time.sleep(self.deadline.left_s(pause_s))
            told, pause_s = True, 1

    def take_away(self, path):
        """Deletes an object during cleanup: a failure is only reported."""
        self.deadline = Deadline(10)
        try:
            self.ask(f"take {path} away", "DELETE", path)
        except Failure as failure:
            self.say(str(failure))

    def get(self, path, what=None):
        return self.ask(what or f"read {path}", "GET", path)

    def newest_place(self):
        """Returns the place behind the newest event, for `after` of GET /v1/events."""
        return self.get("/v1/events?after=now")["next"]

    def wait(self, path, seen, until, busy):
        """Waits while the object at `path` is in one of the states `busy`, by a request that answers when it is in the
        state `until` (or has ended). `seen` is what is known of the object."""
        while seen["state"] in busy:
            if self.deadline.is_over():
                raise Failure(f"{path} at {self.url} is {seen['state']} and took too long", TIMED_OUT)
            seen = self.get(f"{path}?until={until}&wait_ms={int(self.deadline.left_s(WAIT_S) * 1000)}")
        return seen

    def list(self, path):
        """Returns all items of a list, fetched page by page."""
        url = f"{path}{'&' if '?' in path else '?'}limit=1000"
        page = self.get(url)
        yield from page["items"]
        while page["next"] is not None:
            page = self.get(f"{url}&after={page['next']}")
            yield from page["items"]


def ref(text):
    """Type for argparse: an id or a name."""
    if not re.fullmatch(r"[0-9]{1,19}|[A-Za-z_][A-Za-z0-9._-]{0,62}", text):
        raise argparse.ArgumentTypeError(f"an id or a name is wanted, not {text!r}")
    return text


def seconds(text):
    """Type for argparse: a number of 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e7:
        raise argparse.ArgumentTypeError(f"a number of seconds is wanted, not {text!r}")
    return value


def run(main):
    """Runs main() as a program: prints its error and exits with its status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        status = main()
    except Failure as failure:
        print(f"{os.path.basename(sys.argv[0])}: {failure}", file=sys.stderr)
        status = failure.status
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        # The reader of the output has gone. The interpreter must not flush into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = FAILED
    sys.exit(status or 0)


def sayer(quiet):
    """Returns a function that prints progress on stderr."""
    name = os.path.basename(sys.argv[0])
    return (lambda text: None) if quiet else (lambda text: print(f"{name}: {text}", file=sys.stderr))

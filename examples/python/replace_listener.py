#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# usage: replace_listener.py BLUE GREEN COMMAND [ARGUMENT...]
#
# Replaces the listener BLUE by GREEN, and no connect is refused meanwhile:
#
# 1. GREEN listens, before anybody knows of it. GREEN is JSON as in POST /v1/listeners, with another port or address than
#    BLUE has: '{"name": "green", "addr": "0.0.0.0", "port": 7472}'.
# 2. COMMAND hands the clients over. It gets the listener GREEN on stdin, as JSON with `reachable` and `port`, and returns
#    when no client connects to BLUE any more: each connect to BLUE that a client had begun has its answer.
# 3. BLUE goes on accepting until its last connection has ended. None is added any more, so BLUE stays idle then.
# 4. BLUE is deleted, but only if it is the same listener, of the same run of verbsd, as at the beginning.
#
# If a step fails, both listeners stay: clients may know either. BLUE is an id or a name. Environment: VERBSD_URL (default
# http://127.0.0.1:7480), VERBSD_TOKEN.

import os
import subprocess
import sys
import urllib.request

BLUE, GREEN, *COMMAND = sys.argv[1:] if len(sys.argv) > 3 else sys.exit("usage: replace_listener.py BLUE GREEN COMMAND [ARGUMENT...]")
URL = os.environ.get("VERBSD_URL", "http://127.0.0.1:7480") + "/v1/listeners"
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("VERBSD_TOKEN", "")}


def ask(method, url, body=None, **headers):
    """Returns headers and body of the answer. An error of 4xx or 5xx ends the script, with the daemon's words."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, {**HEADERS, **headers}, method=method)) as answer:
            return answer.headers, answer.read()
    except urllib.request.HTTPError as problem:
        sys.exit(f"{method} {url}: {problem.read().decode()}")


blue, _ = ask("GET", f"{URL}/{BLUE}")
_, green = ask("POST", URL, GREEN.encode())
subprocess.run(COMMAND, input=green, check=True)
while ask("GET", f"{URL}/{BLUE}?until=idle&wait_ms=60000")[0]["Verbsd-Until"] == "timed_out":
    print(f"{BLUE} still has connections", file=sys.stderr)
ask("DELETE", f"{URL}/{BLUE}", **{"If-Match": blue["ETag"]})

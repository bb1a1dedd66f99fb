#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits for something to happen, by following the stream of events, and prints each as a line of JSON.

A stream that breaks is taken up again behind the last event seen, so that none is missed. To miss nothing of what a
command makes happen, take the place before it:
  after=$(curl -s $VERBSD_URL/v1/events?after=now | jq -r .next); COMMAND; wait_for_event.py --after $after ...

Exit status: 0 seen; 1 failed; 2 wrong usage; 3 timed out; 4 the log no longer holds what comes behind PLACE, or the
daemon was restarted and keeps no events over that: what was waited for may have happened, so look at the objects themselves.
Environment: VERBSD_URL; VERBSD_TOKEN or VERBSD_TOKEN_FILE (role read will do).
"""

import argparse
import http.client
import json
import os
import re
import time
import urllib.parse

import verbsd
from verbsd import MISSED, TIMED_OUT, Daemon, Deadline, Failure, Problem

SILENCE_S = 40  # a comment comes every 15 s; a longer silence means that the server is gone
FIRST_CONTACT_S = 10


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", nargs="?", metavar="URL", default=os.environ.get("VERBSD_URL", "http://127.0.0.1:7480"),
                        help="of a verbsd (default VERBSD_URL, or http://127.0.0.1:7480)")
    parser.add_argument("--type", help="only of these types, as connection_ended,transfer_ended")
    parser.add_argument("--object", help="only of this kind of object (connection), or of one (connection/to-b)")
    parser.add_argument("--severity", help="only at least this severe", choices=["debug", "info", "notice", "warning", "error"])
    parser.add_argument("--code", help="only with this problem code, as retry_exceeded")
    parser.add_argument("--after", type=place, metavar="PLACE", default="now",
                        help="those behind PLACE: `next` of a page, or oldest (default: those from now on)")
    parser.add_argument("--count", type=number, default=1, metavar="N", help="ends after so many (default 1; 0: never)")
    parser.add_argument("--timeout", type=verbsd.seconds, default=0, metavar="SECONDS",
                        help="gives up then (default 0: never)")
    parser.add_argument("--quiet", action="store_true", help="says nothing but what goes wrong")
    return parser.parse_args()


def number(text):
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"a number is wanted, not {text!r}")
    return int(text)


def place(text):
    if not re.fullmatch(r"oldest|now|[0-9a-f]{16}-[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"a place in the event log is wanted, not {text!r}")
    return text


def blocks(socket, response, deadline):
    """Yields the fields of each block of a stream of server-sent events."""
    fields = {}
    while not deadline.is_over():
        socket.settimeout(deadline.left_s(SILENCE_S) or 0.001)
        line = response.readline().decode("utf-8", "replace")
        if not line:
            raise http.client.HTTPException("the stream ended")
        line = line.rstrip("\r\n")
        if line and not line.startswith(":"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif fields:
            yield fields
            fields = {}


def follow(daemon, query, after, deadline):
    """Yields the id and the data of each event behind `after`, until the stream ends."""
    connection = daemon.connect(deadline.left_s(SILENCE_S) or 0.001)
    try:
        connection.request("GET", f"/v1/events/stream?{query}", headers=daemon.headers({"Last-Event-ID": after}))
        socket = connection.sock
        response = connection.getresponse()
        if response.status != 200:
            body = json.loads(response.read() or b"{}")
            raise Problem("follow the events", daemon.url, response.status, body)
        for fields in blocks(socket, response, deadline):
            data = json.loads(fields.get("data", "{}"))
            if fields.get("event") == "compacted":
                raise Failure(f"{data['missed']} events are gone; the log begins with {data['first']}", MISSED)
            if fields.get("event") == "restarted" and not data.get("resumed"):
                raise Failure(f"the daemon was restarted: {after} is of another run", MISSED)
            if "seq" in data:
                yield fields["id"], data
    finally:
        connection.close()


def events(daemon, query, after, deadline, say):
    """Yields events behind `after`, opening a new stream when one ends."""
    while not deadline.is_over():
        try:
            for after, event in follow(daemon, query, after, deadline):
                yield event
        except (OSError, http.client.HTTPException) as error:
            if deadline.is_over():
                break
            say(f"the stream broke ({error or type(error).__name__}); coming back")
            time.sleep(deadline.left_s(0.2))
        except Problem as problem:
            if problem.http_status not in (429, 503):
                raise
            time.sleep(deadline.left_s(1))
    raise Failure("nothing of the kind happened in time", TIMED_OUT)


def main():
    args = parse()
    say = verbsd.sayer(args.quiet)
    deadline = Deadline(args.timeout)
    # Report a wrong URL now, even if there is no time limit.
    daemon = Daemon(args.url, Deadline(min(FIRST_CONTACT_S, args.timeout or FIRST_CONTACT_S)), verbsd.token_of("VERBSD_TOKEN"), say)
    newest = daemon.newest_place()
    after = newest if args.after == "now" else args.after
    query = urllib.parse.urlencode(
        {name: value for name in ("type", "object", "severity", "code") if (value := getattr(args, name))})
    say(f"waiting for events behind {after}")
    seen = 0
    for event in events(daemon, query, after, deadline, say):
        print(json.dumps(event, separators=(",", ":")), flush=True)
        seen += 1
        if seen == args.count:
            return


if __name__ == "__main__":
    verbsd.run(main)

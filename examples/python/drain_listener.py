#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a listener out of service without cutting off those who came by it.

It takes no more connections; those that came by it may end by themselves; what is left when the grace is over is
closed; then the listener is deleted. Ctrl-C before that lets it accept again as it did.

Prints {"listener", "ended", "closed"}: how many ended by themselves, and how many were closed.
Exit status: 0 drained; 1 failed; 2 wrong usage; 3 timed out.
Environment: VERBSD_URL; VERBSD_TOKEN or VERBSD_TOKEN_FILE (role control).
"""

import argparse
import contextlib
import json
import os

import verbsd
from verbsd import TIMED_OUT, Daemon, Deadline, Failure, Problem


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("listener", metavar="LISTENER", type=verbsd.ref, help="id or name")
    parser.add_argument("url", nargs="?", metavar="URL", default=os.environ.get("VERBSD_URL", "http://127.0.0.1:7480"),
                        help="of its verbsd (default VERBSD_URL, or http://127.0.0.1:7480)")
    parser.add_argument("--grace", type=verbsd.seconds, default=30, metavar="SECONDS",
                        help="how long connections may take to end by themselves (default 30)")
    parser.add_argument("--keep", action="store_true", help="does not delete the listener: it goes on rejecting")
    parser.add_argument("--timeout", type=verbsd.seconds, default=30, metavar="SECONDS",
                        help="for closing what is left (default 30; 0 is for ever)")
    parser.add_argument("--quiet", action="store_true", help="says nothing but what goes wrong")
    return parser.parse_args()


def open_connections(daemon, listener_id):
    """Returns the ids of the listener's connections that have not ended."""
    return [item["id"] for item in daemon.list(f"/v1/connections?listener={listener_id}&fields=id")]


def wait_for_ends(daemon, listener_id, deadline):
    """Waits until all connections have ended or time is up; returns the ids of those still open."""
    while True:
        place = daemon.newest_place()
        left = open_connections(daemon, listener_id)
        if not left or deadline.is_over():
            return left
        wait_ms = int(deadline.left_s(5) * 1000)
        daemon.get(f"/v1/events?after={place}&type=connection_ended&limit=1&wait_ms={wait_ms}")


def close(daemon, ids):
    """Closes all before it waits for any, so that they close in parallel."""
    for number in ids:
        try:
            daemon.ask(f"close connection {number}", "POST", f"/v1/connections/{number}/close", wait_s=0)
        except Problem as problem:
            if problem.http_status != 404:
                raise


def drain(daemon, listener_id, args):
    """Returns the number of connections that ended by themselves, and of those that were closed."""
    daemon.deadline = Deadline(args.timeout and args.grace + args.timeout)
    came = open_connections(daemon, listener_id)
    daemon.say(f"listener {listener_id} takes no more; {len(came)} connections are open")
    left = wait_for_ends(daemon, listener_id, Deadline(args.grace)) if args.grace else came
    if left:
        daemon.say(f"closing {len(left)} that are left")
        daemon.deadline = Deadline(args.timeout)
        close(daemon, left)
        stuck = wait_for_ends(daemon, listener_id, daemon.deadline)
        if stuck:
            raise Failure(f"{len(stuck)} connections do not close: {stuck}", TIMED_OUT)
    return len(came) - len(left), len(left)


def accept_again(daemon, path, accept):
    daemon.deadline = Deadline(10)
    daemon.ask("let the listener accept again", "PATCH", path, {"accept": accept})
    daemon.say(f"not drained: the listener accepts as before ({accept})")


def main():
    args = parse()
    daemon = Daemon(args.url, Deadline(args.timeout), verbsd.token_of("VERBSD_TOKEN"), verbsd.sayer(args.quiet))
    listener = daemon.get(f"/v1/listeners/{args.listener}", "find the listener")
    path = f"/v1/listeners/{listener['id']}"
    with contextlib.ExitStack() as undo:
        undo.callback(accept_again, daemon, path, listener["accept"])
        daemon.ask("stop accepting", "PATCH", path, {"accept": "reject"})
        ended, closed = drain(daemon, listener["id"], args)
        if not args.keep:
            daemon.ask("delete the listener", "DELETE", path)
        undo.pop_all()
    print(json.dumps({"listener": listener["id"], "ended": ended, "closed": closed}))


if __name__ == "__main__":
    verbsd.run(main)

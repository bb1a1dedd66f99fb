#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies a buffer of one host into the memory of another, by RDMA write.

Compares the SHA-256 of both, and prints {"bytes", "wire_ns", "sha256"}. A destination that is not there is made.
All else that it makes, it takes away again: a listener there, a connection here.

Exit status: 0 copied; 1 failed; 2 wrong usage; 3 timed out.
Environment: VERBSD_TOKEN or VERBSD_TOKEN_FILE for the source's daemon (role control), VERBSD_PEER_TOKEN or
VERBSD_PEER_TOKEN_FILE for the destination's.
"""

import argparse
import contextlib
import json
import re

import verbsd
from verbsd import FAILED, TIMED_OUT, Daemon, Deadline, Failure, Problem


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="SOURCE", help="a buffer, as http://a:7480#pail", type=place)
    parser.add_argument("destination", metavar="DESTINATION", help="another, as http://b:7480#well", type=place)
    parser.add_argument("--addr", help="where the destination's host is reached by RDMA (default: as its listener says)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on there (default: any that is free)")
    parser.add_argument("--timeout", type=verbsd.seconds, default=60, metavar="SECONDS",
                        help="for all of it (default 60; 0 is for ever)")
    parser.add_argument("--quiet", action="store_true", help="says nothing but what goes wrong")
    return parser.parse_args()


def place(text):
    url, _, name = text.partition("#")
    if not re.match(r"https?://", url):
        raise argparse.ArgumentTypeError(f"a buffer is named URL#NAME, as in http://a:7480#pail, not {text!r}")
    return url, verbsd.ref(name)


def ready_buffer(daemon, name):
    buffer = daemon.get(f"/v1/buffers/{name}", f"use buffer {name}")
    buffer = daemon.wait(f"/v1/buffers/{name}", buffer, "ready", ("registering",))
    if buffer["state"] != "ready":
        why = (buffer["error"] or {}).get("detail", "its device is gone")
        raise Failure(f"buffer {name} at {daemon.url} is {buffer['state']}: {why}")
    return buffer


def take_target(daemon, name, size_bytes, cleanup):
    """Yields the destination. A destination made here is deleted again if the copy fails."""
    try:
        target = ready_buffer(daemon, name)
    except Problem as problem:
        if problem.http_status != 404 or name[0].isdigit():
            raise
        made = daemon.ask("make a buffer", "POST", "/v1/buffers",
                          {"name": name, "size_bytes": size_bytes, "access": ["remote_write"]})
        cleanup.callback(daemon.take_away, f"/v1/buffers/{made['id']}")
        daemon.say(f"made buffer {name} of {size_bytes} bytes at {daemon.url}")
        target = ready_buffer(daemon, name)
    if target["size_bytes"] < size_bytes:
        raise Failure(f"buffer {name} has {target['size_bytes']} bytes, fewer than the {size_bytes} of the source")
    if "remote_write" not in target["access"]:
        raise Failure(f"buffer {name} is closed to peers: make one with access remote_write")
    if not target.get("rkey"):
        raise Failure("VERBSD_PEER_TOKEN is of role read: that of role control is needed")
    return target


@contextlib.contextmanager
def connected(near, far, addr, port, source, target):
    """Yields a connection from near to far, with queue pairs in the protection domains of the buffers."""
    with contextlib.ExitStack() as cleanup:
        listener = far.ask("listen", "POST", "/v1/listeners", {
            "addr": "::" if ":" in (addr or "") else "0.0.0.0", "port": port, "qp": {"pd": target["pd"]["id"]}})
        cleanup.callback(far.take_away, f"/v1/listeners/{listener['id']}")
        addr = addr or next((reached["addr"] for reached in listener["reachable"]), None)
        if not addr:
            raise Failure(f"no device reaches the listener at {far.url}")
        connection = near.ask(f"connect to {addr}", "POST", "/v1/connections", {
            "dst_addr": addr, "dst_port": listener["port"], "qp": {"pd": source["pd"]["id"]}})
        path = f"/v1/connections/{connection['id']}"
        cleanup.callback(near.take_away, path)
        connection = near.wait(path, connection, "established", ("resolving_addr", "resolving_route", "connecting", "retrying"))
        if connection["state"] != "established":
            error = connection["error"] or {"detail": connection["end_code"], "hint": ""}
            raise Failure(f"connection to {addr} {connection['state']}: {error['detail']}. {error['hint']}")
        near.say(f"connected to {addr}")
        yield connection


def write(daemon, connection, source, target):
    left_s = daemon.deadline.left_s(3600)
    transfer = daemon.ask("write", "POST", "/v1/transfers", {
        "connection": connection["id"], "op": "write", "buffer": source["id"],
        "remote": target, "timeout_ms": max(1000, int(left_s * 1000))})
    transfer = daemon.wait(f"/v1/transfers/{transfer['id']}", transfer, "ended", ("queued", "running", "cancelling"))
    if transfer["state"] != "done":
        error = transfer["error"] or {"detail": "", "hint": ""}
        raise Failure(f"transfer {transfer['id']} {transfer['state']}: {error['detail']}. {error['hint']}",
                      TIMED_OUT if transfer["state"] == "timed_out" else FAILED)
    return transfer


def checksum(daemon, buffer, size_bytes):
    return daemon.get(f"/v1/buffers/{buffer['id']}/checksum?algorithm=sha256&length_bytes={size_bytes}")["checksum"]


def main():
    args = parse()
    say = verbsd.sayer(args.quiet)
    deadline = Deadline(args.timeout)
    near = Daemon(args.source[0], deadline, verbsd.token_of("VERBSD_TOKEN"), say)
    far = Daemon(args.destination[0], deadline, verbsd.token_of("VERBSD_PEER_TOKEN"), say)
    source = ready_buffer(near, args.source[1])
    size_bytes = source["size_bytes"]
    with contextlib.ExitStack() as undo:
        target = take_target(far, args.destination[1], size_bytes, undo)
        with connected(near, far, args.addr, args.port, source, target) as connection:
            transfer = write(near, connection, source, target)
            sums = checksum(near, source, size_bytes), checksum(far, target, size_bytes)
        if sums[0] != sums[1]:
            raise Failure(f"the copy differs: SHA-256 {sums[1]}, not {sums[0]}. Did somebody write to either meanwhile?")
        undo.pop_all()
    print(json.dumps({"bytes": size_bytes, "wire_ns": transfer["wire_ns"], "sha256": sums[0]}))


if __name__ == "__main__":
    verbsd.run(main)

# SPDX-License-Identifier: Apache-2.0
"""Plays the FD store of systemd (sd_pid_notify_with_fds(3), sd_listen_fds(3)).

fd_store.py hold NOTIFY HANDOVER MAX
    Binds both unix sockets, prints "listening", and holds up to MAX descriptors of what NOTIFY gets.
    Prints each message as a line. Lines of standard input:
        deaf, hear              read no messages, and read them again
        foreign NAME KIND       hold a descriptor of its own: pipe, or memory without seals
        names                   print what it holds: "holds NAME..."
fd_store.py start HANDOVER COMMAND...
    Runs the command with the descriptors that the other one holds.
fd_store.py map PATH
    Maps a file, and prints its first 16 bytes as hex for each line of standard input.
"""

import array
import mmap
import os
import select
import socket
import sys

FIRST_FD = 3
FDS_MAX = 250  # the kernel passes 253 in a message


def say(text):
    print(text, flush=True)


def same_file(a, b):
    a, b = os.fstat(a), os.fstat(b)
    return (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)


class Store:
    def __init__(self, most):
        self.most = most
        self.held = []  # (name, descriptor)

    def add(self, name, fds):
        for fd in fds:
            if len(self.held) < self.most and not any(same_file(fd, other) for _, other in self.held):
                self.held.append((name, fd))
            else:
                os.close(fd)

    def remove(self, name):
        for _, fd in [item for item in self.held if item[0] == name]:
            os.close(fd)
        self.held = [item for item in self.held if item[0] != name]

    def on_message(self, text, fds):
        words = dict(line.split("=", 1) for line in text.split("\n") if line)
        say(text.replace("\n", " "))
        if "FDSTORE" in words:
            self.add(words.get("FDNAME", "stored"), fds)
        if "FDSTOREREMOVE" in words:
            self.remove(words["FDNAME"])

    def foreign(self, name, kind):
        if kind == "pipe":
            fd, other = os.pipe()
            os.close(other)
        else:
            fd = os.memfd_create("foreign")
            os.ftruncate(fd, 4096)
        self.held.append((name, fd))


def bind(path, kind):
    bound = socket.socket(socket.AF_UNIX, kind)
    bound.bind(path)
    return bound


def hold(notify_path, handover_path, most):
    store = Store(int(most))
    notify = bind(notify_path, socket.SOCK_DGRAM)
    handover = bind(handover_path, socket.SOCK_STREAM)
    handover.listen()
    sources = [sys.stdin.fileno(), notify, handover]
    say("listening")
    while True:
        ready = select.select(sources, [], [])[0]
        # Messages of the process before come before the next one.
        if notify in ready:
            text, fds, _, _ = socket.recv_fds(notify, 4096, FDS_MAX)
            store.on_message(text.decode(), fds)
        elif sys.stdin.fileno() in ready:
            words = os.read(sys.stdin.fileno(), 4096).decode().split()
            if not words:
                return
            if words[0] == "deaf":
                sources.remove(notify)
            elif words[0] == "hear":
                sources.append(notify)
            elif words[0] == "foreign":
                store.foreign(words[1], words[2])
            say(" ".join(["holds", *(name for name, _ in store.held)]))
        else:
            with handover.accept()[0] as client:
                names = ":".join(name for name, _ in store.held)
                rights = array.array("i", [fd for _, fd in store.held])
                control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if store.held else []
                client.sendmsg([b"=" + names.encode()], control)


def start(handover_path, *command):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(handover_path)
        names, fds, _, _ = socket.recv_fds(client, 65536, FDS_MAX)
    # First out of the way of the numbers that they are to have.
    high = [os.dup2(fd, 1000 + i) for i, fd in enumerate(fds)]
    for i, fd in enumerate(high):
        os.dup2(fd, FIRST_FD + i, inheritable=True)
        os.close(fd)
    if fds:
        os.environ.update(LISTEN_FDS=str(len(fds)), LISTEN_FDNAMES=names.decode()[1:], LISTEN_PID=str(os.getpid()))
    os.execv(command[0], command)


def show(path):
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    say("mapped")
    for _ in sys.stdin:
        say(memory[:16].hex())


{"hold": hold, "start": start, "map": show}[sys.argv[1]](*sys.argv[2:])

# SPDX-License-Identifier: MIT
"""Visitors who come to an open version at the same moment while the device does not answer: how many of them wait.

visitors.py VERSIONS FILE LABEL…: asks the caller on standard output to make the kernel forget what labels are
("expired"), to hold the device back ("held") and to let it go ("free"), and reads the word when that is done; then
prints "LABEL WAITING", how many of VISITORS have not come.
"""
import json
import os
import sys
import threading
import time

VISITORS = 12


def ask(word):
    print(word, flush=True)
    if sys.stdin.readline().strip() != word:
        sys.exit(f"expected the line '{word}'")


def visit(path, gate, came):
    gate.wait()
    os.stat(path)
    came.release()


def absent(path):
    """A look-up that waits for the device."""
    try:
        os.stat(path)
    except FileNotFoundError:
        pass


def in_flight(versions):
    """Requests in work; one is that for the counter."""
    with open(f"{versions}/../stats.json", encoding="ascii") as file:
        return json.load(file)["in_flight"] - 1


def waiting_for(versions, file, label):
    came, gate = threading.Semaphore(0), threading.Barrier(VISITORS)
    ask("held")
    threads = [threading.Thread(target=absent, args=(f"{versions}/absent-{label}",))]
    threads[0].start()
    while not in_flight(versions):
        time.sleep(0.01)
    for _ in range(VISITORS):
        threads.append(threading.Thread(target=visit, args=(f"{versions}/{label}/{file}", gate, came)))
        threads[-1].start()
    count = sum(came.acquire(timeout=200) for _ in range(VISITORS - 1))
    count += came.acquire(timeout=0.1)
    ask("free")
    for thread in threads:
        thread.join()
    return VISITORS - count


def main():
    versions, file, labels = sys.argv[1], sys.argv[2], sys.argv[3:]
    for label in labels:
        os.open(f"{versions}/{label}", os.O_RDONLY)  # held until the end
    ask("expired")
    for label in labels:
        print(label, waiting_for(versions, file, label), flush=True)


main()

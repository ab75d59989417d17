"""Sends the requests of cases.py to Ratoon and to snapshot-kernel, and compares their answers. Only
differences that allowed.py lists are allowed.

usage: compare.py [CASE]...     started by tests/ancestor/run

Without names, all cases run if $RATOON_TEST_ALL is set, else all but the slowest.
"""

import http.client
import itertools
import json
import os
import sys
import threading
import time
from urllib.parse import urlencode

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import allowed
import cases
import ratoon_client as ratoon
import shapes

# Time limit of a request.
SECONDS = 60


class Ancestor(ratoon.Program):
    """A server of snapshot-kernel."""

    query = f"?token={ratoon.TOKEN}"

    def __init__(self):
        command = [
            sys.executable,
            "-m",
            "snapshot_kernel.main",
            "--bind",
            "{bind}",
            f"--token={ratoon.TOKEN}",
        ]
        super().__init__(command, PYTHONPATH=os.environ["RATOON_TEST_ANCESTOR"])


class Sent:
    """Sends the requests of a case to one of the two servers, and stores its answers."""

    def __init__(self, server, case):
        self.server = server
        # `answers`: for each step, the fields of its answer. `digests`: for each (step,
        # description), a digest.
        self.answers, self.digests = {}, {}
        self.post("/reset")
        for step in case.steps:
            self.remove_marker()
            status, text = self.interrupted(step) if step.interrupt else self.ask(step)
            self.answers[step.name] = shapes.fields(step.path, status, text)
            for of, digest in shapes.digests(step.path, status, text).items():
                self.digests[step.name, of] = digest

    def ask(self, step):
        body, headers = step.body, {}
        if not isinstance(body, bytes | None):
            body = json.dumps(body).encode()
        if body is not None:
            headers["Content-Type"] = "application/json"
        for name, value in step.headers.items():
            headers.pop(name, None)
            if value is not None:
                headers[name] = value
        query = f"?{urlencode({'token': step.token})}" if step.token is not None else ""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=SECONDS)
        try:
            connection.request(step.method, step.path + query, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (ConnectionError, http.client.HTTPException):
            return "no answer", ""
        finally:
            connection.close()

    def post(self, path, body=None):
        return self.ask(cases.Step("", "POST", path, body))

    def interrupted(self, step):
        """Sends a request whose code creates the marker file and then waits. Interrupts it as soon
        as the file exists.
        """
        answers = []
        sending = threading.Thread(target=lambda: answers.append(self.ask(step)))
        sending.start()
        while not os.path.exists(self.marker()) and sending.is_alive():
            time.sleep(0.01)
        self.post("/interrupt", {"exec_id": step.body["exec_id"]})
        sending.join()
        return answers[0]

    def marker(self):
        return os.path.join(self.server.directory, cases.MARKER)

    def remove_marker(self):
        if os.path.exists(self.marker()):
            os.remove(self.marker())


def differences(case, theirs, ours):
    """Yields all differences as (step, field, theirs, ours)."""
    for step in case.steps:
        one, other = theirs.answers[step.name], ours.answers[step.name]
        # If the statuses differ, the bodies are not comparable.
        names = (
            ["status"] if one["status"] != other["status"] else list(dict.fromkeys([*one, *other]))
        )
        for name in names:
            pair = one.get(name, shapes.MISSING), other.get(name, shapes.MISSING)
            if pair[0] != pair[1]:
                yield (step.name, name, *pair)
    both = [key for key in theirs.digests if key in ours.digests]
    for (step, of), (other_step, other) in itertools.combinations(both, 2):
        is_same = [
            sent.digests[step, of] == sent.digests[other_step, other] for sent in (theirs, ours)
        ]
        if of.split()[0] == other.split()[0] and is_same[0] != is_same[1]:
            yield (other_step, f"{other} is {of} at {step}", *is_same)


def due(chosen):
    """The allowed differences that must occur in these cases."""
    names = {case.name for case in chosen}
    steps = {step.name for case in chosen for step in case.steps}
    is_whole = len(chosen) == len(cases.CASES)
    return [
        entry
        for entry in allowed.ALLOWED
        if is_whole or (steps.issuperset(entry.steps) if entry.steps else entry.case in names)
    ]


def judge(found, due):
    """Prints the differences that are not allowed, and those that are due and did not occur. Returns
    whether the comparison has failed."""
    met, is_wrong = set(), False
    for case, step, field, theirs, ours in found:
        reasons = [
            entry for entry in allowed.ALLOWED if entry.covers(case, step, field, theirs, ours)
        ]
        met.update((entry, at) for entry in reasons for at in entry.places(case, step))
        if not reasons:
            is_wrong = True
            print(f"DIFFERS {case} / {step!r}: {field}\n    there {theirs!r}\n    here  {ours!r}")
    for entry in due:
        for place in entry.all_places():
            if (entry, place) not in met:
                is_wrong = is_wrong or sys.version_info[:2] == allowed.PYTHON
                print(f"NO DIFFERENCE {place}: {entry.reason}")
    return is_wrong


def is_chosen(case, wanted):
    if wanted:
        return case.name in wanted
    return case.name not in cases.SLOW or "RATOON_TEST_ALL" in os.environ


def main(wanted):
    chosen = [case for case in cases.CASES if is_chosen(case, wanted)]
    unknown = set(wanted) - {case.name for case in chosen}
    if unknown:
        sys.exit(
            f"there is no case {unknown}; there are {', '.join(case.name for case in cases.CASES)}"
        )
    # Both servers start only once. The case that ends snapshot-kernel is the last.
    with Ancestor() as there, ratoon.Server(os.environ["RATOON_BIN"], sys.executable) as here:
        found = []
        for case in chosen:
            theirs, ours = Sent(there, case), Sent(here, case)
            found += [(case.name, *one) for one in differences(case, theirs, ours)]
        is_wrong = judge(found, due(chosen))
    count = sum(len(case.steps) for case in chosen)
    print(
        f"{count} requests in {len(chosen)} cases, {len(found)} differences, "
        f"{'not all allowed' if is_wrong else 'all allowed'}"
    )
    sys.exit(is_wrong)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Notebooks are pushed to a real S3 server and pulled on other machines."""

import unittest

from machines import S3, Machine, Room, wait_for


class Store(unittest.TestCase):
    def setUp(self):
        self.room = self.enterContext(Room())
        self.s3 = self.enterContext(S3(self.room))
        self.home, self.work = Machine(self.room, "home"), Machine(self.room, "work")

    def command(self, machine, *words, **environment):
        """Runs a command with the store, which must succeed. Returns what it has printed."""
        environment = {"RATOON_STORE": self.s3.url, **self.s3.credentials(), **environment}
        code, said = machine.ratoon(*words, **environment)
        self.assertEqual(code, 0, said)
        return said

    def refused(self, machine, *words, **environment):
        """Runs a command with the store, which must fail. Returns what it has printed."""
        environment = {"RATOON_STORE": self.s3.url, **self.s3.credentials(), **environment}
        code, said = machine.ratoon(*words, **environment)
        self.assertNotEqual(code, 0, said)
        for secret in (self.s3.secret, "X-Amz-Signature", "wrong-secret"):
            self.assertNotIn(secret, said)
        return said

    def notebook(self, machine, code="import os\nvalues = list(range(100_000))"):
        """Makes a notebook with one state that has a checkpoint."""
        with machine.server() as server:
            rest = server.rest()
            state = rest.run(code)["state_name"]
            rest.ask("POST", f"/api/states/{state}/checkpoint", {})
        return state

    def test_a_notebook_moves_to_another_machine_with_its_states(self):
        state = self.notebook(self.home)
        said = self.command(self.home, "push", "main")
        self.assertIn("new blobs", said)
        self.assertIn("everything already", self.command(self.home, "push", "main"))
        said = self.command(self.work, "pull", "main")
        self.assertIn("another install pushed it", said)
        self.assertIn("1.1", self.command(self.work, "pull", "main", "--versions"))
        self.command(self.work, "trust", "--yes", "main")
        with self.work.server() as server:
            answer = server.rest().run("print(len(values))", state)
            self.assertEqual(answer["output"][0]["text"], "100000\n")
        # Work's copy goes back.
        self.command(self.work, "push", "main")
        self.assertIn("is in the trash", self.command(self.home, "pull", "main"))

    def test_wrong_credentials_and_buckets_are_told_without_secrets(self):
        self.notebook(self.home, "x = 1")
        said = self.refused(self.home, "push", "main", AWS_SECRET_ACCESS_KEY="wrong-secret")
        self.assertIn("403", said)
        self.assertIn("access key", said)
        said = self.refused(self.home, "push", "main", AWS_ACCESS_KEY_ID="unknown")
        self.assertIn("access key", said)
        other = self.s3.url.replace("bucket", "no-such-bucket")
        self.assertIn("no bucket", self.refused(self.home, "push", "main", "--store", other))
        said = self.refused(self.home, "push", "main", AWS_ACCESS_KEY_ID="")
        self.assertIn("no access key", said)

    def test_a_stopped_store_is_told_and_the_next_push_goes_on(self):
        self.notebook(self.home, "x = 1")
        self.s3.stop()
        said = self.refused(self.home, "push", "main")
        self.assertIn("127.0.0.1", said)
        self.s3.start()
        self.command(self.home, "push", "main")

    def test_an_altered_blob_is_refused(self):
        self.notebook(self.home)
        self.command(self.home, "push", "main")
        blob = max((self.s3.objects / "blobs").rglob("*"), key=lambda path: path.stat().st_size)
        whole = blob.read_bytes()
        blob.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        said = self.refused(self.work, "pull", "main")
        self.assertIn(blob.name, said)
        self.assertFalse((self.work.directory / "main.ratoon").exists())
        blob.write_bytes(whole)
        self.command(self.work, "pull", "main")
        self.assertIn("0 blobs removed", self.command(self.work, "gc", "--store", self.s3.url))

    def phase(self, server, wanted):
        """Waits until the copy of the notebook is in a phase. Returns its status."""

        def status():
            offsite = server.rest().get("/api/notebooks/main")["offsite"]
            return offsite if offsite["phase"] == wanted else None

        return wait_for(f"the copy is {wanted}", status)

    def test_a_server_goes_on_while_the_store_is_away_and_pushes_when_it_is_back(self):
        options = ["--store", self.s3.url]
        with self.home.server(*options, **self.s3.credentials()) as server:
            rest = server.rest()
            self.phase(server, "pushed")
            self.s3.stop()
            state = rest.run("x = 20")["state_name"]
            waiting = self.phase(server, "waiting")
            self.assertIn("connection", waiting["why"].lower())
            self.assertEqual(rest.run("print(x)", state)["output"][0]["text"], "20\n")
            self.s3.start()
            self.phase(server, "pushed")
        self.command(self.work, "pull", "main")
        with self.work.server() as server:
            self.assertIn(state, str(server.rest().get("/states")))

    def test_a_second_server_does_not_write_until_it_takes_over(self):
        credentials = self.s3.credentials()
        with self.home.server("--store", self.s3.url, **credentials) as first:
            self.phase(first, "pushed")
            self.command(self.work, "pull", "main")
            with self.work.server("--store", self.s3.url, **credentials) as second:
                self.assertIn(" on ", self.phase(second, "held")["why"])
                body = {"code": "y = 1", "exec_id": "e", "state_name": "initial"}
                status, said = second.rest().answer("POST", "/execute", body)
                self.assertEqual(status, 409, said)
                self.refused(self.work, "push", "main")
                take_over = {"do": "take_over"}
                second.rest().ask("POST", "/api/notebooks/main/commands", take_over)
                second.rest().run("y = 2")
                self.phase(second, "pushed")
                first.rest().run("y = 3")
                self.assertIn("taken it over", self.phase(first, "held")["why"])
        self.assertGreaterEqual(
            len(self.command(self.home, "pull", "main", "--versions").splitlines()), 2
        )


if __name__ == "__main__":
    unittest.main()

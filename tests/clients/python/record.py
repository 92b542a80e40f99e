"""What a suite finds: one result for each operation of a client (tests/clients/results.mjs)."""
import contextlib
import importlib.metadata
import json
import os
import sys
import traceback

SHORT = os.environ.get("OCTAVO_DOSE") == "short"


class Record:
    """The results of one client in one mode.

    An operation may be checked at several places; it works if all of them pass. What fails is printed, and the suite
    ends with 1."""

    def __init__(self, client, api, mode, version=None):
        self.client, self.api, self.mode = client, api, mode
        self.version = version or importlib.metadata.version(client)
        self.found = {}
        self.failed = set()

    @contextlib.contextmanager
    def _check(self, area, operation, result, note=None):
        try:
            yield
        except Exception:
            self.failed.add((area, operation))
            print(f"FAILED: {self.client} {self.mode}: {area}, {operation}", file=sys.stderr)
            traceback.print_exc()
        else:
            self.found.setdefault((area, operation), (result, note))

    def works(self, area, operation):
        """The block checks what the client's documentation promises."""
        return self._check(area, operation, "works")

    def differs(self, area, operation, note):
        """The block checks that the difference is still there."""
        return self._check(area, operation, "differs", note)

    def not_offered(self, area, operation, note):
        """The block checks the error."""
        return self._check(area, operation, "not_offered", note)

    def write(self):
        """Appends the results to the file of the run. False if something failed."""
        with open(os.environ["OCTAVO_RESULTS"], "a", encoding="utf-8") as file:
            for (area, operation), (result, note) in self.found.items():
                if (area, operation) in self.failed:
                    continue
                line = {"client": self.client, "language": "Python", "version": self.version, "api": self.api,
                        "mode": self.mode, "area": area, "operation": operation, "result": result}
                if note:
                    line["note"] = note
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return not self.failed


@contextlib.contextmanager
def raises(kind, **expected):
    """The block must raise `kind` with these attributes."""
    try:
        yield
    except kind as error:
        for name, value in expected.items():
            actual = getattr(error, name)
            assert actual == value, f"{name} is {actual!r}, not {value!r}: {error}"
    else:
        raise AssertionError(f"{kind.__name__} was not raised")


def finish(*records):
    """Ends the suite."""
    sys.exit(0 if all([record.write() for record in records]) else 1)

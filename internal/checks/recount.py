# Loaded by every Python of a second run, and by pytest as a plugin: writes down each test that
# passed, and that a run of tests began. recount.sh puts it there.
import os
import sys


def said(n):
    try:
        with open(os.path.join(os.environ["RALPH_RECOUNT"], "counted"), "a") as f:
            f.write("Ran %d tests in 0s\n" % n)
    except (OSError, KeyError):
        pass


def pytest_runtestloop(session):
    if not session.config.option.collectonly:
        said(0)


def pytest_runtest_logreport(report):
    if report.when == "call" and report.outcome == "passed" and "PYTEST_XDIST_WORKER" not in os.environ:
        said(1)


def start():
    here = os.path.dirname(os.path.abspath(__file__))
    mine = sys.modules.pop("sitecustomize", None)
    sys.path[:] = [p for p in sys.path if p != here]
    try:
        import sitecustomize  # the one that there would be
    except ImportError:
        sys.modules["sitecustomize"] = mine
    sys.path.append(here)

    import unittest

    add, run = unittest.TestResult.addSuccess, unittest.TextTestRunner.run

    def counted(self, test):
        said(1)
        return add(self, test)

    def begun(self, test):
        said(0)
        return run(self, test)

    unittest.TestResult.addSuccess = counted
    unittest.TextTestRunner.run = begun

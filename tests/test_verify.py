"""naslm search --verify: predicted and measured numbers side by side, also across interruptions."""
import json
import math
import os
import signal
import subprocess
import time

import tap
from tap import case, naslm, refused

OBJECTIVES = "max:accuracy,min:latency:toy"
ARGS = ["search", "-s", "toy", "--objectives", OBJECTIVES, "--seed", 3, "--population", 20]

# Measures: a little less accurate than the formula says; sleeps when asked to; notes each call.
METER = r'''
import json, math, sys, time
for line in iter(sys.stdin.readline, ""):
    ask = json.loads(line)
    with open("log", "a") as log:
        log.write(ask["arch"] + "\n")
    time.sleep(float(sys.argv[1]))
    genes = [int(c) for c in ask["arch"]]
    t, h = sum(genes[::2]), sum(genes[1::2])
    truth = {"accuracy": 58 + 30 * math.sqrt(t / 15) - 2 * h - (genes[0] == 3),
             "latency:toy": 2 + t + h}
    print(json.dumps({"error": "broken"} if genes[:2] == [2, 0] else
                     {name: truth[name] for name in ask["metrics"]}), flush=True)
'''


def meter(delay=0):
    with open("meter.py", "w") as file:
        file.write(METER)
    return f"command:{tap.sys.executable} meter.py {delay}"


def rows(run):
    return json.loads(naslm("front", run, "--all", "--format", "json")[0])


def rows_all(run):
    """Of a run without a front, for which the exit code is 3."""
    return json.loads(naslm("front", run, "--all", "--format", "json", code=3)[0])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def formula(arch):
    genes = [int(c) for c in arch]
    t, h = sum(genes[::2]), sum(genes[1::2])
    return 60 + 30 * math.sqrt(t / 15) - 2 * h, 1 + t + h


def dominates(a, b):
    return a[0] >= b[0] and a[1] <= b[1] and a != b


def front_of(points):
    return {i for i, p in points.items() if not any(dominates(q, p) for q in points.values())}


@case
def the_front_is_measured_and_the_predictions_stay():
    out, err = naslm(*ARGS, "--from", "formula", "--verify", meter(), "--budget", 200, "-o", "v.h5")
    got = rows("v.h5")
    predicted = {r["id"]: (r["accuracy_predicted"], r["latency:toy_predicted"]) for r in got}
    for r in got:
        assert abs(predicted[r["id"]][0] - formula(r["arch"])[0]) < 1e-9
        assert predicted[r["id"]][1] == formula(r["arch"])[1]
    best = front_of(predicted)
    measured = {r["id"]: (r["accuracy"], r["latency:toy"]) for r in got if r["accuracy"] is not None}
    assert set(measured) == {r["id"] for r in got
                             if r["id"] in best and not r["arch"].startswith("20")}
    assert f"{len(measured)} verified" in err and "accuracy off by" in err, err
    for r in got:
        if r["id"] in measured:
            want = formula(r["arch"])[0] - 2 - (r["arch"][0] == "3"), formula(r["arch"])[1] + 1
            assert abs(measured[r["id"]][0] - want[0]) < 1e-9 and measured[r["id"]][1] == want[1]
    on_front = {r["id"] for r in got if r["on_front"] == "yes"}
    assert on_front == front_of(measured) and on_front
    import pandas as pd
    frame = pd.read_hdf("v.h5", "evaluations")
    assert {"accuracy", "accuracy_predicted", "latency_toy", "latency_toy_predicted"} <= set(frame)


@case
def k_rows_are_the_best_by_rank():
    naslm(*ARGS, "--from", "formula", "--verify", "formula,K=40", "--budget", 200, "-o", "k.h5")
    got = rows("k.h5")
    measured = {r["id"] for r in got if r["accuracy"] is not None}
    assert len(measured) == 40
    left = {r["id"]: (r["accuracy_predicted"], r["latency:toy_predicted"]) for r in got}
    taken = 0
    while taken < 40:
        layer = front_of(left)
        taken += len(layer)
        assert layer <= measured if taken <= 40 else measured <= layer | (measured - set(left))
        for i in layer:
            del left[i]


@case
def measured_constraints_decide_the_front():
    args = [*ARGS, "--from", "formula", "--budget", 200, "--constraint", "latency:toy<=6"]
    naslm(*args, "--verify", meter(), "-o", "c.h5")
    got = rows("c.h5")
    for r in got:
        if r["latency:toy"] is not None:
            assert r["latency:toy_predicted"] <= 6
            assert (r["feasible"] == "yes") == (r["latency:toy"] <= 6)
        if r["on_front"] == "yes":
            assert r["latency:toy"] <= 6
    assert any(r["latency:toy"] == 7 for r in got)
    out, err = naslm(*args, "--verify", meter() + "; exit 3", "--retries", 0, "--constraint",
                     "accuracy>=89.9", "-o", "n.h5", code=3)
    assert "naslm: error: no feasible architecture" in err or "none is feasible" in err, err


@case
def an_interrupted_verification_goes_on_where_it_was():
    args = [*ARGS, "--from", "formula", "--budget", 2000, "--workers", 2]
    naslm(*args, "--verify", meter() + ",K=150", "-o", "whole.h5")
    os.remove("log")
    for number, code in ((signal.SIGTERM, 143), (signal.SIGKILL, -9), (signal.SIGINT, 130)):
        before = len(open("log").readlines()) if os.path.exists("log") else 0
        child = subprocess.Popen([tap.NASLM, *map(str, args), "--verify", meter(0.01) + ",K=150",
                                  "-o", "parts.h5", "--resume"], stderr=subprocess.DEVNULL)
        while not os.path.exists("log") or len(open("log").readlines()) < before + 10:
            time.sleep(0.01)
        child.send_signal(number)
        assert child.wait() == code, child.returncode
    naslm(*args, "--verify", meter() + ",K=150", "-o", "parts.h5", "--resume")
    assert read("parts.h5") == read("whole.h5")
    asked = open("log").read().split()
    assert len(set(asked)) == 150 and len(asked) < 150 + 3 * 64 + 20
    before = len(asked)
    naslm(*args, "--verify", meter() + ",K=150", "-o", "parts.h5", "--resume")
    asked = open("log").read().split()[before:]
    assert all(a.startswith("20") for a in asked)  # what failed is tried again, nothing else
    assert read("parts.h5") == read("whole.h5")


@case
def a_larger_budget_keeps_what_was_measured():
    args = [*ARGS, "--from", "formula", "--verify", meter()]
    naslm(*args, "--budget", 100, "-o", "more.h5")
    first = {r["arch"]: r["accuracy"] for r in rows("more.h5")}
    naslm(*args, "--budget", 250, "--resume", "-o", "more.h5")
    second = {r["arch"]: r["accuracy"] for r in rows("more.h5")}
    assert len(second) == 250
    assert all(second[a] == accuracy for a, accuracy in first.items() if accuracy is not None)


@case
def a_verification_that_fails_says_why():
    out, err = naslm(*ARGS, "--from", "formula", "--verify", "command:exit 4", "--retries", 0,
                     "--budget", 20, "-o", "why.h5", code=3)
    assert "no architecture could be verified" in err and "(exit code 4)" in err, err
    assert all(r["accuracy"] is None and r["state"] == "ok" for r in rows_all("why.h5"))


@case
def what_cannot_be_verified_is_refused():
    base = [*ARGS, "--from", "formula", "-o", "x.h5", "--verify"]
    refused("no --verify source knows a metric", *base, "cost")
    refused("not a number of rows", *base, "formula,K=0")
    refused("not a number of rows", *base, "formula,K=x")
    refused("unknown source 'formal'", *base, "formal")
    naslm(*ARGS, "--from", "formula", "-o", "plain.h5", "--budget", 60)
    refused("2 metrics", *ARGS, "--from", "formula", "-o", "plain.h5", "--budget", 90, "--verify",
            "formula", "--resume")
    assert not os.path.exists("x.h5")


if __name__ == "__main__":
    tap.main()

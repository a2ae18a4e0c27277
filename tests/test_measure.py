"""The source `measure`: latency on this machine by ONNX Runtime, and libraries that are none."""
import json
import os
import signal
import subprocess
import time

import ort
import tap
from tap import case, naslm, refused

LIBRARY = ort.library()
OPS = "|{0}~0|+|{0}~0|{0}~1|+|{0}~0|{0}~1|{0}~2|"
BASE = ["search", "-s", "nb201", "--objectives", "max:params,min:latency:cpu", "--from", "cost"]
MEASURE = [*BASE, "--from", "measure", "--population", 3, "--seed", 1]
QUICK = [*MEASURE, "--retries", 0]  # does not wait for a calm machine

# A runtime of version VERSION in which every call succeeds, but FAILING that of this place.
FAKE = r"""
#include <stddef.h>
#include <stdint.h>
static void *table[102];
static void *nothing(void) { return NULL; }
static void *refuse(void) { return "status"; }
static const char *message(void) { return "no kernel\nfor it"; }
static const void *get_api(uint32_t version)
{
    for (int i = 0; i < 102; i++)
        table[i] = (void *)(i == FAILING ? refuse : nothing);
    table[2] = (void *)message;
    return version == 1 ? table : NULL;
}
static const char *get_version(void) { return VERSION; }
const struct { const void *(*api)(uint32_t); const char *(*version)(void); } base = {
    get_api, get_version};
const void *OrtGetApiBase(void) { return &base; }
"""


def fake(version, failing):
    """Builds the library; returns its path."""
    path = os.path.abspath(f"fake-{version}-{failing}.so")
    if not os.path.exists(path):
        subprocess.run(["cc", "-shared", "-fPIC", "-w", f'-DVERSION="{version}"',
                        f"-DFAILING={failing}", "-x", "c", "-", "-o", path], input=FAKE, text=True,
                       check=True)
    return path


def use(library):
    os.environ["NASLM_ONNXRUNTIME"] = library


def use_real():
    if not LIBRARY:
        raise tap.Skip(ort.MISSING)
    use(LIBRARY)


def rows(run, *more, code=0):
    return json.loads(naslm("front", run, "--all", "--format", "json", *more, code=code)[0])


@case
def a_search_measures_each_network():
    use_real()
    naslm(*MEASURE, "--budget", 6, "-o", "six.h5")
    got = rows("six.h5")
    assert len(got) == 6
    for r in got:
        assert r["state"] == "ok" and 0 < r["latency:cpu"] < 1e5, r
    import h5py
    with h5py.File("six.h5") as file:
        row = [r for r in file["objectives"] if r["name"] == b"latency:cpu"]
        assert len(row) == 1 and row[0]["unit"] == b"ms", row


@case
def many_convolutions_take_longer_than_none():
    use_real()
    with open("two", "w") as file:
        file.write(OPS.format("nor_conv_3x3") + "\n" + OPS.format("none") + "\n")
    naslm(*BASE, "--from", f"measure:{LIBRARY}", "--searcher", "random", "--budget", 2, "--init",
          "two", "--seed", 1, "-o", "two.h5")
    large, small = sorted(rows("two.h5"), key=lambda r: -r["params"])
    assert large["latency:cpu"] > 1.5 * small["latency:cpu"], (large, small)


@case
def a_larger_budget_keeps_what_was_measured():
    use_real()
    naslm(*QUICK, "--budget", 3, "-o", "more.h5")
    first = rows("more.h5")
    naslm(*QUICK, "--budget", 6, "--resume", "-o", "more.h5")
    second = {r["arch"]: r["latency:cpu"] for r in rows("more.h5")}
    assert len(second) == 6
    assert all(second[r["arch"]] == r["latency:cpu"] for r in first)


@case
def a_killed_run_keeps_what_was_measured():
    """What is not kept goes to a runtime that refuses all, so it fails."""
    use_real()
    args = [*map(str, QUICK), "--population", "30", "--budget", "30", "-o", "killed.h5"]
    child = subprocess.Popen([tap.NASLM, *args], stderr=subprocess.DEVNULL)
    sizes, path = set(), "killed.h5.journal"
    while len(sizes) < 5 and child.poll() is None:
        sizes.add(os.path.getsize(path) if os.path.exists(path) else 0)
        time.sleep(0.01)
    child.kill()
    assert child.wait() == -signal.SIGKILL, child.returncode
    use(fake("1.12.0", 8))
    naslm(*args, "--resume")
    states = [r["state"] for r in rows("killed.h5")]
    assert states.count("ok") >= 2 and states.count("failed") >= 1, states
    assert states == sorted(states, key=lambda s: s != "ok"), states
    assert all(r["latency:cpu"] > 0 for r in rows("killed.h5") if r["state"] == "ok")


@case
def it_verifies_and_constrains():
    use_real()
    naslm(*QUICK, "--budget", 4, "--verify", "measure:onnxruntime,K=2", "--constraint",
          "latency:cpu<=100000ms", "-o", "v.h5")
    measured = [r for r in rows("v.h5") if r["latency:cpu"] is not None]
    assert len(measured) == 2
    for r in measured:
        assert r["latency:cpu"] > 0 and r["latency:cpu_predicted"] > 0 and r["feasible"] == "yes"
    out, err = naslm(*QUICK, "--budget", 3, "--constraint", "latency:cpu<=0.000001", "-o", "n.h5",
                     code=3)
    assert "no feasible architecture" in err, err


@case
def a_network_that_the_runtime_refuses_is_a_failed_row():
    for place, what in ((8, "load the network"), (9, "run the network"), (49, "make the input")):
        use(fake("1.12.0", place))
        out, err = naslm(*QUICK, "--budget", 3, "-o", f"{place}.h5", code=3)
        assert f"ONNX Runtime cannot {what}: no kernel?for it" in err, err
        assert [r["state"] for r in rows(f"{place}.h5", code=3)] == ["failed"] * 3


@case
def libraries_that_are_no_runtime_are_refused():
    def no(says, library):
        use(library)
        refused(says, *QUICK, "-o", "x.h5", code=1)
        del os.environ["NASLM_ONNXRUNTIME"]
        refused(says, *BASE, "--from", f"measure:{library}", "-o", "x.h5", code=1)

    with open("text.so", "w") as file:
        file.write("this is no library\n" * 100)
    open("empty.so", "w").close()
    no("cannot load ONNX Runtime from '/no/such.so' (", "/no/such.so")
    no("NASLM_ONNXRUNTIME may name the library", "/no/such.so")
    no("text.so' (", os.path.abspath("text.so"))
    no("empty.so' (", "./empty.so")
    no("'libm.so.6' is not ONNX Runtime: it has no OrtGetApiBase", "libm.so.6")
    no("ONNX Runtime 1.11.1 (", fake("1.11.1", -1))
    no("is too old: 1.12 or later is needed", fake("0.5.0", -1))
    no("is too old", fake("strange", -1))
    no("ONNX Runtime cannot start: no kernel", fake("1.12.0", 3))
    no("ONNX Runtime cannot use one thread", fake("1.12.0", 24))
    assert not os.path.exists("x.h5")


@case
def what_it_does_not_know_is_wrong_usage():
    use(fake("1.12.0", -1))
    for argument in ("tensorrt", ""):
        refused(f"not '{argument}'", *BASE, "--from", f"measure:{argument}", "-o", "x.h5")
    refused("no source knows the metric 'latency:cqu' (did you mean 'latency:cpu'?)", "search",
            "-s", "nb201", "--objectives", "min:latency:cqu", "--from", "measure", "-o", "x.h5")


if __name__ == "__main__":
    tap.main()

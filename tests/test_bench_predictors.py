#!/usr/bin/env python3
"""naslm bench predictors: splits redone here, figures against scipy, resume, scores from outside."""
import csv, hashlib, io, os, re, subprocess, sys, tempfile

import h5py
import numpy as np
from scipy.stats import kendalltau, spearmanr

NASLM = os.path.abspath(os.environ.get("NASLM", "build/release/naslm"))
DATA = os.environ.get("NASLM_DATA", "../shared/data")
number = failures = 0


def ok(good, what):
    global number, failures
    number += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {number} - {what}", flush=True)


def naslm(*args, text=None, status=0):
    run = subprocess.run([NASLM, *map(str, args)], input=text, capture_output=True, text=True)
    if run.returncode != status:
        print(f"# naslm {' '.join(map(str, args))[:200]}: {run.returncode} {run.stderr[:500]}")
    return run


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def order(space, seed, keys):
    digest = [hashlib.md5(f"{space}:{seed}:{k}".encode()).hexdigest() for k in keys]
    return sorted(range(len(keys)), key=lambda i: (digest[i], i)), digest


def split(space, seed, keys, n):
    by, digest = order(space, seed, keys)
    test = n
    while test < len(by) and digest[by[test]] == digest[by[n - 1]]:
        test += 1
    return by[:n], by[test:]


def main():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    # A table of random cells whose value is a sum over edges and noise; 60 of them come twice.
    rng = np.random.default_rng(1)
    arch = naslm("sample", "-s", "nb201", "-n", 900, "--unique", "--seed", 5).stdout.split("\n")[:-1]
    arch += arch[:60]
    value = np.array([50 + 4 * a.count("conv_3x3") + 2 * a.count("conv_1x1") - 3 * a.count("none")
                      for a in arch]) + rng.normal(0, 0.5, len(arch))
    with open("t.csv", "w") as f:
        f.write("arch,acc,ms\n" + "".join(f"{a},{float(v)!r},{float(100 - v)!r}\n" for a, v in zip(arch, value)))
    naslm("table", "import", "-s", "nb201", "t.csv", "--arch", "arch", "--metric", "accuracy=acc",
          "--metric", "latency:toy=ms", "-o", "t.h5")
    keys = [r["canonical"] for r in table(naslm("canon", "-s", "nb201", "-", "--format", "csv",
                                                text="\n".join(arch) + "\n").stdout)]
    # The mean of the two rows is not what ranks: rows stand for themselves.
    run = naslm("bench", "predictors", "--table", "t.h5", "--metric", "accuracy", "--methods",
                "ridge,krr-hamming,macs", "--n", "40,120", "--draws", 3, "-o", "b.h5", "--format", "csv",
                "--progress", "none")
    rows = table(run.stdout)
    ok(run.returncode == 0 and len(rows) == 6, "three methods, two sizes")
    ridge = {int(r["n"]): r for r in rows if r["method"] == "ridge"}
    ok(float(ridge[120]["tau_b"]) > float(ridge[40]["tau_b"]) > 0.7, "more labels rank better")

    # MACs need no labels: their figures follow from the split alone.
    macs = np.array([float(r["macs"]) for r in table(
        naslm("cost", "-s", "nb201", "-", "--format", "csv", text="\n".join(arch) + "\n").stdout)])
    with h5py.File("b.h5") as f:
        draws = f["draws"][:]
        ok(f.attrs["format"] in (b"naslm-bench", "naslm-bench"), "the file says what it is")
    good = True
    for d in draws:
        if d["method"] != b"macs":
            continue
        train, test = split("nb201", d["draw"], keys, d["n"])
        x, y = macs[test], value[test]
        k = max(1, len(test) // 20)
        top = set(np.argsort(-y, kind="stable")[:k]) & set(np.argsort(-x, kind="stable")[:k])
        good &= abs(d["tau_b"] - kendalltau(x, y).statistic) < 1e-12
        good &= abs(d["spearman"] - spearmanr(x, y).statistic) < 1e-12
        good &= d["tests"] == len(test) and abs(d["top5"] - len(top) / k) < 1e-12
        ties = sum(c * (c - 1) for c in np.unique(x, return_counts=True)[1])
        good &= abs(d["ties"] - ties / (len(x) * (len(x) - 1))) < 1e-12
        good &= not set(keys[i] for i in train) & set(keys[i] for i in test)
    ok(good, "splits and figures are those of hashlib and scipy")

    before = os.stat("b.h5").st_mtime_ns, draws.tobytes()
    more = naslm("bench", "predictors", "--table", "t.h5", "--metric", "accuracy", "--methods",
                 "ridge,krr-hamming,macs,params", "--n", "40,120", "--draws", 3, "-o", "b.h5", "--format",
                 "csv")
    done = [l for l in more.stderr.splitlines() if "tau-b" in l]
    with h5py.File("b.h5") as f:
        kept = [d for d in f["draws"][:] if d["method"] != b"params"]
    ok(len(done) == 6 and all("params" in l for l in done), "a file is continued: only new draws run")
    ok(np.array(kept).tobytes() == before[1], "and what was there stays")
    other = naslm("bench", "predictors", "--table", "t.h5", "--metric", "latency:toy", "--methods", "macs",
                  "--n", 40, "-o", "b.h5", status=2)
    ok(other.returncode == 2 and "--force" in other.stderr, "a file about another metric is refused")

    naslm("plot", "b.h5", "-o", "b.gp")
    naslm("plot", "b.h5", "-o", "b.svg")
    script = open("b.gp").read()
    ok(all(f"title '{m}'" in script for m in ("ridge", "krr-hamming", "macs", "params")) and
       f"120 {float(ridge[120]['tau_b']):.6f} {float(ridge[120]['tau_b_std']):.6f}" in script and
       "<svg" in open("b.svg").read(400), "naslm plot draws tau against rows with error bars")
    best_first = sorted((-float(r["tau_b"]), r["method"]) for r in table(naslm(
        "bench", "predictors", "--table", "t.h5", "--metric", "accuracy", "--methods",
        "ridge,krr-hamming,macs,params", "--n", 120, "--draws", 3, "-o", "b.h5", "--format", "csv",
        "--progress", "none").stdout) if r["n"] == "120")
    titles = re.findall("title '([a-z-]+)'", script)
    ok(titles == [m for _, m in best_first] and "set xtics (40,120" in script,
       "the legend reads best first, as the right end does; tics are where measured")
    two = naslm("plot", "b.h5", "b.h5", "-o", "c.svg", status=2)
    ok(two.returncode == 2, "a bench is drawn alone")

    one = naslm("bench", "predictors", "--table", "t.h5", "--metric", "accuracy", "--methods",
                "krr-wl,dgf", "--n", 20, "--draws", 2, "--format", "csv", "--threads", 1, "--progress", "none")
    two = naslm("bench", "predictors", "--table", "t.h5", "--metric", "accuracy", "--methods",
                "krr-wl,dgf", "--n", 20, "--draws", 2, "--format", "csv", "--threads", 3, "--progress", "none")
    cut = lambda run: [[r[c] for c in r if "seconds" not in c] for r in table(run.stdout)]
    ok(cut(one) == cut(two) and len(cut(one)) == 2, "one thread and three give the same figures")

    with open("p.csv", "w") as f: # the truth itself, and for n = 40 something worse
        f.write("arch,n,oracle,mine\n")
        for a, v in {a: v for a, v in zip(arch, value)}.items():
            f.write(f"{a},40,{v},{-v}\n{a},120,{v},{v}\n")
    run = naslm("bench", "predictors", "--table", "t.h5", "--metric", "latency:toy", "--predictions", "p.csv",
                "--n", "40,120", "--draws", 2, "--format", "csv", "--against", "oracle", "--progress", "none")
    rows = {(r["method"], r["n"]): r for r in table(run.stdout)}
    ok(float(rows["mine", "40"]["tau_b"]) > 0.97 and float(rows["mine", "120"]["tau_b"]) < -0.97,
       "scores from outside join, by their n")
    ok(float(rows["mine", "40"]["low_90"]) > 1.9 and float(rows["oracle", "40"]["high_90"]) == 0,
       "paired intervals")
    lost = naslm("bench", "predictors", "--table", "t.h5", "--metric", "accuracy", "--predictions", "p.csv",
                 "--n", 60, "--draws", 1, status=1)
    ok(lost.returncode == 1 and "no score for" in lost.stderr, "missing scores are refused by name")
    hold = table(naslm("bench", "predictors", "--table", "t.h5", "--metric", "accuracy", "--methods", "ridge",
                       "--setting", "all", "--format", "csv", "--progress", "none").stdout)
    ok(len(hold) == 1 and hold[0]["n"] == str(len(arch) - len(arch) // 20), "setting all holds out 5 %")
    for args, says in (["--methods", "krr-haming"], "krr-hamming"), (["--metric", "acuracy"], "accuracy"), \
            (["--n", "5000"], "5000"), (["--setting", "transfer"], "transfer"), (["--n", "4x"], "4x"):
        bad = naslm("bench", "predictors", "--table", "t.h5", "--metric", "accuracy", *args, status=2)
        ok(bad.returncode == 2 and says in bad.stderr, f"refused: {' '.join(args)}")


def anchors():
    path = os.path.join(os.path.abspath(DATA), "nb201_accuracy.csv.gz")
    if not os.path.exists(path):
        print(f"ok {number + 1} - anchors of nb201 # SKIP no {path}")
        return
    naslm("table", "import", "-s", "nb201", path, "--arch", "arch", "--metric", "accuracy=c10_test", "-o", "a.h5")
    run = naslm("bench", "predictors", "--table", "a.h5", "--metric", "accuracy", "--methods",
                "krr-hamming,krr-wl", "--n", "78,156,469", "--draws", 4, "--format", "csv", "--progress", "none")
    tau = {(r["method"], int(r["n"])): float(r["tau_b"]) for r in table(run.stdout)}
    for n, anchor in (78, 0.596), (156, 0.666), (469, 0.763):
        ok(abs(tau["krr-hamming", n] - anchor) < 0.02, f"krr-hamming, n {n}: {tau['krr-hamming', n]:.3f}")
        ok(tau["krr-wl", n] > anchor + 0.03, f"krr-wl is better: {tau['krr-wl', n]:.3f}")


if __name__ == "__main__":
    DATA = os.path.abspath(DATA)
    main()
    anchors()
    print(f"1..{number}")
    sys.exit(failures > 0)

"""naslm search end to end: exact fronts, same bytes for threads and interruptions, refusals."""
import itertools
import json
import os
import random
import signal
import subprocess
import time

import tap
from tap import case, naslm, needs_data, refused

SEARCHERS = ("nsga2", "guided", "evolution", "local", "random")
OBJECTIVES = "max:accuracy,min:latency:raspi4"
tables = {}


def table(name, *metrics):
    """Imports a CSV table of the benchmark data once; returns the file."""
    needs_data()
    if name not in tables:
        specs = [w for m in metrics for w in ("--metric", m)]
        naslm("table", "import", "-s", "nb201", f"{tap.DATA}/{name}.csv.gz", "--arch", "arch",
              *specs, "-o", name + ".h5")
        tables[name] = name + ".h5"
    return tables[name]


def nb201(*more, out, code=0):
    acc = table("nb201_accuracy", "accuracy=c10_test")
    lat = table("nb201_latency", "latency:raspi4=raspi4,ms,min")
    return naslm("search", "-s", "nb201", "--objectives", OBJECTIVES, "--from", "table:" + acc,
                 "--from", "table:" + lat, "-o", out, *more, code=code)


def toy(*more, out, code=0):
    return naslm("search", "-s", "toy", "--objectives", "max:accuracy,min:latency:toy", "--from",
                 "formula", "-o", out, *more, code=code)


def rows(run, *more):
    return json.loads(naslm("front", run, "--format", "json", *more)[0])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def brute_front(points):
    """Indices of (accuracy, latency) pairs that no other pair dominates."""
    order = sorted(range(len(points)), key=lambda i: (points[i][1], -points[i][0]))
    front, best = [], (-1e300, None)
    for i in order:
        acc, lat = points[i]
        if acc > best[0] or (acc, lat) == best:
            front.append(i)
            best = (acc, lat)
    return set(front)


@case
def the_front_of_an_exhausted_table_is_the_true_front():
    import pandas as pd
    out, err = nb201("--searcher", "random", "--budget", 20000, "--seed", 1, "--unique", "string",
                     out="all.h5")
    assert "exhausted" in err, err
    data = pd.read_csv(f"{tap.DATA}/nb201_accuracy.csv.gz")[["arch", "c10_test"]].merge(
        pd.read_csv(f"{tap.DATA}/nb201_latency.csv.gz")[["arch", "raspi4"]], on="arch")
    points = list(zip(data.c10_test, data.raspi4))
    truth = {data.arch[i] for i in brute_front(points)}
    assert {r["arch"] for r in rows("all.h5")} == truth
    assert len(rows("all.h5", "--all")) == len(data)


@case
def a_small_table_of_a_huge_space_is_searched_whole():
    needs_data()
    naslm("table", "import", "-s", "mnasnet", f"{tap.DATA}/mnasnet.csv.gz", "--arch", "e,k,l,se",
          "--metric", "accuracy=val_top1", "-o", "mnas.h5")
    for searcher, budget in (("random", 10000), ("nsga2", 300)):
        out, err = naslm("search", "-s", "mnasnet", "--objectives", "max:accuracy,min:params",
                         "--from", "table:mnas.h5", "--from", "cost", "--searcher", searcher,
                         "--budget", budget, "--seed", 1, "-o", f"mnas-{searcher}.h5")
        found = rows(f"mnas-{searcher}.h5", "--all")
        info = json.loads(naslm("table", "info", "mnas.h5", "--format", "json")[0])[0]
        if searcher == "random":
            assert "exhausted" in err and len(found) == info["architectures"]
        else:
            assert len(found) == 300


@case
def no_class_is_evaluated_twice_by_default():
    out, err = nb201("--searcher", "random", "--budget", 20000, "--seed", 1, out="classes.h5")
    assert "exhausted" in err, err
    archs = [r["arch"] for r in rows("classes.h5", "--all")]
    canon = json.loads(naslm("canon", "-s", "nb201", "-", "--format", "json",
                             stdin="\n".join(archs))[0])
    assert len({r["canonical"] for r in canon}) == len(archs)
    known = json.loads(naslm("canon", "-s", "nb201", "-", "--format", "json", stdin="\n".join(
        r["arch"] for r in rows("all.h5", "--all")))[0])
    assert len({r["canonical"] for r in known}) == len(archs)


@case
def an_nsga2_run_reads_in_every_tool():
    import h5py
    import pandas as pd
    nb201("--searcher", "nsga2", "--population", 20, "--budget", 500, "--seed", 1, out="run.h5")
    frame = pd.read_hdf("run.h5", "evaluations")
    assert len(frame) == 500 and list(frame.id) == list(range(500))
    assert set(frame.generation) == set(range(25))
    front = {r["id"] for r in rows("run.h5")}
    assert front == set(frame.id[frame.on_front == 1])
    assert front == brute_front(list(zip(frame.accuracy, frame.latency_raspi4)))
    with h5py.File("run.h5") as file:
        assert file.attrs["format"] == "naslm-run" and file.attrs["seed"] == 1
        assert set(file["front"][:]) == front
        assert json.loads(file["config"][()])["budget"] == 500
        history = file["history"][:]
        assert list(history["evaluations"]) == list(range(20, 501, 20))
        assert all(a <= b for a, b in zip(history["hypervolume"], history["hypervolume"][1:]))
        reference = file.attrs["reference_point"]
        value = float(naslm("hv", "run.h5")[0].split()[-1])
    assert abs(value - history["hypervolume"][-1]) <= 1e-9 * value
    first = frame[frame.generation == 0]
    assert list(reference) == [first.accuracy.min(), first.latency_raspi4.max()]
    points = sorted((r["latency:raspi4"], r["accuracy"]) for r in rows("run.h5"))
    area, worst_acc = 0, reference[0]
    for latency, accuracy in points:
        if latency < reference[1] and accuracy > worst_acc:
            area += (reference[1] - latency) * (accuracy - worst_acc)
            worst_acc = accuracy
    assert abs(area - value) < 1e-9 * value, (area, value)
    assert "finished" in naslm("show", "run.h5")[0]


@case
def same_bytes_for_any_number_of_threads():
    for searcher in SEARCHERS:
        for threads in (1, 2, 5):
            naslm("search", "-s", "nb201", "--objectives", "min:params,min:macs", "--from", "cost",
                  "--searcher", searcher, "--budget", 150, "--seed", 7, "--threads", threads, "-o",
                  f"t{threads}.h5", "--force")
        assert read("t1.h5") == read("t2.h5") == read("t5.h5"), searcher


@case
def the_seed_decides():
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        toy("--budget", 100, "--seed", seed, out=name + ".h5")
    assert read("a.h5") == read("b.h5") != read("c.h5")
    out, err = toy("--budget", 100, out="chosen.h5")
    seed = int(err.split("seed: ")[1].split()[0])
    toy("--budget", 100, "--seed", seed, out="again.h5")
    assert read("chosen.h5") == read("again.h5")


def cut(arch):
    """Whether a cell of nb201 leads nowhere: no path of operators other than none."""
    there = [True, False, False, False]
    for target, edges in enumerate(arch.split("+"), 1):
        for edge in edges.strip("|").split("|"):
            name, source = edge.split("~")
            there[target] |= name != "none" and there[int(source)]
    return not there[3]


@case
def a_guided_search_never_proposes_a_network_cut_in_two():
    naslm("search", "-s", "nb201", "--objectives", "min:params,min:macs", "--from", "cost",
          "--searcher", "guided", "--budget", 80, "--seed", 2, "-o", "cut.h5")
    import h5py
    with h5py.File("cut.h5") as file:
        archs = [row["arch"].decode() for row in file["evaluations"][20:]]
    assert len(archs) == 60 and not any(map(cut, archs)), archs
    assert cut("|nor_conv_3x3~0|+|none~0|none~1|+|none~0|none~1|skip_connect~2|")  # the check can fail


@case
def a_run_killed_at_any_time_ends_with_the_same_bytes():
    for searcher in SEARCHERS:
        budget = 300 if searcher == "guided" else 20000
        args = ["--searcher", searcher, "--budget", budget, "--seed", 3, "--snapshot", 0.02]
        start = time.time()
        toy(*args, out=f"whole-{searcher}.h5")
        whole = time.time() - start
        chance = random.Random(searcher)
        command = [tap.NASLM, "search", "-s", "toy", "--objectives",
                   "max:accuracy,min:latency:toy", "--from", "formula", *map(str, args), "-o",
                   f"killed-{searcher}.h5", "--resume", "--progress", "none"]
        kills = 0
        for _ in range(12):
            child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            time.sleep(chance.random() * whole * 0.5)
            child.send_signal(signal.SIGKILL)
            kills += child.wait() == -signal.SIGKILL
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        assert kills >= 3, kills
        assert read(f"whole-{searcher}.h5") == read(f"killed-{searcher}.h5"), searcher
        assert not os.path.exists(f"killed-{searcher}.h5.journal")


@case
def a_partial_generation_is_made_whole_across_kills():
    """Short budgets end inside a generation; longer ones extend it, killed at random on the way."""
    for searcher, population in (("nsga2", 50), ("evolution", 30)):
        args = ["--searcher", searcher, "--seed", 11, "--population", population]
        toy(*args, "--budget", 9000, out=f"one-{searcher}.h5")
        chance = random.Random(1)
        for budget in (77, 501, 2333, 9000):
            command = [tap.NASLM, "search", "-s", "toy", "--objectives",
                       "max:accuracy,min:latency:toy", "--from", "formula", *map(str, args), "-o",
                       f"many-{searcher}.h5", "--resume", "--budget", str(budget)]
            for _ in range(5):
                child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
                time.sleep(chance.random() * 0.03)
                child.send_signal(chance.choice((signal.SIGKILL, signal.SIGTERM)))
                child.wait()
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        assert read(f"one-{searcher}.h5") == read(f"many-{searcher}.h5"), searcher


@case
def a_stopped_run_is_whole_and_goes_on():
    """A stop by each signal, once the search commits; nohup makes it deaf to SIGHUP alone."""
    args = ["--budget", 900000, "--seed", 3, "--population", 50]
    command = [tap.NASLM, "search", "-s", "toy", "--objectives", "max:accuracy,min:latency:toy",
               "--from", "formula", *map(str, args), "-o", "stopped.h5", "--resume"]

    def journal():
        return os.path.exists("stopped.h5.journal") and os.stat("stopped.h5.journal").st_mtime_ns

    def start(*before):
        was = journal()
        child = subprocess.Popen([*before, *command], stderr=subprocess.DEVNULL,
                                 preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        while journal() == was and child.poll() is None:
            time.sleep(0.01)
        return child

    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        child = start()
        child.send_signal(number)
        assert child.wait() == code
        assert "unfinished" in naslm("show", "stopped.h5")[0]
        assert rows("stopped.h5")
    child = start("nohup")
    child.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    assert child.wait() == 143


@case
def a_larger_budget_on_resume_is_the_longer_run():
    for searcher in SEARCHERS[:-1]:
        args = ["--searcher", searcher, "--seed", 5]
        toy(*args, "--budget", 515, out=f"long-{searcher}.h5")
        toy(*args, "--budget", 130, out=f"short-{searcher}.h5")
        toy(*args, "--budget", 333, "--resume", out=f"short-{searcher}.h5")
        toy(*args, "--budget", 515, "--resume", out=f"short-{searcher}.h5")
        assert read(f"long-{searcher}.h5") == read(f"short-{searcher}.h5"), searcher
        toy(*args, "--budget", 515, "--resume", out=f"short-{searcher}.h5")
        assert read(f"long-{searcher}.h5") == read(f"short-{searcher}.h5"), searcher
    refused("has 515 rows already", "search", "-s", "toy", "--objectives",
            "max:accuracy,min:latency:toy", "--from", "formula", "--searcher", "evolution",
            "--seed", 5, "--budget", 100, "--resume", "-o", "short-evolution.h5")


@case
def what_a_run_is_cannot_change_on_resume():
    """Rows and volumes under other settings would stand beside those that are there already."""
    args = ["--searcher", "random", "--seed", 5, "--constraint", "latency:toy<=16"]
    toy(*args, "--budget", 200, out="is.h5")
    before = read("is.h5")
    base = ["search", "-s", "toy", "--from", "formula", "--objectives",
            "max:accuracy,min:latency:toy", "--budget", 300, "--resume", "-o", "is.h5"]
    refused('with constraints ["latency:toy<=16ms"], not ["latency:toy<=4ms"]', *base, "--searcher",
            "random", "--constraint", "latency:toy<=4")
    refused("with reference null, not [40.0, 20.0]", *base, *args, "--reference", "40,20")
    refused('with searcher "random", not "nsga2"', *base, *args[2:])
    refused('with unique "class", not "string"', *base, *args, "--unique", "string")
    with open("one", "w") as file:
        file.write("0000000000\n")
    refused("with init 0, not 1", *base, *args, "--init", "one")
    assert read("is.h5") == before


@case
def another_table_in_the_same_place_is_noticed():
    archs = naslm("sample", "-s", "toy", "-n", 400, "--seed", 1)[0].split()
    args = ["search", "-s", "toy", "--objectives", "max:accuracy,min:latency:toy", "--from",
            "table:own.h5", "--from", "formula", "--seed", 1, "-o", "own-run.h5", "--budget"]
    for offset, budget in ((0, 40), (0, 60), (0.5, 80)):
        with open("own.csv", "w") as file:  # the values of one row in ten are others
            file.writelines(["a,b\n", *(f"{a},{i % 50 + offset * (i % 10 == 3)}\n"
                                        for i, a in enumerate(archs))])
        naslm("table", "import", "-s", "toy", "own.csv", "--arch", "a", "--metric", "accuracy=b",
              "-o", "own.h5", "--force")
        if offset:
            before = read("own-run.h5")
            refused("has another accuracy than its source now: the source has changed", *args,
                    budget, "--resume", code=1)
            assert read("own-run.h5") == before
        else:
            naslm(*args, budget, *["--resume"] * (budget > 40))


@case
def nsga2_finds_the_known_front_of_toy():
    toy("--budget", 3000, "--seed", 1, out="toy.h5")
    found = {(round(r["accuracy"], 9), r["latency:toy"]) for r in rows("toy.h5")}
    truth = {(round(60 + 30 * (t / 15) ** 0.5, 9), 1 + t) for t in range(16)}
    assert found == truth, found ^ truth


@case
def a_small_space_is_exhausted_without_repeats():
    out, err = naslm("search", "-s", "hiaml", "--objectives", "min:params,min:macs", "--from",
                     "cost", "--searcher", "random", "--budget", 40000, "--seed", 1, "-o", "h.h5")
    assert "exhausted" in err
    assert len({r["arch"] for r in rows("h.h5", "--all")}) == 38416


@case
def constraints_hold_and_infeasible_runs_say_so():
    nb201("--budget", 200, "--seed", 1, "--constraint", "latency:raspi4<=10", out="tight.h5")
    front = rows("tight.h5")
    assert front and all(r["latency:raspi4"] <= 10 for r in front)
    out, err = nb201("--budget", 60, "--seed", 1, "--constraint", "accuracy>=99.9", out="none.h5",
                     code=3)
    assert "smallest violation" in err, err
    naslm("front", "none.h5", code=3)
    naslm("hv", "none.h5", code=3)


@case
def budgets_are_exact():
    for searcher, budget in itertools.product(SEARCHERS, (64, 101, 230)):
        toy("--searcher", searcher, "--budget", budget, "--seed", 2, "--force", out="b.h5")
        archs = [r["arch"] for r in rows("b.h5", "--all")]
        assert len(archs) == budget == len(set(archs))


@case
def directions_are_obeyed_in_every_mix():
    import h5py
    for acc, lat in itertools.product(("max", "min"), repeat=2):
        naslm("search", "-s", "toy", "--objectives", f"{acc}:accuracy,{lat}:latency:toy", "--from",
              "formula", "--budget", 300, "--seed", 1, "-o", "mix.h5", "--force")
        sign = (1 if acc == "max" else -1), (1 if lat == "min" else -1)
        got = {r["id"]: (sign[0] * r["accuracy"], sign[1] * r["latency:toy"])
               for r in rows("mix.h5", "--all")}
        front = {r["id"] for r in rows("mix.h5")}
        ids = list(got)
        assert front == {ids[i] for i in brute_front([got[k] for k in ids])}
        with h5py.File("mix.h5") as file:
            first = file["evaluations"][file["evaluations"]["generation"] == 0]
            assert list(file.attrs["reference_point"]) == [
                (min if acc == "max" else max)(first["accuracy"]),
                (max if lat == "min" else min)(first["latency_toy"])]
        assert float(naslm("hv", "mix.h5")[0].split()[-1]) > 0


@case
def labels_that_are_not_finite_are_failures_and_survive_every_format():
    archs = naslm("sample", "-s", "nb201", "-n", 5, "--seed", 1)[0].split()
    with open("inf.csv", "w") as file:
        file.writelines(f"{a},{b}\n" for a, b in zip(["a", *archs],
                                                     ["b", "inf", "1", "2", "-inf", ""]))
    naslm("table", "import", "-s", "nb201", "inf.csv", "--arch", "a", "--metric", "accuracy=b", "-o",
          "inf.h5")
    for searcher in SEARCHERS:  # four rows for a population of 20
        out, err = naslm("search", "-s", "nb201", "--objectives", "max:accuracy,min:params",
                         "--from", "table:inf.h5", "--from", "cost", "--searcher", searcher,
                         "--population", 20, "--budget", 30, "--seed", 1, "-o", "inf-run.h5",
                         "--force")
        assert "4 evaluated (2 failed)" in err and "exhausted" in err, err
        got = {r["arch"]: r for r in rows("inf-run.h5", "--all")}
        assert [got[a]["state"] for a in archs[:4]] == ["failed", "ok", "ok", "failed"]
        assert [got[a]["accuracy"] for a in archs[:4]] == [None, 1, 2, None]
        assert {r["arch"] for r in rows("inf-run.h5")} <= set(archs[1:3])
        text = naslm("front", "inf-run.h5", "--all", "--format", "tsv")[0]
        assert "\tinf\t" in text and "\t-inf\t" in text
        assert 0 <= float(naslm("hv", "inf-run.h5")[0].split()[-1]) < 1e9


@case
def what_is_known_already_is_counted():
    with open("again.txt", "w") as file:
        file.write("0000000000\n1111111111\n0000000000\n2222222222\n1111111111\n3333333333\n")
    out, err = toy("--searcher", "random", "--init", "again.txt", "--budget", 4, out="again-run.h5")
    assert "4 evaluated" in err and "2 proposals were known already" in err, err


@case
def one_objective_is_enough():
    naslm("search", "-s", "toy", "--objectives", "max:accuracy", "--from", "formula", "--budget",
          200, "--seed", 1, "-o", "one.h5")
    best = max(r["accuracy"] for r in rows("one.h5", "--all"))
    assert {r["accuracy"] for r in rows("one.h5")} == {best}
    out = naslm("hv", "one.h5")[0].split()
    assert abs(float(out[-1]) - (best - float(out[-2][:-1]))) < 1e-9
    naslm("plot", "one.h5", "-o", "one.svg")
    naslm("plot", "one.h5", "--history", "-o", "one-history.svg")


@case
def every_space_can_be_searched_and_its_file_checked():
    for space in json.loads(naslm("spaces", "--format", "json")[0]):
        naslm("search", "-s", space["space"], "--objectives", "min:params,max:macs", "--from",
              "cost", "--population", 8, "--budget", 32, "--seed", 2, "-o", "any.h5", "--force")
        assert f"run on {space['space']}, 32 rows" in naslm("check", "any.h5")[0]


@case
def a_search_starts_from_given_architectures():
    first = ["3030303030", "0000000000", "3333333333"]
    with open("init.txt", "w") as file:
        file.write("# three\n" + "\n".join(first) + "\n")
    toy("--budget", 40, "--seed", 2, "--init", "init.txt", out="init.h5")
    assert [r["arch"] for r in rows("init.h5", "--all")][:3] == first
    with open("init.txt", "a") as file:
        file.write("30303\n")
    refused("init.txt, line 5", "search", "-s", "toy", "--objectives", "max:accuracy", "--from",
            "formula", "--init", "init.txt", "-o", "x.h5", code=1)


@case
def bad_searches_are_refused_with_one_sentence():
    base = ["search", "-s", "toy", "--from", "formula", "-o", "bad.h5", "--seed", 1]
    good = ["--objectives", "max:accuracy,min:latency:toy"]
    refused("did you mean 'toy'", "search", "-s", "toi", "--from", "formula", *good)
    refused("did you mean 'accuracy'", *base, "--objectives", "max:acuracy")
    refused("did you mean 'latency:toy'", *base, "--objectives", "max:accuracy,min:latency:toi")
    refused("--objectives", *base)
    refused("budget of 0", *base, *good, "--budget", 0)
    refused("--snapshot needs seconds", *base, *good, "--snapshot", -1)
    refused("smaller than the population", *base, *good, "--budget", 10, "--population", 20)
    refused("did you mean 'nsga2'", *base, *good, "--searcher", "nsga3")
    refused("has no option 'cross'", *base, *good, "--option", "cross=1")
    refused("from 0 to 1", *base, *good, "--option", "crossover=2")
    refused("needs a whole number from 1 to 10000, not '2.5'", *base, *good, "--searcher",
            "evolution", "--option", "tournament=2.5")
    refused("did you mean 'krr-both'", *base, *good, "--searcher", "guided", "--option",
            "predictor=krr-bot")
    refused("unknown source 'tabel'", "search", "-s", "toy", "--from", "tabel:x.h5", *good)
    refused("no formula", "search", "-s", "nb201", "--from", "formula", *good)
    refused("3 numbers for 2 objectives", *base, *good, "--reference", "1,2,3")
    refused("--threads", *base, *good, "--threads", 0)
    assert not os.path.exists("bad.h5") and not os.path.exists("bad.h5.journal")
    naslm(*base, *good, "--budget", 50)
    before = read("bad.h5")
    refused("bad.h5", *base, *good)
    assert read("bad.h5") == before
    refused("seed", "search", "-s", "toy", "--from", "formula", "-o", "bad.h5", "--seed", 2, *good,
            "--resume")
    with open("junk.h5", "wb") as file:
        file.write(b"junk" * 100)
    with open("cut.h5", "wb") as file:
        file.write(before[:len(before) // 2])
    for path in ("junk.h5", "cut.h5", "absent.h5"):
        refused(path, "show", path, code=1)
        refused(path, "front", path, code=1)
        refused(path, "search", "-s", "toy", "--from", "table:" + path, *good, "-o", "y.h5", code=1)


@case
def wrong_tables_and_unknown_devices_are_named():
    lat = table("nb201_latency", "latency:raspi4=raspi4,ms,min")
    acc = table("nb201_accuracy", "accuracy=c10_test")
    refused("did you mean 'latency:raspi4'", "search", "-s", "nb201", "--objectives",
            "max:accuracy,min:latency:raspi", "--from", "table:" + acc, "--from", "table:" + lat)
    refused("is of space nb201, not of toy", "search", "-s", "toy", "--objectives",
            "max:accuracy", "--from", "table:" + acc)
    everything = [l for l in naslm("sample", "-s", "nb201", "-n", 400, "--seed", 1)[0].split()]
    out = subprocess.run([tap.NASLM, "table", "get", acc, "-", "--format", "csv"],
                         input="\n".join(everything), capture_output=True, text=True)
    assert out.returncode == 1 and "has no row of '|" in out.stderr, out.stderr


if __name__ == "__main__":
    tap.main()

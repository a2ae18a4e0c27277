"""Searches as others see them: a second writer, readers beside a writer, hostile limits."""
import itertools
import json
import os
import resource
import signal
import subprocess
import time

import tap
from tap import case, naslm, refused

SEARCHERS = ("nsga2", "guided", "evolution", "local", "random")
TOY = ["search", "-s", "toy", "--objectives", "max:accuracy,min:latency:toy", "--from", "formula"]


def rows(run, *more):
    return json.loads(naslm("front", run, "--format", "json", *more)[0])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def start(*more):
    return subprocess.Popen([tap.NASLM, *map(str, TOY + list(more))], stderr=subprocess.PIPE,
                            text=True)


def journal(run):
    """Waits until the run has a journal."""
    while not os.path.exists(run + ".journal") or os.path.getsize(run + ".journal") < 2000:
        time.sleep(0.005)


@case
def the_second_writer_is_refused_by_name():
    args = ["--seed", 1, "--budget", 900000, "-o", "two.h5"]
    first = start(*args)
    journal("two.h5")
    for more in ("--resume", "--force"):
        refused("'two.h5' is being written by", *TOY, *args, more, code=1)
        err = subprocess.run([tap.NASLM, *map(str, TOY + args), more], capture_output=True,
                             text=True).stderr
        assert f"process {first.pid}" in err or "another process" in err, err
    first.send_signal(signal.SIGKILL)  # the lock dies with its holder
    first.wait()
    naslm(*TOY, "--seed", 1, "--budget", 300, "-o", "two.h5", "--force")
    naslm(*TOY, "--seed", 1, "--budget", 300, "-o", "fresh.h5")
    assert read("two.h5") == read("fresh.h5")


@case
def readers_are_never_in_the_way_and_see_whole_generations():
    args = ["--seed", 2, "--budget", 60000, "--population", 50]
    naslm(*TOY, *args, "-o", "alone.h5")
    writer = start(*args, "--snapshot", 0.02, "-o", "watched.h5")
    seen, looks = [], 0
    while writer.poll() is None:
        done = subprocess.run([tap.NASLM, "front", "watched.h5", "--all", "--format", "json"],
                              capture_output=True, text=True)
        if done.returncode == 0:
            seen.append(len(json.loads(done.stdout)))
        else:
            assert not seen and any(why in done.stderr for why in (
                "before its first commit", "does not exist", "no feasible architecture")), done.stderr
        for command in ("show", "hv"):
            code = subprocess.run([tap.NASLM, command, "watched.h5"], capture_output=True).returncode
            assert code == 0 or not seen
        looks += 1
    assert writer.wait() == 0 and looks >= 3
    assert all(n % 50 == 0 for n in seen) and seen == sorted(seen)
    assert read("watched.h5") == read("alone.h5")


@case
def a_file_that_vanishes_is_written_again():
    args = ["--seed", 2, "--budget", 40000, "--snapshot", 0.02, "-o", "gone.h5"]
    writer = start(*args)
    while not os.path.exists("gone.h5"):
        time.sleep(0.005)
    os.remove("gone.h5")
    os.remove("gone.h5.journal")
    assert writer.wait() == 0, writer.stderr.read()
    assert len(rows("gone.h5", "--all")) == 40000


@case
def a_limit_on_file_sizes_is_a_sentence():
    done = subprocess.run(
        [tap.NASLM, *TOY, "--budget", "9000", "--seed", "2", "-o", "limit.h5"], text=True,
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000)))
    assert done.returncode == 1 and "File too large" in done.stderr, done
    naslm(*TOY, "--budget", 9000, "--seed", 2, "-o", "limit.h5", "--resume")
    assert len(rows("limit.h5", "--all")) == 9000


@case
def a_search_does_not_stop_when_nobody_reads_its_progress():
    writer = start("--seed", 2, "--budget", 300, "--progress", "plain", "-o", "quiet.h5")
    writer.stderr.close()
    assert writer.wait() == 0
    assert len(rows("quiet.h5", "--all")) == 300


@case
def nothing_feasible_is_diagnosed_by_every_searcher():
    for searcher in SEARCHERS:
        out, err = naslm(*TOY, "--searcher", searcher, "--budget", 120, "--seed", 1, "--constraint",
                         "accuracy>=95%", "-o", searcher + ".h5", code=3)
        assert "no feasible architecture; the smallest violation is" in err, err
        got = rows_all(searcher + ".h5")
        least = min(r["violation"] for r in got)
        assert f"{least:.4g}" in err and all(r["feasible"] == "no" for r in got)
        assert any(r["arch"] in err for r in got if r["violation"] == least)
        naslm("hv", searcher + ".h5", code=3)
        assert "feasible" in naslm("show", searcher + ".h5")[0]
    out, err = naslm(*TOY, "--budget", 60, "--seed", 1, "--constraint", "latency:toy<=1e-320", "-o",
                     "tiny.h5", code=3)
    assert "the smallest violation is inf" in err, err


def rows_all(run):
    out = subprocess.run([tap.NASLM, "front", run, "--all", "--format", "json"], capture_output=True,
                         text=True)
    return json.loads(out.stdout)


@case
def a_search_that_starts_infeasible_finds_its_way():
    for searcher in SEARCHERS[:-1]:
        budget = 300 if searcher == "guided" else 1500
        naslm(*TOY, "--searcher", searcher, "--budget", budget, "--seed", 3, "--constraint",
              "latency:toy<=4ms", "-o", f"way-{searcher}.h5")
        got = rows_all(f"way-{searcher}.h5")
        assert all(r["feasible"] == "no" for r in got[:20])
        front = rows(f"way-{searcher}.h5")
        assert front and all(r["latency:toy"] <= 4 for r in front)
        assert max(r["accuracy"] for r in front) == max(
            r["accuracy"] for r in got if r["latency:toy"] <= 4)


@case
def a_tighter_limit_is_never_better():
    best = []
    for limit in (3, 6, 10, 16):
        naslm(*TOY, "--budget", 3000, "--seed", 1, "--constraint", f"latency:toy<={limit}", "-o",
              "limit.h5", "--force")
        best.append(max(r["accuracy"] for r in rows("limit.h5")))
    assert best == sorted(best) and len(set(best)) == 4
    assert [round(b, 9) for b in best] == [round(60 + 30 * ((l - 1) / 15)**.5, 9)
                                           for l in (3, 6, 10, 16)]


@case
def constraints_have_units():
    base = [*TOY, "--budget", 60, "--seed", 1, "-o", "unit.h5"]
    naslm(*base, "--constraint", "latency:toy<=20ms")
    refused("is in 's', but its unit is 'ms'", *base, "--constraint", "latency:toy<=1s")
    refused("is not METRIC<=NUMBER", *base, "--constraint", "latency:toy<20")
    refused("has no number", *base, "--constraint", "latency:toy<=ms")
    refused("did you mean 'latency:toy'", *base, "--constraint", "latency:tot<=3")
    assert json.loads(naslm("show", "unit.h5")[0].split("config", 1)[1])["constraints"] == [
        "latency:toy<=20ms"]


@case
def the_front_does_not_depend_on_the_population():
    for searcher, population in (("nsga2", 2), ("nsga2", 64), ("guided", 2), ("evolution", 2), ("local", 1)):
        naslm(*TOY, "--searcher", searcher, "--population", population, "--budget", 400, "--seed", 5,
              "-o", "small.h5", "--force")
        got = rows_all("small.h5")
        points = {r["id"]: (-r["accuracy"], r["latency:toy"]) for r in got}
        best = {i for i, p in points.items()
                if not any(q[0] <= p[0] and q[1] <= p[1] and q != p for q in points.values())}
        assert {r["id"] for r in rows("small.h5")} == best


@case
def a_space_smaller_than_the_population_is_exhausted():
    strings = "\n".join("".join(digits) for digits in itertools.product("012", repeat=8))
    canon = json.loads(naslm("canon", "-s", "nbmacro", "-", "--format", "json", stdin=strings)[0])
    classes = {r["arch"]: r["canonical"] for r in canon}
    for searcher in ("nsga2", "evolution", "random"):
        out, err = naslm("search", "-s", "nbmacro", "--objectives", "max:params,min:macs", "--from",
                         "cost", "--searcher", searcher, "--population", 7000, "--budget", 7000,
                         "--seed", 1, "-o", "all.h5", "--force")
        assert "exhausted" in err, err
        found = [classes[r["arch"]] for r in rows_all("all.h5")]
        assert len(found) == len(set(found)) == len(set(classes.values())) < 6561


@case
def histories_are_exact():
    import h5py
    for searcher in SEARCHERS:
        naslm(*TOY, "--searcher", searcher, "--budget", 333, "--seed", 8, "--constraint",
              "latency:toy<=14", "-o", "h.h5", "--force")
        with h5py.File("h.h5") as file:
            history, table = file["history"][:], file["evaluations"][:]
            reference = file.attrs["reference_point"]
        assert history["evaluations"][-1] == len(table) == 333
        assert list(history["hypervolume"]) == sorted(history["hypervolume"])
        for g, step in enumerate(history):
            some = table[table["generation"] <= g]
            assert step["evaluations"] == len(some)
            feasible = some[some["feasible"]]
            points = list(zip(-feasible["accuracy"], feasible["latency_toy"]))
            best = {p for p in points if not any(q[0] <= p[0] and q[1] <= p[1] and q != p
                                                 for q in points)}
            assert step["front_size"] == sum(p in best for p in points)
            volume, top = 0, reference[1]
            for x, y in sorted(best):
                if x < -reference[0] and y < top:
                    volume += (-reference[0] - x) * (top - y)
                    top = y
            assert abs(volume - step["hypervolume"]) <= 1e-9 * max(1, volume)


if __name__ == "__main__":
    tap.main()

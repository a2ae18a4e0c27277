"""naslm train, predict and search with a model, as a user calls them."""
import csv
import io
import os
import random
import re
import subprocess

import tap
from tap import NASLM, case, naslm, refused

SMALL = ["--d", "16", "--layers", "1", "--heads", "2", "--ffn", "32", "--number", "SCI(2,2)"]
TRAIN = ["train", "--table", "macro.h5", "--free", "none", "--epochs", "15", "--batch", "16", "--rate",
         "0.01", "--rows", "300", "--seed", "1", "--threads", "1", "--progress", "none", *SMALL]
ASK = ["predict", "-m", "m.safetensors", "-s", "nbmacro", "--format", "csv", "--metrics", "accuracy"]
archs = []


def read(path):
    with open(path, "rb") as file:
        return file.read()


def table(name, value, n, metric):
    """A table of n architectures whose label is value(arch)."""
    archs[:] = naslm("sample", "-s", "nbmacro", "-n", n, "--seed", 3)[0].split()
    with open(name + ".csv", "w") as file:
        file.write("arch,y\n" + "".join(f"{a},{value(a)}\n" for a in archs))
    naslm("table", "import", "-s", "nbmacro", name + ".csv", "--arch", "arch", "--metric",
          metric + "=y", "-o", name + ".h5")


@case
def train_learns_a_simple_target():
    table("macro", lambda a: 40 + 5 * a.count("1") + a.count("2"), 400, "accuracy")
    out, err = naslm(*TRAIN, "-o", "m.safetensors", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 1 and rows[0]["metric"] == "accuracy", out
    assert float(rows[0]["tau_b"]) > 0.7, out
    assert "memory: " in err, err


@case
def same_seed_same_model():
    naslm(*TRAIN, "-o", "again.safetensors")
    assert read("m.safetensors") == read("again.safetensors")


@case
def predictions_do_not_depend_on_threads_or_company():
    one, notes = naslm(*ASK, "--threads", 1, "-", stdin="\n".join(archs))
    two, _ = naslm(*ASK, "--threads", 2, "-", stdin="\n".join(archs[:33]))
    assert one.splitlines()[0] == "arch,accuracy,accuracy_spread", one[:80]
    assert one.startswith(two) and len(two.splitlines()) == 34
    assert "extrapolation" not in notes
    values = [float(row["accuracy"]) for row in csv.DictReader(io.StringIO(one))]
    assert len(values) == len(archs) and 35 < min(values) < max(values) < 90


@case
def the_model_of_the_environment():
    os.environ["NASLM_MODEL"] = "m.safetensors"
    try:
        assert naslm(ASK[0], *ASK[3:], archs[0])[0] == naslm(*ASK, archs[0])[0]
    finally:
        del os.environ["NASLM_MODEL"]


@case
def samples_depend_on_the_seed_alone():
    drawn = [naslm(*ASK, "--samples", 16, "--seed", k, archs[0])[0] for k in (7, 7, 8)]
    assert drawn[0] == drawn[1] != drawn[2]


@case
def extrapolation_is_said():
    arch = naslm("sample", "-s", "nb201", "-n", 1, "--seed", 1)[0].strip()
    _, err = naslm("predict", "-m", "m.safetensors", "-s", "nb201", "--metrics", "accuracy", arch)
    assert "no accuracy of nb201 (cifar10)" in err and "extrapolation" in err, err


def predictions_on(path, rows):
    """Accuracies that a CPU path gives, None when this CPU lacks it."""
    done = subprocess.run([NASLM, *ASK, "-"], input=rows, capture_output=True, text=True,
                          env=dict(os.environ, NASLM_CPU=path))
    assert done.returncode == 0 or "this CPU has no" in done.stderr, done.stderr
    return [line.split(",")[1] for line in done.stdout.split()[1:]] if done.returncode == 0 else None


@case
def rounded_products_keep_the_ranks():
    rows = naslm("sample", "-s", "nbmacro", "-n", 1000, "--seed", 5)[0]
    exact, tried = predictions_on("generic", rows), 0
    for path in ("avx2-bf16", "avx512-bf16", "amx-bf16"):
        rounded = predictions_on(path, rows)
        if rounded is None:
            continue
        with open("paths.csv", "w") as file:
            file.write("exact,rounded\n" + "".join(f"{a},{b}\n" for a, b in zip(exact, rounded)))
        out, _ = naslm("tau", "paths.csv", "--truth", "exact", "--score", "rounded", "--format", "csv")
        assert float(next(csv.DictReader(io.StringIO(out)))["tau_b"]) >= 0.995, (path, out)
        assert exact != rounded
        tried += 1
    if not tried:
        raise tap.Skip("this CPU has no path that rounds")


@case
def a_file_reads_like_its_architecture():
    for arch in archs[:3]:
        row = naslm(*ASK, arch)[0].splitlines()[1].split(",")
        for form, more in (("onnx", ["--weights", "random", "--seed", 1]), ("onnx", []), ("text", [])):
            naslm("export", "-s", "nbmacro", arch, "--form", form, *more, "-o", "file", "--force")
            out, err = naslm(*ASK, "--onnx", "file")
            assert out.splitlines()[1].split(",") == ["file", *row[1:]], (form, out, row)
            assert "extrapolation" not in err, err


@case
def foreign_and_false_files():
    first, second = (naslm("export", "-s", "nbmacro", a, "--form", "text")[0] for a in archs[:2])
    name = f'"nas.arch": "{archs[0]}"'
    assert name in first
    wide = [*TRAIN, "--epochs", "1", "--rows", "50", "--window", "8192", "-o", "wide.safetensors"]
    naslm(*wide)
    ask = [*ASK[:2], "wide.safetensors", *ASK[3:], "--onnx"]
    for text in (first.replace(name, '"nas.arch": "?"'),
                 second.replace(f'"nas.arch": "{archs[1]}"', name)):  # says what it is not
        with open("foreign", "w") as file:
            file.write(text)
        out, err = naslm(*ask, "foreign")
        assert float(out.splitlines()[1].split(",")[1]) > 0 and "extrapolation" in err, (out, err)
        refused("the model reads at most 2048", *ASK, "--onnx", "foreign", code=1)
    with open("cut", "w") as file:
        file.write(first[:-40])
    refused("'cut'", *ask, "cut", code=1)
    refused("'none'", *ask, "none", code=1)
    refused("macro.csv", *ask, "macro.csv", code=1)
    refused("one operand too many", *ask, "foreign", archs[0])


@case
def search_asks_the_model():
    naslm("search", "-s", "nbmacro", "--objectives", "max:accuracy,min:macs", "--from",
          "model:m.safetensors", "--from", "cost", "--budget", 150, "--seed", 1, "-o", "run.h5",
          "--progress", "none")
    rows = list(csv.DictReader(io.StringIO(naslm("front", "run.h5", "--format", "csv")[0])))
    assert rows
    said = naslm(*ASK, rows[0]["arch"])[0].splitlines()[1].split(",")[1]
    assert float(said) == float(rows[0]["accuracy"]), (said, rows[0])


@case
def ten_rows_are_enough_where_the_model_knows_something_alike():
    table("few", lambda a: 3 + 0.1 * (5 * a.count("1") + a.count("2")), 300, "latency:few")
    out, err = naslm("train", "--from", "m.safetensors", "--table", "few.h5", "--rows", 10, "--taught", 2000,
                     "--epochs", 3, "--seed", 1, "--progress", "none", "--format", "csv", "-o",
                     "few.safetensors")
    assert "2010 rows" in err, err
    assert float(next(csv.DictReader(io.StringIO(out)))["tau_b"]) > 0.6, out
    alike = ["bench", "predictors", "--table", "few.h5", "--metric", "latency:few", "--methods", "known",
             "--n", 10, "--draws", 2, "--format", "csv"]
    out, _ = naslm(*alike, "--start", "m.safetensors")
    assert float(next(csv.DictReader(io.StringIO(out)))["tau_b"]) > 0.7, out
    naslm(*alike, "--start", "m.safetensors", "--setting", "transfer")
    refused("method 'known' needs option '--start'", *alike)
    refused("measured no other metric", "bench", "predictors", "--table", "macro.h5", "--metric", "accuracy",
            "--methods", "known", "--n", 10, "--start", "m.safetensors", code=1)


@case
def a_csv_file_is_a_table():
    with open("own.csv", "w") as file:
        file.write("arch,latency:own,other\n")
        file.writelines(f"{a},{3 + a.count('1')},{i}\n" for i, a in enumerate(archs[:40]))
    naslm("table", "import", "-s", "nbmacro", "own.csv", "--arch", "arch", "--metric",
          "latency:own=latency:own", "--metric", "other=other", "-o", "own.h5")
    how = ["--from", "m.safetensors", "--rows", 20, "--taught", 100, "--epochs", 1, "--seed", 3, "--progress",
           "none"]
    naslm("train", "--table", "own.h5", *how, "-o", "own1.safetensors")
    naslm("train", "--table", "own.csv", "-s", "nbmacro", *how, "-o", "own2.safetensors")
    assert read("own1.safetensors") == read("own2.safetensors")
    out, _ = naslm("train", "--table", "own.csv", "-s", "nbmacro", "--arch", "arch", "--metric",
                   "latency:x=latency:own,ms,min", *how, "--format", "csv", "-o", "own3.safetensors")
    assert "latency:x" in out and "other" not in out, out
    new = [*how, "-o", "none.safetensors"]
    refused("'own.csv' needs one '--space'", "train", "--table", "own.csv", *new)
    refused("no column 'archs'", "train", "--table", "own.csv", "-s", "nbmacro", "--arch", "archs", *new)
    refused("own.csv, line 2", "train", "--table", "own.csv", "-s", "mnasnet", *new, code=1)
    refused("'--arch' needs a CSV file", "train", "--table", "own.h5", "--arch", "arch", *new)


@case
def a_metric_without_values_is_not_taught():
    with open("gap.csv", "w") as file:
        file.write("arch,y,z\n" + "".join(f"{a},{a.count('1')},\n" for a in archs[:40]))
    naslm("table", "import", "-s", "nbmacro", "gap.csv", "--arch", "arch", "--metric", "latency:y=y",
          "--metric", "latency:z=z", "-o", "gap.h5")
    out, _ = naslm("train", "--from", "m.safetensors", "--table", "gap.h5", "--rows", 20, "--taught", 100,
                   "--epochs", 1, "--progress", "none", "--seed", 1, "--format", "csv", "-o",
                   "gap.safetensors")
    assert "latency:y" in out and "latency:z" not in out, out


@case
def a_table_may_say_how_many_neighbours_are_taught():
    _, err = naslm("train", "--table", "few.h5*2+60", "--table", "macro.h5", "--rows", 20, "--epochs", 1,
                   "--progress", "none", "--seed", 1, "-o", "taught.safetensors")
    assert "100 rows" in err, err  # 20 twice, those of the other table are the same, 60 neighbours


@case
def from_adds_a_metric():
    table("mine", lambda a: 1 + a.count("2"), 200, "latency:mine")
    out, _ = naslm("train", "--from", "m.safetensors", "--table", "mine.h5", "--free", "none",
                   "--taught", 0, "--epochs", 3, "--rows", 150, "--seed", 2, "--progress", "none", "-o",
                   "tuned.safetensors", "--format", "csv")
    assert "latency:mine" in out, out
    both, _ = naslm("predict", "-m", "tuned.safetensors", "-s", "nbmacro", "--format", "csv",
                    "--metrics", "latency:mine,accuracy", "01201201")
    assert both.startswith("arch,accuracy,accuracy_spread,latency:mine,latency:mine_spread"), both


@case
def vocabulary_of_its_own():
    naslm("train", "vocab", "-s", "nbmacro", "--random", 200, "--pieces", 400, "--seed", 1, "-o",
          "v.json")
    naslm(*TRAIN, "--vocab", "v.json", "--epochs", 1, "-o", "v.safetensors")
    refused("exists (--force", "train", "vocab", "-s", "nbmacro", "-o", "v.json")
    refused("is missing", "train", "vocab", "-s", "nbmacro")
    refused("vocabulary is not JSON", *TRAIN, "--vocab", "macro.csv", "-o", "w.safetensors", code=1)


@case
def a_stopped_training_goes_on_to_the_same_bytes():
    path = "stopped.safetensors"
    child = subprocess.Popen([NASLM, *TRAIN, "-o", path, "--checkpoint", "0.05"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None and not os.path.exists(path + ".checkpoint"):
        pass
    child.terminate()
    assert child.wait() == 143 and not os.path.exists(path)
    refused("other options", *TRAIN, "-o", path, "--resume", "--rate", 0.001)
    naslm(*TRAIN, "-o", path, "--resume")
    assert read("m.safetensors") == read(path) and not os.path.exists(path + ".checkpoint")


def log_of(path):
    out = subprocess.run(["h5dump", "-d", "/steps", path], capture_output=True, text=True).stdout
    rows = re.findall(r"\{\s*((?:[-\w.+]+,\s*){6}[-\w.+]+)\s*\}", out)
    return [[float(v) for v in row.split(",")] for row in rows]


@case
def a_watched_training_keeps_its_best_and_corrects_spreads():
    watch = [*TRAIN, "--rows", 400, "--validate", 0.5, "--epochs", 30, "--rate", 0.03]
    path = "watched.safetensors"
    _, err = naslm(*watch, "--patience", 3, "--progress", "plain", "-o", path, "--log", "watched.h5")
    rows = log_of("watched.h5")
    taus = [row[6] for row in rows if row[6] == row[6]]
    assert "tokens/s" in err and f"tau-b {max(taus):.4f} at best" in err, err[-300:]
    assert len(taus) < 20 and "stopped early" in err and max(taus) not in taus[-3:], (taus, err)
    assert all(a[0] < b[0] and a[2] < b[2] for a, b in zip(rows, rows[1:])), rows[:3]
    assert re.search(rb'spread[\\"]+:\[', read(path)) and b"train_log" not in read(path)
    refused("exists (--force", *watch, "-o", "x.safetensors", "--log", "watched.h5")
    # stopped at once and resumed: the same bytes of both files
    child = subprocess.Popen([NASLM, *map(str, watch), "--patience", "3", "-o", "w2.safetensors",
                              "--log", "w2.h5", "--checkpoint", "0.05"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None and not os.path.exists("w2.safetensors.checkpoint"):
        pass
    child.terminate()
    assert child.wait() == 143
    naslm(*watch, "--patience", 3, "-o", "w2.safetensors", "--log", "w2.h5", "--resume")
    assert read("w2.safetensors") == read(path) and read("w2.h5") == read("watched.h5")


def weights_of(path):
    data = read(path)
    return data[8 + int.from_bytes(data[:8], "little"):]


@case
def without_patience_the_last_weights_are_taken():
    watch = [*TRAIN, "--rows", 400, "--validate", 0.5, "--epochs", 10, "--rate", 0.03]
    naslm(*watch, "--patience", 0, "-o", "last.safetensors", "--log", "last.h5")
    _, err = naslm(*watch, "--patience", 99, "-o", "best.safetensors", "--log", "best.h5")
    taus = [row[6] for row in log_of("last.h5") if row[6] == row[6]]
    assert len(taus) >= 15 and "stopped early" not in err, (taus, err)
    assert read("last.h5") == read("best.h5") and taus[-1] < max(taus), taus
    assert weights_of("last.safetensors") != weights_of("best.safetensors")
    # only the spreads that are named
    naslm(*watch, "--patience", 0, "--free", "macs", "--correct", "macs", "-o", "none.safetensors")
    assert b"spread" in read("last.safetensors") and b"spread" not in read("none.safetensors")


@case
def refusals():
    new = ["-o", "new.safetensors"]
    refused("exists (--force", *TRAIN, "-o", "m.safetensors")
    refused("allows", *TRAIN, *new, "--memory", "100K", code=1)
    refused("is not a size", *TRAIN, *new, "--memory", "lots")
    refused("no table has the metric 'accurac'", *TRAIN, *new, "--metrics", "accurac")
    refused("nothing to learn from", "train", *new)
    refused("unknown progress 'plane' (did you mean 'plain'?)", "train", "-s", "nbmacro", "--progress", "plane", *new)
    refused("'--taught' needs '--table'", "train", "-s", "nbmacro", "--taught", 10, *new)
    refused("'--patience' needs '--validate'", *TRAIN, *new, "--patience", 2)
    refused("'--correct' needs '--validate'", *TRAIN, *new, "--correct", "accuracy")
    refused("does not learn 'accuracies'", *TRAIN, *new, "--validate", 0.5, "--correct", "accuracies")
    refused("'--validate' takes a share", *TRAIN, *new, "--validate", 1)
    refused("'--d' does not go with '--from'", *TRAIN, *new, "--from", "m.safetensors")
    refused("not an even multiple", *TRAIN, *new, "--heads", 3)
    refused("not a count that costs nothing", *TRAIN, *new, "--free", "depht")
    refused("the model reads at most 3", *TRAIN, *new, "--window", 3, code=1)
    refused("SCO", *TRAIN, *new, "--number", "SCO(2)")
    refused("no row has a label", *TRAIN, *new, "--rows", 0, code=1)
    refused("latency:pi", *ASK[:-1], "latency:pi", archs[0])
    refused("none", "predict", "-m", "none", *ASK[3:], archs[0], code=1)
    refused("macro.csv", "predict", "-m", "macro.csv", *ASK[3:], archs[0], code=1)
    with open("cut.safetensors", "wb") as file:
        file.write(read("m.safetensors")[:-100])
    refused("cut.safetensors", "predict", "-m", "cut.safetensors", *ASK[3:], archs[0], code=1)


def peak_memory(n):
    """Kilobytes that predicting n architectures from a pipe takes."""
    rows = "".join("".join(random.choice("012") for _ in range(8)) + "\n" for _ in range(n))
    child = subprocess.Popen([NASLM, *ASK, "--threads", "1", "-"], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    child.stdin.write(rows)
    child.stdin.close()
    _, code, used = os.wait4(child.pid, 0)
    assert code == 0
    return used.ru_maxrss


@case
def constant_memory_from_a_pipe():
    if "asan" in NASLM:
        raise tap.Skip("the sanitizer holds freed memory back")
    random.seed(1)
    short, long = peak_memory(2048), peak_memory(8 * 2048)
    assert long < short + 4000, (short, long)  # the texts alone would take 6 MB


@case
def version_names_its_parts():
    out, _ = naslm("--version")
    for part in ("HDF5", "jansson", "protobuf-c", "zlib", "OpenMP", "CPU path",
                 "run file schema"):
        assert any(line.startswith(part) and line.split()[-1] for line in out.splitlines()), part


tap.main()

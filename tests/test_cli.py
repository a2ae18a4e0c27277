"""The commands beside search: outputs, formats, refusals."""
import csv
import gzip
import io
import json
import os
import subprocess

import h5py

import tap
from tap import Skip, case, naslm, needs_data, refused

ARCH = "|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|skip_connect~0|nor_conv_3x3~1|skip_connect~2|"


def spaces():
    return [r["space"] for r in json.loads(naslm("spaces", "--format", "json")[0])]


@case
def help_and_version_go_to_standard_output():
    out, err = naslm("--help")
    assert out.startswith("Usage: naslm") and not err
    for command in [l.split()[0] for l in out.splitlines() if l.startswith("  ")]:
        text, err = naslm(command, "--help")
        assert text.startswith(f"Usage: naslm {command}") and "--help" in text and not err
    assert naslm("--version")[0].startswith("naslm 0.")
    refused("a command is missing")
    refused("did you mean 'search'", "serach")
    refused("unknown option '--sed' (did you mean 'seed'?)", "sample", "-s", "toy", "--sed", "1")


@case
def threads_that_wait_do_not_spin_for_long():
    """On a busy machine long spins of GNU OpenMP made training 20 times slower."""
    def spins(**settings):
        env = {k: v for k, v in os.environ.items()
               if k not in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        done = subprocess.run([tap.NASLM, "--version"], capture_output=True, text=True, check=True,
                              env={**env, "OMP_DISPLAY_ENV": "verbose", **settings})
        lines = [l for l in done.stderr.splitlines() if "GOMP_SPINCOUNT" in l]
        if not lines:
            raise Skip("another OpenMP library than GNU's")
        return int(lines[-1].split("'")[1])
    assert spins() == 1000
    assert spins(GOMP_SPINCOUNT="77") == 77
    assert spins(OMP_WAIT_POLICY="passive") == 0


@case
def every_space_samples_costs_canonizes_and_exports():
    for space in spaces():
        archs = naslm("sample", "-s", space, "-n", 5, "--seed", 0)[0].splitlines()
        assert len(archs) == 5 and archs == naslm("sample", "-s", space, "-n", 5, "--seed", 0)[
            0].splitlines()
        costs = list(csv.DictReader(io.StringIO(
            naslm("cost", "-s", space, *archs, "--format", "csv")[0])))
        piped = list(csv.DictReader(io.StringIO(
            naslm("cost", "-s", space, "-", "--format", "csv", stdin="\n".join(archs))[0])))
        assert costs == piped and [r["arch"] for r in costs] == archs
        assert all(int(r["params"]) > 0 and int(r["macs"]) > 0 for r in costs)
        canon = json.loads(naslm("canon", "-s", space, *archs, "--format", "json")[0])
        again = json.loads(naslm("canon", "-s", space, *[r["canonical"] for r in canon],
                                 "--format", "json")[0])
        assert [(r["canonical"], r["hash"]) for r in canon] == [
            (r["arch"], r["hash"]) for r in again]
        size = 32 if space == "nb101" else 16
        assert all(len(r["hash"]) == size and int(r["hash"], 16) >= 0 for r in canon)
        twin = json.loads(naslm("cost", "-s", space, canon[0]["canonical"], "--format", "json")[0])
        assert str(twin[0]["params"]) == costs[0]["params"]
        naslm("mutate", "-s", space, archs[0], "--seed", 1)
        naslm("cross", "-s", space, archs[0], archs[1], "--seed", 1)
        line = json.loads(naslm("export", "-s", space, "--form", "compact", "--format", "jsonl",
                                archs[0])[0])
        assert line["arch"] == archs[0] and line["text"].startswith("<ir_version")


@case
def exports_do_not_overwrite_and_name_their_forms():
    naslm("export", "-s", "nb201", ARCH, "-o", "a.onnx")
    first = open("a.onnx", "rb").read()
    refused("a.onnx", "export", "-s", "nb201", ARCH, "-o", "a.onnx")
    naslm("export", "-s", "nb201", ARCH, "-o", "a.onnx", "--weights", "random", "--seed", 3,
          "--force")
    second = open("a.onnx", "rb").read()
    naslm("export", "-s", "nb201", ARCH, "-o", "b.onnx", "--weights", "random", "--seed", 3)
    assert first != second == open("b.onnx", "rb").read()
    refused("did you mean 'compact'", "export", "-s", "nb201", ARCH, "--form", "compct")
    refused("unknown weights 'one'", "export", "-s", "nb201", ARCH, "--weights", "one")
    refused("absent/x.onnx", "export", "-s", "nb201",
            ARCH, "-o", "absent/x.onnx", code=1)
    from_file = json.loads(naslm("cost", "a.onnx", "--format", "json")[0])[0]
    counted = json.loads(naslm("cost", "-s", "nb201", ARCH, "--format", "json")[0])[0]
    assert [from_file[k] for k in ("params", "macs", "convs", "activation_bytes")] == [
        counted[k] for k in ("params", "macs", "convs", "activation_bytes")]
    assert "ONNX" in naslm("check", "a.onnx")[0]
    for piped in (True, False):  # "-" is standard input, a pipe or a file
        with open("a.onnx", "rb") as file:
            how = {"input": file.read()} if piped else {"stdin": file}
            done = subprocess.run([tap.NASLM, "cost", "-", "--format", "json"],
                                  stdout=subprocess.PIPE, **how)
        assert done.returncode == 0 and json.loads(done.stdout)[0] == {**from_file, "arch": "-"}
    assert "ONNX" in naslm("check", "-", stdin=naslm("export", "-s", "nb201", ARCH, "--form",
                                                     "text")[0])[0]
    refused("/dev/stdin", "check", "-", stdin="no model", code=1)
    with open("cut.onnx", "wb") as file:
        file.write(second[:1000])
    refused("cut.onnx", "check", "cut.onnx", code=1)
    refused("absent.onnx", "cost", "absent.onnx", code=1)


@case
def bad_architectures_name_column_line_and_space():
    refused("column 2: unknown operator 'nor_conv_3x4'", "cost", "-s", "nb201",
            "|nor_conv_3x4~0|+|none~0|none~1|+|none~0|none~1|none~2|")
    refused("standard input, line 2", "cost", "-s", "nb201", "-", stdin=ARCH + "\nrubbish\n",
            code=1)
    refused("an architecture", "cost", "-s", "nb201")
    refused("--space", "sample")
    refused("has no task 'cifar11'", "cost", "-s", "nb201", "--task", "cifar11", ARCH)
    refused("unknown format 'xml'", "cost", "-s", "nb201", ARCH, "--format", "xml")
    refused("one operand too many", "sample", "-s", "toy", "more")
    for space in spaces():
        for text in ("", " ", "|", "9" * 200, "{", "a,b", "\x01", "0/0", "-1", "1e9"):
            done = subprocess.run([tap.NASLM, "cost", "-s", space, text], capture_output=True,
                                  text=True)
            assert done.returncode == 2 and done.stderr.count("naslm: error:") == 1, (
                space, text, done.returncode, done.stderr)


@case
def formats_quote_and_round_trip():
    arch = naslm("sample", "-s", "darts", "--seed", 1)[0].strip()
    for text in (naslm("canon", "-s", "darts", arch, "--format", "csv")[0],):
        assert list(csv.DictReader(io.StringIO(text)))[0]["arch"] == arch
    assert json.loads(naslm("canon", "-s", "darts", arch, "--format", "json")[0])[0]["arch"] == arch
    assert naslm("canon", "-s", "darts", arch, "--format", "tsv")[0].splitlines()[1].split("\t")[
        0] == arch
    assert naslm("canon", "-s", "darts", "-", "--format", "json", stdin="")[0].strip() == "[]"


def write(path, text, compress=False):
    with (gzip.open if compress else open)(path, "wt") as file:
        file.write(text)


def change(path, dataset, column, row, text):
    """One field of a file, under a new checksum."""
    with h5py.File(path, "r+") as file:
        rows = file[dataset][:]
        rows[column][row] = text
        file[dataset][:] = rows
    refused("does not end with a checksum", "check", path, code=1)
    tap.seal(path)


@case
def tables_that_contradict_themselves_are_named():
    write("c.csv", "arch,acc\n110011/01,0.9\n101/2,0.8\n")
    args = ["table", "import", "-s", "nb101", "c.csv", "--arch", "arch", "--metric", "acc=acc"]
    naslm(*args, "-o", "c.h5")
    assert "table of nb101, 2 rows" in naslm("check", "c.h5")[0]
    change("c.h5", "rows", "arch", 1, b"101/3")
    refused("'c.h5', row 1: ", "check", "c.h5", code=3)
    assert "0.9" in naslm("table", "get", "c.h5", "110011/10")[0]
    naslm(*args, "-o", "d.h5")
    change("d.h5", "rows", "hash", 0, b"0" * 32)
    refused("row 0: the hash of '110011/01' is 1af995a92568cf42af2c2668f72834ea, not 0000",
            "check", "d.h5", code=3)


@case
def tables_are_imported_and_looked_up():
    other = naslm("mutate", "-s", "nb201", ARCH, "--seed", 1)[0].strip()
    write("t.csv.gz", f"arch,acc,lat\n{ARCH},0.9366,12.5\n{other},0.5,\n", compress=True)
    args = ["table", "import", "-s", "nb201", "t.csv.gz", "--arch", "arch"]
    naslm(*args, "--metric", "accuracy=acc,%,max,x100", "--metric", "latency:pi=lat", "-o", "t.h5")
    got = json.loads(naslm("table", "get", "t.h5", ARCH, other, "--format", "json")[0])
    assert abs(got[0]["accuracy"] - 93.66) < 1e-12 and got[0]["latency:pi"] == 12.5
    assert got[1]["latency:pi"] is None
    info = json.loads(naslm("table", "info", "t.h5", "--format", "json")[0])
    assert [(r["metric"], r["unit"], r["direction"], r["measured"]) for r in info] == [
        ("accuracy", "%", "max", 2), ("latency:pi", "ms", "min", 1)]
    assert "table of nb201" in naslm("check", "t.h5")[0]
    refused("t.h5", *args, "--metric", "accuracy=acc", "-o", "t.h5")
    refused("did you mean 'acc'", *args, "--metric", "accuracy=ac", "-o", "u.h5")
    refused("--metric", *args, "-o", "u.h5")
    refused("has no row of", "table", "get", "t.h5",
            "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|", code=1)
    write("bad.csv", f"arch,acc\n{ARCH},high\n")
    refused("bad.csv, line 2", "table", "import", "-s", "nb201", "bad.csv", "--arch", "arch",
            "--metric", "accuracy=acc", "-o", "u.h5", code=1)
    write("worse.csv", "arch,acc\nrubbish,1\n")
    refused("worse.csv, line 2", "table", "import", "-s", "nb201", "worse.csv", "--arch", "arch",
            "--metric", "accuracy=acc", "-o", "u.h5", code=1)
    assert not os.path.exists("u.h5")
    refused("did you mean 'import'", "table", "imprt", "x")


def nds_record(arch, top1, width=16, depth=20):
    """As the records of NDS: errors in percent, lists by epoch, NaN where a training diverged."""
    cells = {k: v for k, v in json.loads(arch).items() if k not in ("width", "depth")}
    return {"net": {"genotype": cells, "width": width, "depth": depth, "aux": True,
                    "drop_prob": 0.1}, "optim": {"base_lr": 0.1, "wd": 5e-4, "max_ep": 100},
            "params": 707546, "flops": 114821642, "rng_seed": 1, "iter_time": 0.25,
            "train_ep_top1": [80.0, 20.5], "test_ep_top1": [70.0, top1 + 0.5],
            "train_ep_loss": [2.3, float("nan")], "min_test_top1": top1}


@case
def nds_files_are_imported():
    metrics = ["--arch", "net", "--metric", "accuracy=min_test_top1,%,max,x-1+100", "--metric",
               "last=test_ep_top1,%,min", "--metric", "loss=train_ep_loss", "--metric",
               "lr=optim.base_lr,,min"]
    for space in ("darts", "darts-fix", "nasnet", "amoeba", "pnas-fix", "enas"):
        archs = naslm("sample", "-s", space, "-n", 3, "--seed", 5)[0].splitlines()
        size = [json.loads(a) for a in archs]
        rows = [nds_record(a, 5 + i, size[i]["width"], size[i]["depth"])
                for i, a in enumerate(archs)]
        text = {"list": json.dumps(rows), "lists": json.dumps({"top": rows[:2], "mid": rows[2:]}),
                "indented": json.dumps({"top": [], "mid": rows}, indent=1)}
        assert "NaN" in text["list"]
        for name, file in text.items():
            write(f"{name}.json.gz" if name == "lists" else f"{name}.json", file, name == "lists")
            naslm("table", "import", "-s", space, f"{name}.json.gz" if name == "lists" else
                  f"{name}.json", *metrics, "-o", "nds.h5", "--force")
            got = json.loads(naslm("table", "get", "nds.h5", *archs, "--format", "json")[0])
            assert [(g["arch"], g["accuracy"], g["last"], g["loss"], g["lr"]) for g in got] == [
                (a, 95 - i, 5.5 + i, None, 0.1) for i, a in enumerate(archs)], got
    args = ["table", "import", "-s", "darts", "bad.json", *metrics, "-o", "bad.h5"]
    good = json.dumps(nds_record(naslm("sample", "-s", "darts", "--seed", 5)[0], 5))
    for bad, says in ((good.replace("normal_concat", "normal_cat"), "record 1"),
                      (f"[{good}, {good}", "record 3"), (f"[{good}] x", "behind the records"),
                      (f"[{good} {good}]", "',' expected"), (f"[{good}, 7]", "not an object"),
                      (f"[{good}, {good.replace('sep_conv', 'sap_conv')}]", "record 2"),
                      (f"[{good}, {good[:400]}]", "record 2"), ("[]", "no records"),
                      ("", "'[' expected"), ('{"top": 3}', "'[' expected"),
                      ('{"top": [], "mid" []}', "':' expected"), ("[" * 5000, "record 1")):
        write("bad.json", bad if bad[:1] in "[{" and "{\"net" != bad[:5] else f"[{bad}]")
        refused(says, *args, code=1)
    write("bad.json", f"[{good}]")
    refused("did you mean 'min_test_top1'", *[a.replace("min_test", "mn_test") for a in args])
    refused("is not x and a number", *[a.replace("x-1+", "x-1++") for a in args])
    assert not os.path.exists("bad.h5")


@case
def every_benchmark_table_imports():
    needs_data()
    recipes = [
        ("nb201", "nb201_accuracy", "arch", "accuracy=c10_test", 14625),
        ("nb201", "nb201_latency", "arch", "latency:raspi4=raspi4", 14625),
        ("nb201", "nb201_zero_cost", "arch", "naswot=cifar10_naswot,,max", 14625),
        ("nbmacro", "nbmacro", "arch", "accuracy=mean_acc", 6061),
        ("tnb101-micro", "tnb101_micro", "arch", "class_scene=class_scene,%,max", 3796),
        ("tnb101-macro", "tnb101_macro", "arch", "class_scene=class_scene,%,max", 3005),
        ("mnasnet", "mnasnet", "e,k,l,se", "accuracy=val_top1", 4737),
        ("ofa-mb", "ofa_mb_accuracy", "r,d,ks,e", "accuracy=top1_mean", 2023),
        ("ofa-mb", "ofa_mb_latency", "r,d,ks,e", "latency:v100_1=v100_1", 4600),
        ("fbnet", "fbnet_latency", "op_idx", "latency:raspi4=raspi4", 4600),
        ("nb101", "nb101", "triu,ops", "accuracy=test_acc,%,max,x100", 403624),
    ]
    for space, file, arch, metric, rows in recipes:
        naslm("table", "import", "-s", space, f"{tap.DATA}/{file}.csv.gz", "--arch", arch,
              "--metric", metric, "-o", file + ".h5")
        info = json.loads(naslm("table", "info", file + ".h5", "--format", "json")[0])[0]
        assert info["rows"] == rows, (file, info)
    # an isomorphic spelling finds the same row of nb101
    hit = json.loads(naslm("table", "get", "nb101.h5", "100110100001001010101/02001", "--format",
                           "json")[0])[0]
    assert abs(hit["accuracy"] - 92.0606) < 1e-9


@case
def tau_agrees_with_scipy():
    from scipy.stats import kendalltau, spearmanr
    import random
    chance = random.Random(4)
    x = [chance.randrange(20) for _ in range(300)]
    y = [a + chance.randrange(15) for a in x]
    write("tau.csv", "t,s,c\n" + "".join(f"{a},{b},1\n" for a, b in zip(x, y)))
    got = json.loads(naslm("tau", "tau.csv", "--truth", "t", "--score", "s", "--format",
                           "json")[0])[0]
    assert abs(got["tau_b"] - kendalltau(x, y)[0]) < 1e-12
    assert abs(got["spearman"] - spearmanr(x, y)[0]) < 1e-12
    down = json.loads(naslm("tau", "tau.csv", "--truth", "t", "--score", "s", "--lower-is-better",
                            "--format", "json")[0])[0]
    assert down["tau_b"] == -got["tau_b"]
    flat, err = naslm("tau", "tau.csv", "--truth", "t", "--score", "c", "--format", "json")
    assert json.loads(flat)[0]["tau_b"] is None and "constant" in err
    refused("did you mean 's'", "tau", "tau.csv", "--truth", "t", "--score", "ss")
    for n in (0, 1, 2, 9, 10):
        write("few.csv", "t,s\n" + "".join(f"{i},{i * i}\n" for i in range(n)))
        out, err = naslm("tau", "few.csv", "--truth", "t", "--score", "s", "--format", "json")
        got = json.loads(out)[0]
        assert got["n"] == n and got["tau_b"] == (1 if n > 1 else None)
        assert ("fewer than two rows" in err, f"{n} rows say little" in err) == (
            n < 2, 2 <= n < 10), err


@case
def hypervolume_of_point_files():
    write("p.txt", "# two sets\n1 3\n2 2\n3 1\n\n1 1\n")
    out = naslm("hv", "p.txt", "--reference", "4,4")[0].splitlines()
    assert [float(l.split()[-1]) for l in out] == [6, 9]
    assert float(naslm("hv", "-", "--reference", "0,0", stdin="1 1\n")[0].split()[-1]) == 0
    refused("need a --reference", "hv", "p.txt")
    refused("3 numbers for 2", "hv", "p.txt", "--reference", "4,4,4")
    write("nan.txt", "1 2\nnan 1\n")
    refused("line 2", "hv", "nan.txt", "--reference", "4,4", code=1)
    out, err = naslm("hv", "-", "--reference", "-1,0", stdin="1 1\n")
    assert "reference -1,0: 0" in out and "no point is better than the reference" in err
    out = naslm("hv", "-", "--reference", "4,4", "--normalize", stdin="1 3\n2 2\n3 1\n")[0]
    assert out.startswith("normalized hypervolume") and abs(float(out.split()[-1]) - 6 / 9) < 1e-15
    refused("17 columns, at most 16", "hv", "-", "--reference", ",".join("9" * 17), code=1,
            stdin="1 " * 17)


NONE = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"


@case
def standard_input_is_read_with_suspicion():
    rows = csv.DictReader(io.StringIO(naslm("cost", "-s", "nb201", "-", "--format", "csv",
                                            stdin=NONE + "\r\n\n" + NONE)[0]))
    assert [r["arch"] for r in rows] == [NONE, NONE]
    refused("standard input, line 2, column 3: a NUL byte", "canon", "-s", "nb201", "-", code=1,
            stdin=NONE + "\nab\0c")
    refused("line 1 is longer than", "cost", "-s", "nb201", "-", code=1, stdin="a" * 2_000_000)
    refused("line 2 is longer than", "hv", "-", "--reference", "1,1", code=1,
            stdin="0 0\n" + "1 " * 1_000_000)
    with open("starts.txt", "w") as file:
        file.write(NONE + "\n\0\n")
    start = ["search", "-s", "nb201", "--objectives", "min:macs", "--from", "cost", "--init"]
    refused("starts.txt, line 2, column 1: a NUL byte", *start, "starts.txt", code=1)
    refused("cannot read .: Is a directory", *start, ".", code=1)
    naslm(*start, "-", "--budget", 20, "-o", "start.h5", stdin="\ufeff" + NONE + "\n")
    assert json.loads(naslm("front", "start.h5", "--all", "--format", "json")[0])[0]["arch"] == NONE


@case
def sentences_stay_whole():
    refused("architecture 'a?b?[0m' of nb201: column 1", "cost", "-s", "nb201", "a\nb\x1b[0m")
    refused("No such file or directory", "cost", "x/" * 2000, code=1)
    refused("the value of option '--output' is empty", "export", "-s", "nb201", NONE, "-o", "")
    refused("is not a number", "hv", "-", "--reference", "0." + "1" * 500, code=2, stdin="0")


@case
def a_refused_search_leaves_what_it_found():
    search = ["search", "-s", "nb201", "--objectives", "min:macs,max:params", "--from", "cost",
              "--seed", 1, "--budget", 40, "-o"]
    naslm(*search, "kept.h5")
    with open("kept.h5", "rb") as file:
        before = file.read()
    with open("foreign.h5", "w") as file:
        file.write("not a run")
    for says, code, args in [("with seed 1, not 2", 2, ["kept.h5", "--seed", 2]),
                             ("with population 20, not 7", 2,
                              ["kept.h5", "--budget", 60, "--population", 7]),
                             ("more than a budget of 30", 2, ["kept.h5", "--budget", 30]),
                             ("not an HDF5 file", 1, ["foreign.h5"])]:
        refused(says, *search, *args, "--resume", code=code)
        assert not os.path.exists(args[0] + ".journal"), says
    with open("kept.h5", "rb") as file:
        assert file.read() == before
    assert "finished" in naslm("show", "kept.h5")[0].split("\n")[0].split()
    with open("own.h5.journal", "w") as file:
        file.write("somebody's notes")
    refused("not a journal", *search, "own.h5", code=1)
    with open("own.h5.journal") as file:
        assert file.read() == "somebody's notes"


@case
def only_regular_files_are_overwritten():
    refused("cannot go to standard output", "search", "-s", "nb201", "--objectives", "min:macs",
            "--from", "cost", "-o", "-")
    export = ["export", "-s", "nb201", "--form", "compact", NONE, "-o"]
    os.mkfifo("pipe")
    os.mkdir("folder.h5")
    os.symlink("nowhere", "link")
    refused("exists", *export, "link")
    naslm(*export, "link", "--force")
    refused("no regular file", *export, "pipe", "--force")
    refused("no regular file", *export, "/dev/null", "--force")
    refused("no regular file", "search", "-s", "nb201", "--objectives", "min:macs", "--from",
            "cost", "-o", "folder.h5", "--force")
    assert not os.path.exists("folder.h5.journal")
    for device in ("/dev/zero", "/dev/null"):
        refused(f"cannot read '{device}'", "front", device, code=1)


@case
def spreadsheets_and_broken_csv_are_told_apart():
    with open("bom.csv", "wb") as file:
        file.write(b"\xef\xbb\xbft,s\r\n1,1\r\n2,2\r\n")
    assert "1" in naslm("tau", "bom.csv", "--truth", "t", "--score", "s")[0]
    for text, says in [(b't,s\n"1\0",2\n', "line 2, column 1: a NUL byte"),
                       (b"t,s\n" + b"1" * (1 << 25), "line 2, column 1: the row is longer"),
                       (b"t,s\n" + b"," * (1 << 25), "the row is longer"),
                       (b",".join(b"c%d" % i for i in range(20000)), "20000 columns, more than")]:
        with gzip.open("bad.csv.gz", "wb") as file:
            file.write(text)
        refused(says, "tau", "bad.csv.gz", "--truth", "t", "--score", "s", code=1)


@case
def models_of_countless_functions_are_refused():
    head = '<ir_version: 8, opset_import: ["" : 17]>\n'
    with open("many.txt", "w") as file:
        file.write(head + "g (float[N,3,8,8] x) => (float[N,3,8,8] y) { y = Relu(x) }\n")
        for i in range(30000):
            file.write(f'<domain: "d{i}", opset_import: ["" : 17]>\nf (x) => (y) {{ y = Relu(x) }}\n')
    refused("has 30000 functions", "cost", "many.txt", code=1)


@case
def closed_streams_are_not_written_to_files():
    for closed in ([0], [1], [2], [0, 1, 2]):
        run = subprocess.run(
            [tap.NASLM, "search", "-s", "nb201", "--objectives", "min:macs", "--from", "cost",
             "--budget", "50", "-o", "closed.h5", "--force"],
            preexec_fn=lambda: [os.close(fd) for fd in closed])
        assert run.returncode == 0
        naslm("check", "closed.h5")
    for args in (["sample", "-s", "nb201"], ["cost", "-s", "nb201", NONE]):
        run = subprocess.run([tap.NASLM, *args], preexec_fn=lambda: os.close(1))
        assert run.returncode == 1


@case
def a_full_disk_ends_endless_output():
    many = 2 ** 64 - 1
    for args in (["sample", "-s", "nb201", "-n", many], ["mutate", "-s", "nb201", "-n", many, NONE],
                 ["cross", "-s", "nb201", "-n", many, NONE, ARCH]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([tap.NASLM, *map(str, args), "--seed", "1"], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 1 and "cannot write to standard output" in done.stderr


@case
def a_full_disk_is_reported():
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        done = subprocess.run([tap.NASLM, "sample", "-s", "toy", "-n", "10000", "--seed", "1"],
                              stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "standard output" in done.stderr


if __name__ == "__main__":
    tap.main()

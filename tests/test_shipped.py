"""The model inside: found without being named, sound on every metric it knows, silent about none that it
does not know, and as good on its hold-out as its card says."""
import csv
import gzip
import hashlib
import io
import json
import os

import tap
from tap import DATA, case, naslm, needs_data

MODEL = os.path.join(os.path.dirname(os.path.abspath(tap.__file__)), "..", "surrogate", "models",
                     "naslm.safetensors")


def predict(space, metrics, archs, *options):
    out, err = naslm("predict", "-s", space, "--metrics", ",".join(metrics), "--format", "csv", *options,
                     "-", stdin="\n".join(archs))
    return list(csv.DictReader(io.StringIO(out))), err


def held_out(space, table, arch):
    """The rows of the hold-out: the last 5 % in the order of the digests, by the protocol."""
    with gzip.open(os.path.join(DATA, table), "rt") as file:
        rows = list(csv.DictReader(file))
    out, _ = naslm("canon", "-s", space, "--format", "csv", "-",
                   stdin="\n".join(row[arch] for row in rows))
    keys = [row["canonical"] for row in csv.DictReader(io.StringIO(out))]
    digest = [hashlib.md5(f"{space}:0:{key}".encode()).hexdigest() for key in keys]
    order = sorted(range(len(rows)), key=lambda i: (digest[i], i))
    return [rows[i] for i in order[len(order) - len(order) // 20:]]


def tau(truth, score):
    with open("tau.csv", "w") as file:
        file.write("t,s\n" + "".join(f"{t},{s}\n" for t, s in zip(truth, score)))
    out, _ = naslm("tau", "tau.csv", "--truth", "t", "--score", "s", "--format", "json")
    return json.loads(out)[0]


@case
def the_file_is_small_and_sound():
    assert os.path.getsize(MODEL) <= 16 << 20
    naslm("check", MODEL)


@case
def every_metric_it_knows_has_a_number():
    known = {row["space"]: row["metrics"].split()
             for row in json.loads(naslm("spaces", "--format", "json")[0])}
    assert "latency:raspi4" in known["nb201"] and "accuracy" in known["nb101"], known
    assert sum(map(bool, known.values())) >= 8 and not known["hiaml"], known
    for space, task in (("nb201", "cifar10"), ("fbnet", "cifar100"), ("ofa-mb", "imagenet")):
        archs = naslm("sample", "-s", space, "-n", 3, "--seed", 1)[0].split()
        rows, err = predict(space, known[space], archs, "--task", task)
        assert len(rows) == 3 and "extrapolation" not in err, err
        for row in rows:
            for metric in known[space]:
                assert 0 <= float(row[metric]) and 0 <= float(row[metric + "_spread"]), (metric, row)


@case
def what_it_has_not_seen_is_an_extrapolation():
    archs = naslm("sample", "-s", "hiaml", "-n", 2, "--seed", 1)[0].split()
    rows, err = predict("hiaml", ["accuracy"], archs)
    assert len(rows) == 2 and "extrapolation" in err, err


@case
def held_out_rows_rank_as_the_card_says():
    needs_data()
    rows = held_out("nb201", "nb201_accuracy.csv.gz", "arch")
    said, _ = predict("nb201", ["accuracy"], [row["arch"] for row in rows])
    found = tau([row["c10_test"] for row in rows], [row["accuracy"] for row in said])
    assert found["tau_b"] > 0.93, found
    rows = [row for row in held_out("nb201", "nb201_latency.csv.gz", "arch") if row["raspi4"]]
    said, _ = predict("nb201", ["latency:raspi4"], [row["arch"] for row in rows])
    found = tau([row["raspi4"] for row in rows], [row["latency:raspi4"] for row in said])
    assert found["spearman"] > 0.98, found


tap.main()

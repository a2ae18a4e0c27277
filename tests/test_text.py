"""naslm train and predict on any text: the rows of a file and the numbers beside them."""
import csv
import gzip
import io
import json
import random

import tap
from tap import case, naslm, refused

SIZES = {"tile": 3, "image": 40, "token": 7, "weight": 25, "cache": 12, "frame": 60}
KINDS = {"u8": 1, "f16": 2, "f32": 4, "f64": 8}
SOURCE = ["--input", "source", "--metric", "memory=bytes,B,min"]
TRAIN = ["train", *SOURCE, "--d", "32", "--layers", "1", "--heads", "2", "--ffn", "64", "--number",
         "SCI(2,3)", "--batch", "16", "--rate", "0.004", "--epochs", "40", "--seed", "1", "--pieces",
         "300", "--split-digits", "--threads", "1", "--progress", "none", "--format", "csv"]
ASK = ["predict", "-m", "m.safetensors", "--metrics", "memory", "--format", "csv", "--input",
       "source", "--text"]
rows = []


def program():
    """A source text and the memory that it takes."""
    lines, total = [], 0
    for k in range(random.randint(2, 5)):
        name, kind, n = random.choice([*SIZES]), random.choice([*KINDS]), random.randint(1, 9)
        lines.append(f"{kind} *{name}_{k} = new_{name}({n});")
        total += SIZES[name] * KINDS[kind] * n
    return "\n".join(lines), total


def write(path, some, columns=("source", "bytes")):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([columns, *some])


def read(path):
    with open(path, "rb") as file:
        return file.read()


@case
def learns_the_memory_of_source_code():
    random.seed(5)
    rows[:] = [program() for _ in range(1500)]
    write("code.csv", rows)
    out, _ = naslm(*TRAIN, "--text", "code.csv", "--rows", 1200, "-o", "m.safetensors")
    judged = list(csv.DictReader(io.StringIO(out)))
    assert len(judged) == 1 and 290 < int(judged[0]["n"]) <= 300, out
    assert (judged[0]["space"], judged[0]["task"], judged[0]["metric"]) == ("text", "any", "memory")
    assert float(judged[0]["spearman"]) >= 0.95, out


@case
def predicts_in_the_unit_of_the_labels():
    new = [program() for _ in range(200)]
    write("new.csv", new)
    out, notes = naslm(*ASK, "new.csv")
    got = list(csv.DictReader(io.StringIO(out)))
    assert [*got[0]] == ["row", "memory", "memory_spread"] and "extrapolation" not in notes
    assert [int(row["row"]) for row in got] == list(range(1, 201))
    off = sorted(abs(float(row["memory"]) / truth - 1) for row, (_, truth) in zip(got, new))
    assert off[100] < 0.2, off[100]
    assert all(float(row["memory_spread"]) > 0 for row in got)


@case
def the_same_from_every_kind_of_file():
    expected = naslm(*ASK, "new.csv")[0]
    names = ["source", "bytes"]
    records = [dict(zip(names, row)) for row in csv.reader(io.StringIO(read("new.csv").decode()))][1:]
    text = "".join(json.dumps(record) + "\n" for record in records)
    with open("new.jsonl", "w") as file:
        file.write("\n" + text)
    with gzip.open("new.jsonl.gz", "wt") as file:
        file.write(text.rstrip())
    with gzip.open("new.csv.gz", "wb") as file:
        file.write(read("new.csv"))
    for name in ("new.jsonl", "new.jsonl.gz", "new.csv.gz"):
        assert naslm(*ASK, name)[0] == expected, name
    assert naslm(*ASK, "-", stdin=read("new.csv").decode())[0] == expected
    assert naslm(*ASK, "new.csv", "--threads", 2)[0] == expected


@case
def thousands_come_in_pieces():
    write("many.csv", rows)
    got = naslm(*ASK, "many.csv")[0].splitlines()
    write("few.csv", rows[1020:1030])
    few = naslm(*ASK, "few.csv")[0].splitlines()
    assert len(got) == 1501 and got[-1].startswith("1500,")
    assert [line.split(",")[1:] for line in got[1021:1031]] == [l.split(",")[1:] for l in few[1:]]


@case
def equal_texts_never_lie_on_both_sides():
    write("twins.csv", [("a = 1;", 1), ("b = 22;", 2)] * 30)
    out, _ = naslm(*TRAIN, "--text", "twins.csv", "--rows", 15, "--epochs", 1, "-o", "t.safetensors")
    assert next(csv.DictReader(io.StringIO(out)))["n"] == "30", out


@case
def names_keep_scales_apart():
    write("small.csv", [(text, total / 1e6) for text, total in rows[:300]])
    naslm(*TRAIN, "--text", "code.csv@big", "--text", "small.csv@small", "--epochs", 1, "-o",
          "two.safetensors")
    ask = ["predict", "-m", "two.safetensors", *ASK[3:]]
    means = []
    for name in ("big", "small"):
        out, notes = naslm(*ask, "new.csv", "--task", name)
        assert "extrapolation" not in notes
        means.append(sum(float(row["memory"]) for row in csv.DictReader(io.StringIO(out))))
    assert means[0] > 1e4 * means[1], means
    assert "no memory of text (any)" in naslm(*ask, "new.csv")[1]


@case
def factor_and_missing_labels():
    write("gaps.csv", [(text, total if i % 2 else "", i) for i, (text, total) in
                       enumerate(rows[:200])], ("source", "bytes", "i"))
    out, err = naslm(*TRAIN, "--text", "gaps.csv", "--metric", "index=i,,,x2+1", "--rows", 150,
                     "--epochs", 1, "-o", "g.safetensors")
    judged = {row["metric"]: int(row["n"]) for row in csv.DictReader(io.StringIO(out))}
    assert judged["index"] == 50 and 10 < judged["memory"] < 40, judged
    assert "150 rows of 1 spaces and tasks" in err, err


@case
def adds_a_metric_to_a_trained_model():
    options = TRAIN[1 + len(SOURCE):]
    for name in ("--d", "--layers", "--heads", "--ffn", "--number", "--pieces"):
        at = options.index(name)
        del options[at:at + 2]
    options.remove("--split-digits")
    naslm("train", *options, "--from", "m.safetensors", "--text", "gaps.csv", "--input", "source",
          "--metric", "index=i", "--epochs", 1, "-o", "more.safetensors")
    out, _ = naslm("predict", "-m", "more.safetensors", "--metrics", "index,memory", *ASK[5:],
                   "few.csv")
    assert out.startswith("row,memory,memory_spread,index,index_spread\n"), out[:60]


@case
def a_vocabulary_of_texts():
    naslm("train", "vocab", "--text", "code.csv", "--input", "source", "--pieces", 300, "--seed", 1,
          "-o", "v.json")
    naslm(*TRAIN, "--text", "code.csv", "--vocab", "v.json", "--epochs", 1, "-o", "v.safetensors")


@case
def training_refuses():
    new = ["-o", "new.safetensors"]
    write("bad.csv", [("x = 1;", 3), ("two\nlines", 4), ("y = 2;", "many")])
    refused("bad.csv, line 5, column 2 (bytes): 'many' is not a number", *TRAIN, "--text", "bad.csv",
            *new, code=1)
    write("endless.csv", [("x = 1;", 3), ("y = 2;", "inf")])
    refused("endless.csv, line 3, column 2 (bytes): 'inf' is infinite", *TRAIN, "--text",
            "endless.csv", *new, code=1)
    write("hole.csv", [("x = 1;", 3), ("", 4)])
    refused("hole.csv, line 3, column 1 (source): the text is empty", *TRAIN, "--text", "hole.csv",
            *new, code=1)
    write("bare.csv", [])
    refused("bare.csv has no rows", *TRAIN, "--text", "bare.csv", *new, code=1)
    open("nil.csv", "w").close()
    refused("nil.csv is empty", *TRAIN, "--text", "nil.csv", *new, code=1)
    open("nil.jsonl", "w").close()
    refused("nil.jsonl has no records", *TRAIN, "--text", "nil.jsonl", *new, code=1)
    with open("cut.jsonl", "w") as file:
        file.write('{"source": "a", "bytes": 1}\n{"source": "b", "byt')
    refused("cut.jsonl, record 2", *TRAIN, "--text", "cut.jsonl", *new, code=1)
    refused("'none.csv'", *TRAIN, "--text", "none.csv", *new, code=1)
    refused("code.csv has no column 'sourc' (did you mean 'source'?)", "train", "--text", "code.csv",
            "--input", "sourc", "--metric", "memory=bytes", *new)
    refused("code.csv has no column 'byte'", "train", "--text", "code.csv", "--input", "source",
            "--metric", "memory=byte", *new)
    refused("'memory' is there already", *TRAIN, "--text", "code.csv", "--metric", "memory=bytes",
            *new)
    refused("metric 'memory'", "train", "--text", "code.csv", "--input", "source", "--metric",
            "memory", *new)
    refused("option '--metric' is missing", "train", "--text", "code.csv", "--input", "source", *new)
    refused("option '--input' is missing", "train", "--text", "code.csv", "--metric", "memory=bytes",
            *new)
    refused("'--free' needs", *TRAIN, "--text", "code.csv", "--free", "all", *new)
    refused("'--input' needs '--text'", "train", "-s", "nbmacro", "--input", "source", *new)
    refused("behind '@' is empty or too long", *TRAIN, "--text", "code.csv@" + 40 * "x", *new)


@case
def a_long_text_is_said_never_cut():
    long = "".join(f"int number_{i};\n" for i in range(400))
    write("long.csv", [*rows[:20], (long, 7)])
    line = 2 + sum(1 + text.count("\n") for text, _ in rows[:20])
    small = ["--window", 200, "--rows", 10, "-o", "new.safetensors"]
    for draw in range(6):  # whether it is learned or judged
        refused(f"long.csv, line {line}: the text has", *TRAIN, "--text", "long.csv", *small,
                "--draw", draw, code=1)
    refused(f"long.csv, line {line}, column 1 (source): the text has", *ASK, "long.csv", code=1)


@case
def predicting_refuses():
    refused("'--space' does not go with '--text'", *ASK, "new.csv", "-s", "nbmacro")
    refused("'--onnx' does not go with '--text'", *ASK, "new.csv", "--onnx", "x.onnx")
    refused("'--text' and '--input' go together", *ASK[:7], "--text", "new.csv")
    refused("'--text' and '--input' go together", *ASK[:7], "-s", "nbmacro", "--input", "source", "0")
    refused("operand", *ASK, "new.csv", "x = 1;")
    refused("memor", *ASK[:3], "--metrics", "memor", *ASK[5:], "new.csv")
    refused("'--metrics' is missing", *ASK[:3], *ASK[5:], "new.csv")
    refused("new.csv has no column 'code'", *ASK[:7], "--input", "code", "--text", "new.csv")
    refused("hole.csv, line 3, column 1 (source): the text is empty", *ASK, "hole.csv", code=1)
    refused("bare.csv has no rows", *ASK, "bare.csv", code=1)


tap.main()

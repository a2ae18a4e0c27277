"""A run file is read by h5py and pandas with no helper; a table too. The test program writes it."""
import os
import subprocess
import sys
import tempfile
import warnings

import h5py
import numpy as np
import pandas as pd

import tap

warnings.filterwarnings("ignore")
PROGRAM = os.path.join(os.path.dirname(os.environ.get("NASLM", "build/release/naslm")),
                       "tests", "test_run")
failed = 0
count = 0


def check(what, good):
    global failed, count
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {what}")


def check_h5py(path):
    with h5py.File(path, "r") as file:
        a = file.attrs
        check("attributes", a["format"] == "naslm-run" and a["schema_major"] == 1
              and a["seed"] == 7 and a["space"] == "nb201" and a["generations"] == 12
              and list(a["reference_point"]) == [0, 1] and isinstance(a["producer_version"], str))
        rows = file["evaluations"]
        check("columns", list(rows.dtype.names)[:10] == [
            "id", "generation", "parent1", "parent2", "state", "feasible", "on_front", "arch",
            "hash", "violation"] and "latency_raspi4" in rows.dtype.names)
        check("truth values", rows["feasible"].dtype == np.bool_)
        check("text is UTF-8 of fixed length",
              h5py.check_string_dtype(rows.dtype["arch"]).encoding == "utf-8"
              and h5py.check_string_dtype(rows.dtype["arch"]).length is not None)
        check("compressed and chunked", rows.compression == "gzip" and rows.shuffle
              and rows.chunks[0] * rows.dtype.itemsize <= 1 << 17)
        check("/front are the rows with on_front",
              list(file["front"][:]) == [int(i) for i in np.flatnonzero(rows["on_front"])]
              and len(file["front"]) > 0)
        objectives = file["objectives"][:]
        check("/objectives", [tuple(o)[:4] for o in objectives.tolist()] == [
            (b"accuracy", b"accuracy", b"%", b"max"),
            (b"latency:raspi4", b"latency_raspi4", b"ms", b"min"),
            (b"accuracy_predicted", b"accuracy_predicted", b"", b"none")]
            and objectives["upper"][1] == 0.9)
        check("/history", file["history"].dtype.names == ("evaluations", "front_size",
                                                          "hypervolume", "tau")
              and len(file["history"]) == 12 and np.isnan(file["history"]["tau"][0]))
        check("/config and /provenance",
              file["config"].asstr()[()] == '{"budget": 40}' and "provenance" in file)
        return rows[:]


def check_pandas(path, rows):
    frame = pd.read_hdf(path, "evaluations")
    check("pandas: rows and numbers", len(frame) == len(rows) == 18
          and np.array_equal(frame["latency_raspi4"], rows["latency_raspi4"], equal_nan=True))
    arch = [a.decode() if isinstance(a, bytes) else a for a in frame["arch"]]
    check("pandas: strings", arch == [a.decode() for a in rows["arch"]] and arch[0] == "g1-0")
    front = frame[frame["on_front"].astype(bool)]
    check("pandas: on_front", len(front) == rows["on_front"].sum())


def check_oracle(rows):
    good = rows[(rows["state"] == b"ok") & rows["feasible"]]
    want = set()
    for r in good:
        beaten = ((good["accuracy"] >= r["accuracy"])
                  & (good["latency_raspi4"] <= r["latency_raspi4"])
                  & ((good["accuracy"] > r["accuracy"])
                     | (good["latency_raspi4"] < r["latency_raspi4"])))
        if not beaten.any():
            want.add(int(r["id"]))
    check("the front by brute force", want == set(np.flatnonzero(rows["on_front"]).tolist()))
    failures = rows[rows["state"] == b"failed"]
    check("failed rows keep no value", len(failures) > 0 and np.isnan(failures["accuracy"]).all())


def main():
    with tempfile.TemporaryDirectory() as folder:
        path, again, empty = (os.path.join(folder, n) for n in ("a.h5", "b.h5", "c.h5"))
        subprocess.check_call([PROGRAM, path])
        subprocess.check_call([PROGRAM, again])
        subprocess.check_call([PROGRAM, empty, "none"])
        rows = check_h5py(path)
        check_pandas(path, rows)
        check_oracle(rows)
        check("two runs are the same bytes", open(path, "rb").read() == open(again, "rb").read())
        check("an empty run opens", len(pd.read_hdf(empty, "evaluations")) == 0)
        dump = subprocess.run(["h5dump", "-H", path], capture_output=True, text=True)
        check("h5dump", dump.returncode == 0 and "H5T_COMPOUND" in dump.stdout)
        with h5py.File(path, "r+") as file:
            file.attrs["note"] = "changed by another program"
            file.attrs["schema_minor"] = 99
        check("no checksum, no trust", subprocess.call([PROGRAM, path, "read"]) == 1)
        tap.seal(path)
        check("more of the same schema is read", subprocess.call([PROGRAM, path, "read"]) == 0)
        with h5py.File(path, "r+") as file:
            file.attrs["schema_major"] = 99
        tap.seal(path)
        check("a newer schema is refused", subprocess.call([PROGRAM, path, "read"]) == 1)
    print(f"1..{count}")
    return failed > 0


sys.exit(main())

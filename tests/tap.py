"""What Python tests share: cases that print TAP, and running the program."""
import os
import subprocess
import sys
import tempfile
import traceback
import zlib

NASLM = os.path.abspath(os.environ.get("NASLM", "build/release/naslm"))
DATA = os.environ.get("NASLM_DATA", "../shared/data")
HAVE_DATA = os.access(DATA, os.R_OK)
DATA = os.path.abspath(DATA)
_cases = []


class Skip(Exception):
    """Raised by a case that cannot run here; the text says why."""


def case(function):
    """Marks a test case; its name and doc string say what it shows."""
    _cases.append(function)
    return function


def needs_data():
    if not HAVE_DATA:
        raise Skip("no benchmark tables in " + DATA)


def naslm(*args, code=0, stdin=None):
    """Runs naslm; checks the exit code; returns (stdout, stderr) as text."""
    done = subprocess.run([NASLM, *map(str, args)], input=stdin, capture_output=True, text=True)
    assert done.returncode == code, (
        f"naslm {' '.join(map(str, args))}: exit {done.returncode}, not {code}\n{done.stderr[-2000:]}")
    return done.stdout, done.stderr


def refused(says, *args, code=2, stdin=None):
    """Runs naslm, which must fail with one sentence that says `says`."""
    out, err = naslm(*args, code=code, stdin=stdin)
    lines = [l for l in err.splitlines() if l.startswith("naslm: error: ")]
    assert len(lines) == 1, f"not one sentence: {err!r}"
    assert "HDF5-DIAG" not in err, err
    assert says in lines[0], f"{lines[0]!r} does not say {says!r}"
    assert (f"Try 'naslm" in err) == (code == 2), err


def seal(path):
    """The checksum behind the bytes of an HDF5 file, which other programs drop."""
    with open(path, "rb+") as file:
        file.write(b"naslmcrc%08x" % zlib.crc32(file.read()))


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number, function in enumerate(_cases, 1):
            name = function.__name__
            try:
                function()
                print(f"ok {number} - {name}", flush=True)
            except Skip as skip:
                print(f"ok {number} - {name} # SKIP {skip}", flush=True)
            except Exception:
                failed += 1
                traceback.print_exc()
                print(f"not ok {number} - {name}", flush=True)
    sys.exit(failed > 0)

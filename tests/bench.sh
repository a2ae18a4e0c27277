#!/bin/sh
# Runs every benchmark program and script: `sh tests/bench.sh build/release` (see `make bench`).
build=${1:?usage: bench.sh BUILD_DIR}
for program in "$build"/tests/bench_*; do
    [ -x "$program" ] || continue
    case $program in *.o | *.d) continue ;; esac
    echo "== $(basename "$program")"
    "$program"
done
for script in tests/bench_*.py; do
    [ -e "$script" ] || continue
    case $script in *_peer.py) continue ;; esac # peers are started by their benchmark
    echo "== $(basename "$script")"
    /usr/bin/python3 "$script"
done

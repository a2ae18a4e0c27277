#!/bin/sh
# Runs every test of the tree and counts cases: `sh tests/run.sh build/release [NAME…]`.
#
# A test is a program tests/test_NAME (built), a Python or a shell script tests/test_NAME.{py,sh}.
# Each prints TAP: "ok N - what", "not ok N - what", "ok N - what # SKIP why". A test that ends
# badly without a failed case counts as one failed case. The last line is "N passed, N failed".
build=${1:?usage: run.sh BUILD_DIR [NAME...]}
shift
export NASLM="${NASLM:-$build/naslm}" CMOCKA_MESSAGE_OUTPUT=TAP
export UBSAN_OPTIONS=print_stacktrace=1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 skipped=0

# run_one NAME COMMAND…
run_one() {
    name=$1
    shift
    "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    skip=$(grep -c '^[[:space:]]*\(not \)\{0,1\}ok .*# *SKIP' "$scratch/out")
    bad=$(grep '^[[:space:]]*not ok' "$scratch/out" | grep -vc '# *SKIP')
    good=$(grep '^[[:space:]]*ok ' "$scratch/out" | grep -vc '# *SKIP')
    [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    [ $((good + bad + skip)) -eq 0 ] && bad=1 && echo "  (no case was run)" >>"$scratch/err"
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skip))
    printf '%-34s %4d passed' "$name" "$good"
    [ "$bad" -gt 0 ] && printf ', %d FAILED (exit %d)' "$bad" "$status"
    [ "$skip" -gt 0 ] && printf ', %d SKIPPED' "$skip"
    echo
    grep '# *SKIP' "$scratch/out"
    if [ "$bad" -gt 0 ]; then
        grep -A 6 '^[[:space:]]*not ok' "$scratch/out"
        tail -n 40 "$scratch/err"
    fi
}

wanted() { # NAME [ARGS]: is NAME among ARGS, or is there no choice?
    name=$1
    shift
    [ $# -eq 0 ] && return 0
    for w in "$@"; do [ "$w" = "$name" ] && return 0; done
    return 1
}

for program in "$build"/tests/test_*; do
    [ -x "$program" ] || continue
    case $program in *.o | *.d) continue ;; esac
    wanted "$(basename "$program")" "$@" && run_one "$(basename "$program")" "$program"
done
for script in tests/test_*.py; do
    [ -e "$script" ] || continue
    wanted "$(basename "$script")" "$@" && run_one "$(basename "$script")" /usr/bin/python3 "$script"
done
for script in tests/test_*.sh; do
    [ -e "$script" ] || continue
    wanted "$(basename "$script")" "$@" && run_one "$(basename "$script")" sh "$script"
done
[ "$skipped" -gt 0 ] && echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

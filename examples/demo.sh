#!/bin/sh
# A search from nothing to a picture: leaves front.h5 and front.svg here. `make demo` runs it.
#
# NAS-Bench-201 is searched on the accuracy and the Raspberry Pi 4 latency that the built-in model
# expects. With the benchmark tables at hand (NASLM_DATA, default ../shared/data) the front is then
# looked up, and what was measured stands beside what was predicted.
set -eu
naslm=${NASLM:-build/release/naslm}
data=${NASLM_DATA:-../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -r "$data/nb201_accuracy.csv.gz" ] && [ -r "$data/nb201_latency.csv.gz" ]; then
    "$naslm" table import -s nb201 "$data/nb201_accuracy.csv.gz" --arch arch \
        --metric accuracy=c10_test -o "$work/accuracy.h5"
    "$naslm" table import -s nb201 "$data/nb201_latency.csv.gz" --arch arch \
        --metric latency:raspi4=raspi4,ms,min -o "$work/latency.h5"
    set -- --verify "table:$work/accuracy.h5" --verify "table:$work/latency.h5"
    echo "Searching nb201 by the built-in model; the front is verified by the tables in $data."
    echo "Labels of this space were seen in training: this shows speed and agreement, not skill."
else
    set --
    echo "Searching nb201 by the built-in model; there are no tables in $data to verify it."
fi
"$naslm" search -s nb201 --objectives max:accuracy,min:latency:raspi4 --from model \
    --searcher nsga2 --population 20 --budget 500 --seed 1 "$@" -o front.h5 --force
"$naslm" front front.h5
"$naslm" show front.h5
"$naslm" plot front.h5 -o front.svg --force
echo "Wrote front.h5 and front.svg."

#!/bin/sh
# A search from nothing to a picture: leaves front.h5 and front.svg here. `make demo` runs it.
#
# With the benchmark tables at hand (NASLM_DATA, default ../shared/data) it searches NAS-Bench-201 on
# measured accuracy and measured Raspberry Pi 4 latency; without them the made space `toy`.
set -eu
naslm=${NASLM:-build/release/naslm}
data=${NASLM_DATA:-../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -r "$data/nb201_accuracy.csv.gz" ] && [ -r "$data/nb201_latency.csv.gz" ]; then
    echo "Searching nb201 on measured accuracy and latency from the tables in $data."
    "$naslm" table import -s nb201 "$data/nb201_accuracy.csv.gz" --arch arch \
        --metric accuracy=c10_test -o "$work/accuracy.h5"
    "$naslm" table import -s nb201 "$data/nb201_latency.csv.gz" --arch arch \
        --metric latency:raspi4=raspi4,ms,min -o "$work/latency.h5"
    "$naslm" search -s nb201 --objectives max:accuracy,min:latency:raspi4 \
        --from "table:$work/accuracy.h5" --from "table:$work/latency.h5" \
        --searcher nsga2 --population 20 --budget 500 --seed 1 -o front.h5 --force
else
    echo "No benchmark tables in $data: searching the made space toy instead."
    "$naslm" search -s toy --objectives max:accuracy,min:latency:toy --from formula \
        --searcher nsga2 --population 20 --budget 500 --seed 1 -o front.h5 --force
fi
"$naslm" front front.h5
"$naslm" show front.h5
"$naslm" plot front.h5 -o front.svg --force
echo "Wrote front.h5 and front.svg."

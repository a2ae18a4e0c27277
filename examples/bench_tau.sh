#!/bin/sh
# Which predictor ranks NAS-Bench-201 best from 78 or 469 measured accuracies? Leaves tau.h5, prints
# Markdown. Needs the benchmark tables (NASLM_DATA, default ../shared/data).
#
# Methods, sizes and draws can be given: METHODS=krr-wl,flan-1 N=78 DRAWS=3 sh examples/bench_tau.sh
# A run that was stopped goes on where it was. Scores of another model join with --predictions
# FILE.csv (columns arch and the model's name), and with --against METHOD come paired intervals.
set -eu
naslm=${NASLM:-build/release/naslm}
data=${NASLM_DATA:-../shared/data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$naslm" table import -s nb201 "$data/nb201_accuracy.csv.gz" --arch arch \
    --metric accuracy=c10_test -o "$work/accuracy.h5"
"$naslm" table import -s nb201 "$data/nb201_zero_cost.csv.gz" --arch arch \
    --metric naswot=cifar10_naswot --metric synflow=cifar10_logsynflow -o "$work/proxies.h5"
"$naslm" bench predictors -s nb201 --table "$work/accuracy.h5" --metric accuracy \
    --proxies "$work/proxies.h5" --n "${N:-78,469}" --draws "${DRAWS:-3}" \
    --methods "${METHODS:-params,table:naswot,table:synflow,ridge,krr-hamming,krr-wl,krr-free,krr-both,dgf}" \
    --against krr-hamming --format markdown -o tau.h5

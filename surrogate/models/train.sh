#!/bin/sh
# Trains surrogate/models/naslm.safetensors on every benchmark table less the 5 % hold-out:
#     make train-shipped          (NASLM_DATA: the tables' folder; stop it and run it again to go on)
# Every example carries labels that cost nothing beside the measured ones, so the model learns to read
# and to rank at once. WORK keeps imported tables and checkpoints; TABLE_ROWS=50 tries the recipe.
set -e
naslm=${NASLM:-build/release/naslm} data=${NASLM_DATA:-../shared/data} work=${WORK:-build/shipped}
here=$(dirname "$0")
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
mkdir -p "$work"

# table NAME SPACE CSV ARCH METRIC...: imports once
table() {
    name=$1 space=$2 csv=$3 arch=$4
    shift 4
    [ -e "$work/$name.h5" ] && return
    specs=
    for m in "$@"; do specs="$specs --metric $m"; done
    "$naslm" table import -s "$space" "$data/$csv.csv.gz" --arch "$arch" $specs -o "$work/$name.h5"
}
# devices CSV COLUMNS-TO-SKIP: every other column of a latency table as a metric
devices() {
    gzip -dc "$data/$1.csv.gz" | head -n 1 | tr ',' '\n' | grep -vxE "$2" |
        sed 's/\r//; s/.*/latency:&=&,ms,min/'
}

for pair in cifar10:c10 cifar100:c100 in16:in16; do
    table "nb201-${pair%:*}" nb201 nb201_accuracy arch "accuracy=${pair#*:}_test,%,max"
done
table nb201-latency nb201 nb201_latency arch \
    $(devices nb201_latency 'index|arch|edgegpu_latency|.*_energy|edgetpu_latency') \
    latency:edgegpu=edgegpu_latency,ms,min latency:edgetpu=edgetpu_latency,ms,min \
    energy:edgegpu=edgegpu_energy,mJ,min energy:eyeriss=eyeriss_energy,mJ,min \
    energy:fpga=fpga_energy,mJ,min
table nb101 nb101 nb101 triu,ops accuracy=test_acc,%,max,x100
table nbmacro nbmacro nbmacro arch accuracy=mean_acc,%,max
table mnasnet mnasnet mnasnet e,k,l,se accuracy=val_top1,%,max \
    latency:zcu102=latency_zcu102,ms,min latency:vck190=latency_vck190,ms,min \
    throughput:a100=throughput_a100,images/s,max throughput:3090=throughput_3090,images/s,max \
    throughput:tpuv2=throughput_tpuv2,images/s,max throughput:tpuv3=throughput_tpuv3,images/s,max \
    throughput:zcu102=throughput_zcu102,images/s,max \
    throughput:vck190=throughput_vck190,images/s,max
table ofa-mb ofa-mb ofa_mb_accuracy r,d,ks,e accuracy=top1_mean,%,max
table ofa-mb-latency ofa-mb ofa_mb_latency r,d,ks,e $(devices ofa_mb_latency 'index|ks|e|d|r')
table fbnet fbnet fbnet_latency op_idx $(devices fbnet_latency 'index|op_idx|arch')

for net in micro macro; do
    for task in class_scene class_object jigsaw; do
        table "tnb101-$net-$task" "tnb101-$net" "tnb101_$net" arch "accuracy=$task,%,max"
    done
    table "tnb101-$net-segmentsemantic" "tnb101-$net" "tnb101_$net" arch miou=segmentsemantic,%,max
    for task in normal autoencoder; do
        table "tnb101-$net-$task" "tnb101-$net" "tnb101_$net" arch "ssim=$task,,max"
    done
    table "tnb101-$net-room_layout" "tnb101-$net" "tnb101_$net" arch neg_loss=room_layout,,max
done

# learn "TABLE[@TASK]:TIMES[+N] ..." OPTION...: rows of a table are visited so often, and once N
# neighbours of them with labels that the rows imply
learn() {
    tables=
    for t in $1; do
        file=${t%:*}
        task=${file#"${file%%@*}"}
        tables="$tables --table $work/${file%%@*}.h5$task*${t##*:}"
    done
    shift
    "$naslm" train $tables --epochs 1 --numbers 6 --hold-out 0.05 --batch 64 --average 0.999 \
        --memory 12G --seed 0 --checkpoint 60 --resume --progress plain --force --format csv "$@"
}
# tnb101 SCENE OTHER: the seven tasks of both nets
tnb101() {
    for net in micro macro; do
        echo "tnb101-$net-class_scene@class_scene:$1"
        for task in class_object jigsaw segmentsemantic normal autoencoder room_layout; do
            echo "tnb101-$net-$task@$task:$2"
        done
    done
}
# pass NAME FROM TABLES OPTION...: what NAME.safetensors learns after FROM, unless it is there
pass() {
    name=$1 from=$2 tables=$3
    shift 3
    [ -e "$work/$name.safetensors" ] || learn "$tables" ${from:+--from "$work/$from.safetensors"} \
        -o "$work/$name.safetensors" "$@" > "$work/$name.csv"
}

# Small tables more often than large ones; then what the passes before left most to learn. From the
# fourth pass on an example has one to six labels, so that many are read off the text alone.
rows=${TABLE_ROWS:-400000}
least() { [ "$1" -lt "$rows" ] && echo "$1" || echo "$rows"; }
pass first "" "nb201-cifar10:12 nb201-cifar100@cifar100:12
    nb201-in16@in16:12 nb201-latency:14 nb101:6 nbmacro:20 mnasnet:36 ofa-mb:40 ofa-mb-latency:20
    fbnet@cifar100:20 $(tnb101 20 5)" --table-rows "$(least 60000)" --rate 0.0015 --jitter 0.05 \
    --d 128 --layers 3 --number 'SCI(3,4)'
pass second first "nb201-cifar10:6 nb201-cifar100@cifar100:6
    nb201-in16@in16:6 nb201-latency:10 nb101:1 nbmacro:4 mnasnet:6 ofa-mb:10 ofa-mb-latency:10
    fbnet@cifar100:60 $(tnb101 15 3)" --table-rows "$(least 200000)" --rate 0.001 --jitter 0.05
pass third second "nb201-cifar10:2 nb201-cifar100@cifar100:4 nb201-in16@in16:4 nb201-latency:4 nb101:1
    nbmacro:1 mnasnet:1 ofa-mb:3 ofa-mb-latency:6 fbnet@cifar100:40 $(tnb101 10 1)" \
    --table-rows "$(least 30000)" --rate 0.001 --jitter 0.05
pass fourth third "nb201-cifar10:8 nb201-cifar100@cifar100:14 nb201-in16@in16:10 nb201-latency:60
    nb101:2 nbmacro:8 mnasnet:12 ofa-mb:15 ofa-mb-latency:40 fbnet@cifar100:150 $(tnb101 12 3)" \
    --table-rows "$rows" --rate 0.001 --jitter 0.05 --fewest 1
pass fifth fourth "nb201-cifar10:6 nb201-cifar100@cifar100:14 nb201-in16@in16:6 nb201-latency:70 nb101:1
    nbmacro:4 mnasnet:10 ofa-mb:10 ofa-mb-latency:50 fbnet@cifar100:300 $(tnb101 10 2)" \
    --table-rows "$rows" --rate 0.001 --jitter 0.02 --fewest 1
pass sixth fifth "nb201-cifar10:4 nb201-cifar100@cifar100:8 nb201-in16@in16:4 nb201-latency:40 nb101:1
    nbmacro:3 mnasnet:8 ofa-mb:8 ofa-mb-latency:40 fbnet@cifar100:5+$(least 200000) $(tnb101 5 2)" \
    --table-rows "$rows" --rate 0.0008 --jitter 0.02 --fewest 1
# The rows that watch are among those that the passes before learned, latencies 40 times and more: only
# spreads of accuracies can be corrected by them.
pass seventh sixth "nb201-cifar10:4 nb201-cifar100@cifar100:8 nb201-in16@in16:4 nb201-latency:40 nb101:1
    nbmacro:3 mnasnet:8 ofa-mb:8 ofa-mb-latency:40 fbnet@cifar100:5+$(least 300000)
    $(tnb101 "6+$(least 3000)" 2)" --table-rows "$rows" --rate 0.0007 --jitter 0.02 --fewest 1 \
    --validate 0.04 --patience 0 --correct accuracy
cp "$work/seventh.safetensors" "$here/naslm.safetensors"
cat "$work/seventh.csv"

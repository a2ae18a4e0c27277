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

# learn TIMES OPTION...: every table, its rows as often as the number says, small tables more often
learn() {
    times=$1 tables=
    shift
    for t in nb201-cifar10:6 nb201-cifar100@cifar100:6 nb201-in16@in16:6 nb201-latency:7 nb101:3 \
        nbmacro:10 mnasnet:18 ofa-mb:20 ofa-mb-latency:10 fbnet@cifar100:10; do
        n=${t##*:} file=${t%:*}
        task=${file#"${file%%@*}"}
        tables="$tables --table $work/${file%%@*}.h5$task*$((n * times))"
    done
    for net in micro macro; do
        for t in class_scene:10 class_object:3 jigsaw:3 segmentsemantic:3 normal:3 autoencoder:3 \
            room_layout:3; do
            tables="$tables --table $work/tnb101-$net-${t%:*}.h5@${t%:*}*$((${t#*:} * times))"
        done
    done
    "$naslm" train $tables --epochs 1 --numbers 6 --hold-out 0.05 \
        --table-rows "${TABLE_ROWS:-60000}" --batch 64 --jitter 0.05 --average 0.999 --memory 8G \
        --seed 0 --checkpoint 60 --resume --progress plain --force "$@"
}

# Once to learn, and once more at a lower rate.
[ -e "$work/first.safetensors" ] || learn 2 --d 128 --layers 3 --number 'SCI(3,4)' --rate 0.0015 \
    --format csv -o "$work/first.safetensors" > "$work/first.csv"
learn 1 --from "$work/first.safetensors" --rate 0.0006 --format csv \
    -o "$here/naslm.safetensors" | tee "$work/held-out.csv"

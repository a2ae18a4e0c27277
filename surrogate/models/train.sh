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

# A table's rows are visited as often as its number says: small tables more often than large ones.
tables="--table $work/nb201-cifar10.h5*12 --table $work/nb201-cifar100.h5@cifar100*12
    --table $work/nb201-in16.h5@in16*12 --table $work/nb201-latency.h5*14
    --table $work/nb101.h5*6 --table $work/nbmacro.h5*20 --table $work/mnasnet.h5*36
    --table $work/ofa-mb.h5*40 --table $work/ofa-mb-latency.h5*20 --table $work/fbnet.h5@cifar100*20"
for net in micro macro; do
    for task in class_scene:accuracy:20 class_object:accuracy:5 jigsaw:accuracy:5 \
        segmentsemantic:miou:5 normal:ssim:5 autoencoder:ssim:5 room_layout:neg_loss:5; do
        of=${task%%:*} rest=${task#*:}
        metric=${rest%:*} unit=
        case $metric in accuracy | miou) unit=% ;; esac
        table "tnb101-$net-$of" "tnb101-$net" "tnb101_$net" arch "$metric=$of,$unit,max"
        tables="$tables --table $work/tnb101-$net-$of.h5@$of*${rest#*:}"
    done
done

"$naslm" train $tables --epochs 1 --numbers 6 --d 128 --layers 3 --number 'SCI(3,4)' \
    --hold-out 0.05 --table-rows "${TABLE_ROWS:-60000}" --batch 64 --rate 0.0015 --jitter 0.05 \
    --average 0.999 --memory 8G --seed 0 --checkpoint 60 --resume --progress plain --force \
    -o "$here/naslm.safetensors" --format csv | tee "$work/held-out.csv"

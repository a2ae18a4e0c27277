#!/bin/sh
# Trains surrogate/models/naslm.safetensors on every benchmark table less the 5 % hold-out:
#     make train-shipped          (NASLM_DATA: the tables' folder; stop it and run it again to go on)
# First the model learns to read: counts of random architectures of all spaces with a table. Then it
# learns the tables. WORK keeps imported tables and checkpoints; EPOCHS=1 RANDOM_ARCHS=50 TABLE_ROWS=50 try the recipe.
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
for net in micro macro; do
    for task in class_scene class_object jigsaw; do
        table "tnb101-$net-$task" "tnb101-$net" "tnb101_$net" arch "accuracy=$task,%,max"
    done
done
table mnasnet mnasnet mnasnet e,k,l,se accuracy=val_top1,%,max \
    latency:zcu102=latency_zcu102,ms,min latency:vck190=latency_vck190,ms,min \
    throughput:a100=throughput_a100,images/s,max throughput:3090=throughput_3090,images/s,max
table ofa-mb ofa-mb ofa_mb_accuracy r,d,ks,e accuracy=top1_mean,%,max
table ofa-mb-latency ofa-mb ofa_mb_latency r,d,ks,e $(devices ofa_mb_latency 'index|ks|e|d|r')
table fbnet fbnet fbnet_latency op_idx $(devices fbnet_latency 'index|op_idx|arch')

tables="--table $work/nb201-cifar10.h5 --table $work/nb201-cifar100.h5@cifar100
    --table $work/nb201-in16.h5@in16 --table $work/nb201-latency.h5 --table $work/nb101.h5
    --table $work/nbmacro.h5 --table $work/mnasnet.h5 --table $work/ofa-mb.h5
    --table $work/ofa-mb-latency.h5 --table $work/fbnet.h5@cifar100"
for net in micro macro; do
    for task in class_scene class_object jigsaw; do
        tables="$tables --table $work/tnb101-$net-$task.h5@$task"
    done
done
spaces=
for s in nb201 nb101 nbmacro tnb101-micro tnb101-macro mnasnet ofa-mb fbnet; do
    spaces="$spaces -s $s"
done

[ -e "$work/reading.safetensors" ] || "$naslm" train $spaces --random "${RANDOM_ARCHS:-10000}" \
    --epochs "${EPOCHS:-10}" --numbers 3 --d 128 --batch 64 --rate 0.002 --jitter 0.05 --seed 0 \
    --checkpoint 60 --resume --progress plain -o "$work/reading.safetensors"
"$naslm" train --from "$work/reading.safetensors" $tables --epochs "${EPOCHS:-10}" --numbers 4 \
    --hold-out 0.05 --table-rows "${TABLE_ROWS:-60000}" --batch 64 --rate 0.001 --jitter 0.05 \
    --seed 0 --checkpoint 60 --resume --progress plain --force -o "$here/naslm.safetensors" \
    --format csv | tee "$work/held-out.csv"

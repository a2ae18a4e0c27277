#!/bin/sh
# Runs every libFuzzer target tests/fuzz_NAME.c for some time: `sh tests/fuzz.sh SECONDS [NAME…]`.
# Needs clang and the generated ONNX messages (make builds them). Seeds are exports and strings of every
# space, and small files; corpora, crashes and the programs stay in build/fuzz.
seconds=${1:?usage: fuzz.sh SECONDS [NAME...]}
shift
names="$*"
out=build/fuzz bad=0
mkdir -p $out
objects=
flags="-g -O1 -std=c11 -D_GNU_SOURCE -DNAS_VERSION=\"fuzz\" -I. -Ibuild/gen -Wno-unknown-pragmas"
sanitize="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined"
for source in spaces/*.c spaces/base/*.c onnx/*.c hw/cost.c surrogate/vocab*.c \
    surrogate/safetensors*.c build/gen/onnx.pb-c.c; do
    [ -e "$source" ] || continue
    object=$out/$(echo "$source" | tr / _).o
    objects="$objects $object"
    [ "$object" -nt "$source" ] && [ -z "$(find spaces onnx hw surrogate -name '*.h' -newer "$object")" ] ||
        clang $flags $sanitize -c -o "$object" "$source" || exit 1
done
many=build/release/examples/export_many

# seed NAME: files in the corpus of a target
seed() {
    corpus=$out/corpus_$1 i=0
    mkdir -p "$corpus"
    case $1 in
    safetensors)
        header='{"__metadata__":{"k":"v"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},'
        header=$header'"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}'
        printf 'h%s\0%s' "$header" 0123456789ab >"$corpus/two" ;;
    vocab)
        printf '%s\0%s' '{"format":"naslm-vocab","version":1,"merges":[98,99,257,100]}' abcabc \
            >"$corpus/two" ;;
    esac
    for space in $($many); do
        case $1 in
        onnx_binary) $many "$space" 1 1 onnx none "$corpus/$space-onnx-" || return 1 ;;
        onnx_text)
            for form in text compact; do
                $many "$space" 1 1 $form none "$corpus/$space-$form-" || return 1
            done ;;
        arch)
            { printf "\\$(printf %o $i)"; build/release/naslm sample -s "$space" --seed 1 | tr -d '\n'; } \
                >"$corpus/$space" || return 1 ;;
        esac
        i=$((i + 1))
    done
}

for source in tests/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    case " $names " in "  " | *" $name "*) ;; *) continue ;; esac
    clang $flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
        -o $out/"$name" "$source" $objects -lprotobuf-c -ljansson -lmd -lm || exit 1
    seed "$name" || exit 1
    echo "== $name"
    $out/"$name" -max_total_time="$seconds" -rss_limit_mb=3000 -timeout=120 -verbosity=0 \
        -artifact_prefix=$out/"$name"- $out/corpus_"$name" || bad=1
done
[ $bad = 0 ] && echo "no findings"
exit $bad

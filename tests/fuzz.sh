#!/bin/sh
# Runs every libFuzzer target tests/fuzz_NAME.c for some time: `sh tests/fuzz.sh SECONDS [NAME…]`.
# Needs clang and the generated ONNX messages (make builds them). Seeds come from examples/export_many;
# corpora, crashes and the programs stay in build/fuzz.
seconds=${1:?usage: fuzz.sh SECONDS [NAME...]}
shift
names="$*"
out=build/fuzz bad=0
mkdir -p $out
objects=
flags="-g -O1 -std=c11 -D_GNU_SOURCE -DNAS_VERSION=\"fuzz\" -I. -Ibuild/gen -Wno-unknown-pragmas"
sanitize="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined"
for source in spaces/*.c spaces/base/*.c onnx/*.c surrogate/vocab*.c build/gen/onnx.pb-c.c; do
    [ -e "$source" ] || continue
    object=$out/$(echo "$source" | tr / _).o
    objects="$objects $object"
    [ "$object" -nt "$source" ] || clang $flags $sanitize -c -o "$object" "$source" || exit 1
done
for source in tests/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    case " $names " in "  " | *" $name "*) ;; *) continue ;; esac
    clang $flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
        -o $out/"$name" "$source" $objects -lprotobuf-c -ljansson -lmd -lm || exit 1
    mkdir -p $out/corpus_"$name"
    for space in $(build/release/examples/export_many); do
        case $name in
        onnx_binary) set -- onnx ;;
        onnx_text) set -- text compact ;;
        *) break ;;
        esac
        for form; do
            build/release/examples/export_many "$space" 1 1 "$form" none \
                $out/corpus_"$name"/"$space-$form-" || exit 1
        done
    done
    echo "== $name"
    $out/"$name" -max_total_time="$seconds" -rss_limit_mb=3000 -timeout=20 -verbosity=0 \
        -artifact_prefix=$out/"$name"- $out/corpus_"$name" || bad=1
done
[ $bad = 0 ] && echo "no findings"
exit $bad

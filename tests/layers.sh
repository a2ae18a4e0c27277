#!/bin/sh
# Checks that a room includes only itself and rooms before it: sh tests/layers.sh ROOM…  (in order)
bad=0 allowed=
for room in "$@"; do
    allowed="$allowed $room"
    for file in $(find "$room" -name '*.[ch]'); do
        for include in $(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file"); do
            target=${include%%/*}
            [ "$include" = onnx.pb-c.h ] && target=onnx
            ok=0
            for a in $allowed; do [ "$a" = "$target" ] && ok=1; done
            if [ $ok = 0 ]; then
                echo "$file includes $include: $room may include only:$allowed" >&2
                bad=1
            fi
        done
    done
done
grep -nE '(^|[^a-z_])(rand|srand|random|drand48)\(' -r "$@" --include='*.[ch]' && bad=1
grep -lE '#include <hdf5' -r "$@" --include='*.[ch]' | grep -v '^results/' && bad=1
[ $bad = 0 ] && echo "layers: ok"
exit $bad

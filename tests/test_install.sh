#!/bin/sh
# What is installed: every file, a consumer that knows pkg-config only, exported names, headers that
# compile alone, the manual page.
build=$(dirname "${NASLM:-build/release/naslm}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0
check() { # NAME COMMAND…
    n=$((n + 1))
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        cat "$work/log" >&2
    fi
}

prefix=$work/usr
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
flavour=$(basename "$build")
flags=
[ "$flavour" = asan ] && flags="-fsanitize=address,undefined"
check "make install" make -s install FLAVOUR="$flavour" PREFIX="$prefix"
check "the installed program runs" "$prefix/bin/naslm" spaces

cat >"$work/user.c" <<'C'
#include <spaces/space.h>
#include <stdio.h>

int main(void)
{
    const nas_space *space = nas_space_find("nb201");
    nas_rng rng = nas_rng_seed(1);
    nas_arch arch;
    nas_bytes text = {0};
    nas_space_sample(space, &rng, &arch);
    nas_space_print(space, &arch, &text);
    puts(text.data);
    nas_bytes_clear(&text);
    return 0;
}
C
consumer() { # shared or static
    if [ "$1" = static ]; then
        ${CC:-cc} $flags $(pkg-config --cflags naslm) "$work/user.c" -o "$work/user" \
            "$prefix/lib/libnaslm.a" $(pkg-config --static --libs naslm)
    else
        ${CC:-cc} $flags $(pkg-config --cflags naslm) "$work/user.c" -o "$work/user" \
            $(pkg-config --libs naslm)
    fi && LD_LIBRARY_PATH=$prefix/lib "$work/user" | "$prefix/bin/naslm" canon -s nb201 -
}
check "a consumer of the shared library" consumer shared
check "a consumer of the static library" consumer static

only_nas() {
    nm -D --defined-only "$build/libnaslm.so" | awk '{print $NF}' | grep -v '^nas_' | grep -v '^__\(asan\|odr\|ubsan\)' >"$work/names"
    cat "$work/names"
    [ ! -s "$work/names" ]
}
check "the shared library exports nas_ names only" only_nas

alone() {
    for header in $(find spaces onnx results hw surrogate search -name '*.h'); do
        echo "#include \"$header\"" >"$work/one.c"
        ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Werror -I. -Ibuild/gen $(pkg-config --cflags hdf5 libprotobuf-c) \
            -fsyntax-only "$work/one.c" || return 1
    done
}
check "every header compiles alone" alone
check "the manual page is clean" mandoc -Tlint -Wwarning search/naslm.1
check "make uninstall" make -s uninstall PREFIX="$prefix"
leftover() {
    find "$prefix" -type f -o -type l | grep . && return 1
    return 0
}
check "nothing is left behind" leftover

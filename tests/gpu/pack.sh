#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pack.sh FILE.tar.gz - collects what the collective library needs of a Debian 12 machine to be built and run
# on one that has neither these packages nor a network: headers and shared libraries of UCX, PMIx, libmd
# and fmt, what these libraries need themselves (except glibc: any later one will do), and NCCL's header.
set -euo pipefail
file=${1:?"usage: pack.sh FILE.tar.gz"}
libraries=/usr/lib/$(uname -m)-linux-gnu
linked=(ucp uct ucs ucm pmix md)

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{include,lib/ucx}

cp -r /usr/include/{ucp,uct,ucs,ucm,fmt} /usr/include/{sha2,sha256}.h "$tree/include"
cp "$libraries"/pmix2/include/*.h "$tree/include"
for header in /usr/{local/cuda/,}include/nccl.h; do
    if [ -e "$header" ]; then
        cp "$header" "$tree/include"
        break
    fi
done

# The name that the loader looks for.
take() {
    local name
    name=$(objdump -p "$1" | awk '$1 == "SONAME" { print $2 }')
    cp -L "$1" "$2/$name"
}
for library in "${linked[@]}"; do
    take "$libraries/lib$library.so" "$tree/lib"
done
# UCX's other modules are for networks, whose own libraries a machine without these packages has not either.
take "$libraries/ucx/libuct_cma.so" "$tree/lib/ucx"
for library in "${linked[@]}"; do
    ldd "$libraries/lib$library.so"
done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | while read -r needed; do
    case ${needed##*/} in
        libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.*) ;; # glibc
        *) take "$needed" "$tree/lib" ;;
    esac
done
for library in "${linked[@]}"; do
    ln -s "$(cd "$tree/lib" && echo "lib$library".so.*)" "$tree/lib/lib$library.so"
done

mkdir -p "$(dirname "$file")"
tar -C "$tree" --owner=0 --group=0 -czf "$file" include lib
du -h "$file"

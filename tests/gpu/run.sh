#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--bench [--json FILE] | --suite CHECKOUT] [--build] - builds the collective library and its GPU tests, and runs them.
# run.sh --pack FILE.tar.gz - collects, on Debian 12, what another machine needs for that.
#
#   --bench  measures instead, and prints figures beside their bounds; --json FILE: writes them too
#   --suite  runs test_torch.py of a checkout of Horovod instead, on two ranks (needs pytest, mock, cloudpickle)
#   --build  builds even where there is no GPU
#
# Needs a GPU of NVIDIA's, a CUDA toolkit and CMake; NCCL if it is found (a Python package of it will do). No network.
# Where UCX, PMIx, libmd and fmt are not installed, they come from the archive that --pack has made:
# BATCHAI_GPU_DEPS=FILE.tar.gz, or build/gpu-deps.tar.gz. Builds in build/gpu; under ctest, takes what is built. If
# python3 has PyTorch that sees a GPU, horovod.torch is tested too, with one rank and with several on the GPUs that
# there are. Ends with "N passed, M skipped, K failed". Exit: 0; 1 if a test failed or nothing could be built; without a
# GPU it says "skipped: no GPU (why)" and exits 0, or 77 under ctest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=${here%/*/*}
build=$root/build/gpu

usage() {
    echo "run.sh: $1, see --help" >&2
    exit 2
}

what=tests always=no json=()
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help)
            sed -n '3,15s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        --pack) exec "$here/pack.sh" "${2:?"run.sh: --pack needs a file"}" ;;
        --bench) what=bench ;;
        --suite)
            what=suite checkout=${2:?"run.sh: --suite needs a checkout of Horovod"}
            shift
            ;;
        --json)
            json=(--json "${2:?"run.sh: --json needs a file"}")
            shift
            ;;
        --build) always=yes ;;
        *) usage "$1: unknown option" ;;
    esac
    shift
done
[ ${#json[@]} = 0 ] || [ $what = bench ] || usage "--json goes with --bench"

skip() {
    echo "skipped: $1"
    exit $((${BATCHAI_BUILD:+77} + 0))
}

# Nothing but an empty line where there may be one: CUDA has the last word.
why_no_gpu() {
    compgen -G '/dev/nvidia[0-9]*' >/dev/null || compgen -G /dev/dxg >/dev/null || nvidia-smi -L 2>/dev/null | grep -q . ||
        echo "there is no /dev/nvidia0"
}

# of_python PATTERN - where the include/ and lib/ are of a library that is a Python package.
of_python() {
    python3 - "$1" 2>/dev/null <<'PYTHON' || true
import glob, os, sys
found = [file for path in sys.path for file in glob.glob(path + "/" + sys.argv[1])]
print(os.path.dirname(os.path.dirname(found[0])) if found else "")
PYTHON
}

# Makes the programs, in $build; $deps and $nccl may be empty.
build_alone() {
    local archive=${BATCHAI_GPU_DEPS:-$root/build/gpu-deps.tar.gz} generator=() gpus=()
    if [ -e "$archive" ]; then
        deps=$build/deps
        rm -rf "$deps"
        mkdir "$deps"
        tar -C "$deps" -xzf "$archive"
    elif [ -n "${BATCHAI_GPU_DEPS-}" ]; then
        echo "run.sh: there is no $archive" >&2
        exit 1
    fi
    command -v ninja >/dev/null && generator=(-G Ninja)
    # For the GPUs that are here, if it can be found out: other machine code takes its time.
    mapfile -t gpus < <(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | grep -xE '[0-9]+' | sort -u)
    [ ${#gpus[@]} -gt 0 ] && gpus=("-DCMAKE_CUDA_ARCHITECTURES=$(
        IFS=";"
        echo "${gpus[*]}"
    )")
    cmake -S "$here/alone" -B "$build" "${generator[@]}" "${gpus[@]}" -DCMAKE_PREFIX_PATH="$nccl" \
        -DBATCHAI_GPU_DEPS="$deps" >"$build/configure.log" || {
        tail -n 30 "$build/configure.log"
        exit 1
    }
    grep 'GPU support' "$build/configure.log"
    cmake --build "$build" --target gpu_tests gpu_bench gpu_ranks batchai_collectives --parallel "${BATCHAI_JOBS:-$(nproc)}" >"$build/build.log" 2>&1 || {
        tail -n 60 "$build/build.log"
        exit 1
    }
}

# A short run under a tool that sees every access to memory: one more test. Its log has what the tool says of
# each rank; of the program that starts them there is nothing to say.
check_memory() {
    local tool log=$build/compute-sanitizer.log rc=0
    tool=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer) || {
        echo "compute-sanitizer: skipped: it is not installed"
        return 77
    }
    timeout 600 "$tool" --tool memcheck --target-processes all --require-cuda-init no --report-api-errors no \
        "$programs/gpu_tests" --brief >"$log" 2>&1 || rc=$?
    if grep -qi "device not supported" "$log"; then
        echo "compute-sanitizer: skipped: it does not support this device"
        return 77
    fi
    if [ $rc != 0 ] || grep -Eq 'ERROR SUMMARY: [1-9]|^=+ *(Invalid|Misaligned|Program hit|Error)' "$log"; then
        echo "compute-sanitizer: FAILED (exit $rc), $log ends with"
        tail -n 60 "$log"
        return 1
    fi
    grep -q 'ERROR SUMMARY: 0 errors' "$log" || {
        echo "compute-sanitizer: skipped: it has said nothing about any rank"
        return 77
    }
    echo "compute-sanitizer: ok ($(grep ' passed, ' "$log"))"
}

# CUDA tensors through Python: one more test.
check_horovod() {
    local log=$build/horovod.log rc=0
    python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null || {
        echo "horovod: skipped: there is no python3 with PyTorch that sees a GPU"
        return 77
    }
    timeout 620 python3 "$here/horovod.py" "$libraries/libbatchai_collectives.so" "$programs/libgpu_ranks.so" \
        >"$log" 2>&1 || rc=$?
    if [ $rc != 0 ]; then
        echo "horovod: FAILED (exit $rc), $log begins with"
        head -n 100 "$log"
        return 1
    fi
    cat "$log"
    echo "horovod: ok"
}

# count COMMAND - runs it as one more test, and counts its exit code: 0, or 77 if it was skipped.
count() {
    local rc=0
    "$@" || rc=$?
    case $rc in
        0) passed=$((passed + 1)) ;;
        77) skipped=$((skipped + 1)) ;;
        *) failed=$((failed + 1)) ;;
    esac
}

why=$(why_no_gpu)
[ -z "$why" ] || [ $always = yes ] || skip "no GPU ($why)"
mkdir -p "$build"
deps='' nccl=$(of_python 'nvidia/*/lib/libnccl.so.2')
if [ -n "${BATCHAI_BUILD-}" ]; then
    programs=$BATCHAI_BUILD/tests/gpu libraries=$BATCHAI_BUILD/lib
    [ -x "$programs/gpu_tests" ] || skip "batchai is built without GPU support in $BATCHAI_BUILD"
else
    PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null || skip "there is no CUDA compiler"
    build_alone
    programs=$build/tests/gpu libraries=$build/lib
fi
# What the loader does not find by itself.
LD_LIBRARY_PATH=${deps:+$deps/lib:}${nccl:+$nccl/lib:}${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH%:}
nvidia-smi -L 2>/dev/null || true

if [ $what = bench ]; then
    timeout 900 "$programs/gpu_bench" "${json[@]}" && exit
    rc=$?
    [ $rc != 77 ] || [ -n "${BATCHAI_BUILD-}" ] || rc=0
    exit $rc
fi

if [ $what = suite ]; then
    exec timeout 620 python3 "$here/horovod.py" "$libraries/libbatchai_collectives.so" "$programs/libgpu_ranks.so" "$checkout"
fi

rc=0
timeout 900 "$programs/gpu_tests" | tee "$build/tests.log" || rc=${PIPESTATUS[0]}
if [ "$rc" = 77 ]; then
    exit $((${BATCHAI_BUILD:+77} + 0))
fi
read -r passed skipped failed < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) skipped, \([0-9]*\) failed$/\1 \2 \3/p' "$build/tests.log") || {
    echo "gpu_tests did not end (exit $rc)"
    passed=0 skipped=0 failed=1
}
count check_horovod
count check_memory
echo "$passed passed, $skipped skipped, $failed failed"
[ "$failed" = 0 ]

#!/usr/bin/env bash
# Fuzz the engine under AddressSanitizer and UBSan.
#
#   scripts/fuzz.sh TARGET MINUTES   run fuzz_compile, fuzz_vocab or fuzz_matcher; an input that fails is kept in build/fuzz
#   scripts/fuzz.sh TARGET merge     add to engine_native/fuzz/corpus the 50 inputs of all runs that cover most together
#
# Needs clang with libFuzzer (Debian: clang-19 and libclang-rt-19-dev; CLANG names another). Without one, MINUTES of
# mutations that nothing guides.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:?which target?}
work=${2:?how many minutes, or merge?}
seeds="engine_native/fuzz/corpus/$target"
flags=(-DCMAKE_BUILD_TYPE=None -DSTE_SANITIZE=address,undefined -DSTE_EAGER=ON)
clang=${CLANG:-$(command -v clang-19 clang-18 clang-17 clang-16 clang-14 clang | head -1 || true)}

if [ -z "$clang" ]; then
    cmake -S . -B build/fuzz-corpus -DSTE_TESTS=ON "${flags[@]}" >/dev/null
    cmake --build build/fuzz-corpus --target "$target" -- --no-print-directory >/dev/null
    cd build/fuzz-corpus
    exec env ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=abort_on_error=1 \
        "./$target" -s $((work * 60)) -r "$RANDOM" 100 "../../$seeds"/*
fi

cmake -S . -B build/fuzz -DSTE_FUZZ=ON -DCMAKE_C_COMPILER="$clang" "${flags[@]}" >/dev/null
cmake --build build/fuzz --target "$target" -- --no-print-directory >/dev/null
cd build/fuzz
mkdir -p "inputs/$target"
length=$([ "$target" = fuzz_matcher ] && echo 400 || echo 2000)
if [ "$work" = merge ]; then
    rm -rf merged
    mkdir merged
    "./$target" -set_cover_merge=1 -max_len="$length" merged "inputs/$target" 2>&1 | tail -1
    ls -tr merged | head -50 | while read -r name; do cp "merged/$name" "../../$seeds/${name:0:12}"; done # written greediest first
else
    "./$target" -max_total_time=$((work * 60)) -max_len="$length" -len_control=20 -timeout=30 -rss_limit_mb=4096 \
        -print_final_stats=1 "inputs/$target" "../../$seeds"
fi

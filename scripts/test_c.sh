#!/usr/bin/env bash
# Build and run the C tests: plain, under AddressSanitizer and UBSan, and the threaded ones under ThreadSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
for flavour in plain address,undefined thread; do
    sanitize=$([ "$flavour" = plain ] || echo "$flavour")
    build="build/c-${flavour//,/-}"
    cmake -S . -B "$build" -DSTE_TESTS=ON -DSTE_SANITIZE="$sanitize" >/dev/null
    if ! cmake --build "$build" -j"$(nproc)" -- --no-print-directory >"$build/log" 2>&1; then
        cat "$build/log"
        exit 1
    fi
    grep -E 'warning' "$build/log" || true
    echo "C tests, $flavour"
    only=$([ "$flavour" = thread ] && echo "test_threads" || echo ".")
    ctest --test-dir "$build" --output-on-failure --no-tests=error -R "$only"
done

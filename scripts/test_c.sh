#!/usr/bin/env bash
# Build and run the C tests: with every shortcut taken (tuning.h), as they are taken under AddressSanitizer and UBSan, and the
# threaded ones under ThreadSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
for flavour in eager address,undefined thread; do
    eager=$([ "$flavour" = eager ] && echo ON || echo OFF)
    sanitize=$([ "$flavour" = eager ] || echo "$flavour")
    build="build/c-${flavour//,/-}"
    cmake -S . -B "$build" -DSTE_TESTS=ON -DSTE_SANITIZE="$sanitize" -DSTE_EAGER="$eager" >/dev/null
    if ! cmake --build "$build" -j"$(nproc)" -- --no-print-directory >"$build/log" 2>&1; then
        cat "$build/log"
        exit 1
    fi
    grep -E 'warning' "$build/log" || true
    echo "C tests, $flavour"
    only=$([ "$flavour" = thread ] && echo "test_threads" || echo ".")
    ctest --test-dir "$build" -j"$(nproc)" --output-on-failure --no-tests=error -R "$only"
done

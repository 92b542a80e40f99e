#!/usr/bin/env bash
# The program named is built as a server should be: position independent, nothing writable and executable, its tables of
# functions read only before main, canaries on the stack, and calls that write checked for their bounds.
set -euo pipefail
program=$1
fail() { echo "$program $1" >&2; exit 1; }

headers=$(readelf --wide --file-header --program-headers "$program")
dynamic=$(readelf --wide --dynamic "$program")
imported=$(readelf --wide --dyn-syms "$program")

grep -Eq '^ +Type: +DYN' <<<"$headers" || fail "is not position independent"
grep -Eq 'FLAGS_1.* PIE' <<<"$dynamic" || fail "is not a position-independent executable"
grep -Eq '^ +GNU_STACK .* RW +0x' <<<"$headers" || fail "has an executable stack"
grep -Eq '^ +LOAD .* RWE ' <<<"$headers" && fail "has a segment that can be written and executed"
grep -q GNU_RELRO <<<"$headers" || fail "leaves relocated data writable"
grep -Eq 'FLAGS.*(BIND_)?NOW' <<<"$dynamic" || fail "binds functions while it runs"
grep -q ' __stack_chk_fail' <<<"$imported" || fail "has no stack canaries"
grep -q ' __memcpy_chk' <<<"$imported" || fail "does not check the bounds of what it copies"
echo "hardened: PIE, full RELRO, no executable stack, stack canaries, fortified calls"

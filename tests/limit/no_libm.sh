#!/usr/bin/env bash
# no_libm.sh LIBRARY: it asks for no function of libm. Their results differ between systems, and a
# limit must come out the same on each; and who loads the library need not have libm.
set -euo pipefail
asked=$(nm -u --format=posix "$1" | awk '{print $1}' | sort -u)
! grep -xE '(sqrt|cbrt|hypot|exp|exp2|expm1|log|log2|log10|log1p|pow|fma|fmod|floor|ceil|trunc|l?l?round|l?l?rint|nearbyint|ldexp|frexp|sin|cos|tan|atan2?)[fl]?' <<<"$asked"

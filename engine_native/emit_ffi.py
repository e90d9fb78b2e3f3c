"""Write the C source of the cffi module from the marked region of include/ste.h.

Called by the build: ``python emit_ffi.py include/ste.h OUT.c``. The header is
the only copy of the declarations.
"""

from __future__ import annotations

import pathlib
import re
import sys

from cffi import FFI


def main() -> None:
    """Read the header named first, write the C file named second."""
    header, out = (pathlib.Path(p) for p in sys.argv[1:])
    region = header.read_text().split("/* cffi: begin */")[1].split("/* cffi: end */")[0]
    constants = re.sub(r"^(#define \w+) .*$", r"\1 ...", region, flags=re.MULTILINE)
    ffi = FFI()
    ffi.cdef(constants)
    ffi.set_source("engine_native._ffi", '#include "ste.h"', py_limited_api=True)
    ffi.emit_c_code(str(out))


if __name__ == "__main__":
    main()

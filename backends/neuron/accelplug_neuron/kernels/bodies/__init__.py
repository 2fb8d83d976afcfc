"""What runs on the device: the bodies of the NKI kernels, each a function that ``nki.jit`` compiles.

Importing a module of this package imports ``nki``. The bodies follow AWS's public documentation of NKI 0.6 (SDK 2.32).
They have run under the tests' interpreter only: they have not met the NKI compiler, nor hardware.

A body's tensor arguments are in the device's memory (HBM). It moves tiles of them into on-chip memory (SBUF), of at
most 128 rows, one for each partition, and computes there; matrix products land in PSUM. Sizes are known when a body is
compiled, so loops are unrolled, and the last tile of a loop is simply shorter.
"""

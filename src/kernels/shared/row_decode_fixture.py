#!/usr/bin/env python3
"""Writes row_decode_fixture.bin: random weight blocks and what the `gguf` Python package decodes them to.

Needs `pip install gguf numpy`; the tests only need the file, which is committed. Usage:
  row_decode_fixture.py [BLOCKS [SEED]] > row_decode_fixture.bin
With many blocks (say 20000) the same test compares more:
  TAKT_ROW_DECODE_FIXTURE=FILE kernels_test.

Layout, little-endian, per format: u32 type id, u32 weight count, u32 byte count, the blocks, the weights
as float32 bits.
"""
import struct
import sys

import gguf
import numpy

FORMATS = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]


def main():
    block_count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    generator = numpy.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    for name in FORMATS:
        kind = gguf.GGMLQuantizationType[name]
        block_weights, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        # 64 times as many of the one-weight formats, so that small fixtures meet subnormals and large exponents.
        count = block_count * (64 if block_weights == 1 else 1)
        blocks = generator.integers(0, 256, size=(1, count * block_bytes), dtype=numpy.uint8)
        with numpy.errstate(all="ignore"):
            weights = gguf.dequantize(blocks, kind).astype("<f4", copy=False).reshape(-1)
        assert weights.size == count * block_weights
        sys.stdout.buffer.write(struct.pack("<III", int(kind), weights.size, blocks.size))
        sys.stdout.buffer.write(blocks.tobytes())
        sys.stdout.buffer.write(weights.tobytes())


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes about 100 small GGUF files, each broken in one way, and manifest.tsv, which says what the error must mention.

Usage: make_bad_files.py OUT_FOLDER        (standard library only)

A line of the manifest: file, what to do with it, words the error message must contain (separated by " & "). What to do
is "open", or "read TYPE KEY" for files that open but hold a key of the wrong type: TYPE is one of u32, f32, boolean,
string, strings, integers, floats. src/gguf/bad_files_test.cc runs this script and checks every line.
"""
import os
import struct
import sys

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
CODES = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}
TYPE_F32, TYPE_Q4_0, TYPE_Q8_0, TYPE_Q4_K, TYPE_UNKNOWN = 0, 2, 8, 12, 77
ALIGNMENT = 32


def u32(number):
    return struct.pack("<I", number)


def u64(number):
    return struct.pack("<Q", number)


def text(value):
    raw = value if isinstance(value, bytes) else value.encode()
    return u64(len(raw)) + raw


def scalar(kind, value):
    return text(value) if kind == STRING else struct.pack("<" + CODES[kind], value)


def entry(key, kind, value):
    """One metadata entry; value is raw bytes for an ARRAY (see array())."""
    return text(key) + u32(kind) + (value if kind == ARRAY else scalar(kind, value))


def array(kind, values, count=None):
    return u32(kind) + u64(len(values) if count is None else count) + b"".join(scalar(kind, value) for value in values)


def tensor(name, dims, kind, offset, dim_count=None):
    head = text(name) + u32(len(dims) if dim_count is None else dim_count)
    return head + b"".join(u64(dim) for dim in dims) + u32(kind) + u64(offset)


def gguf(entries=(), tensors=(), data=b"", version=3, entry_count=None, tensor_count=None, alignment=ALIGNMENT):
    head = b"GGUF" + u32(version)
    head += u64(len(tensors) if tensor_count is None else tensor_count)
    head += u64(len(entries) if entry_count is None else entry_count)
    head += b"".join(entries) + b"".join(tensors)
    return head + b"\0" * (-len(head) % alignment) + data if tensors else head


ARCHITECTURE = entry("general.architecture", STRING, "llama")
ROW = tensor("good.weight", [8], TYPE_F32, 0)  # 32 bytes of data


def header_cases():
    good = gguf([ARCHITECTURE])
    yield "empty", b"", ["empty"]
    yield "magic_cut", b"GGU", ["magic"]
    yield "magic_wrong", b"PK\3\4" + good[4:], ["magic"]
    yield "magic_swapped", b"FUGG" + good[4:], ["big-endian"]
    yield "version_swapped", b"GGUF" + struct.pack(">I", 3) + good[8:], ["big-endian"]
    yield "version_0", gguf([ARCHITECTURE], version=0), ["version 0"]
    yield "version_1", gguf([ARCHITECTURE], version=1), ["version 1"]
    yield "version_4", gguf([ARCHITECTURE], version=4), ["version 4"]
    yield "ends_in_version", good[:6], ["version", "byte 4"]
    yield "ends_in_tensor_count", good[:12], ["tensor count", "byte 8"]
    yield "ends_in_metadata_count", good[:20], ["metadata count", "byte 16"]
    yield "tensor_count_huge", gguf([ARCHITECTURE], tensor_count=1 << 63), ["tensor count", "byte 8"]
    yield "metadata_count_huge", gguf([ARCHITECTURE], entry_count=(1 << 64) - 1), ["metadata count", "byte 16"]
    padded = entry("filler", STRING, "x" * 100)
    yield "metadata_count_one_more", gguf([ARCHITECTURE, padded], entry_count=3), ["metadata entry 2"]
    yield "tensor_count_one_more", gguf([ARCHITECTURE], [ROW], b"\0" * 32, tensor_count=2), ["tensor 1"]


def metadata_cases():
    def one(raw, **options):
        return gguf([ARCHITECTURE, raw], **options)

    yield "key_empty", one(entry("", U32, 1)), ["metadata entry 1", "empty"]
    yield "key_length_huge", one(u64(1 << 63) + b"general.name" + u32(U32) + u32(1)), ["metadata entry 1", str(1 << 63)]
    yield "key_longer_than_65535", one(entry("k" * 65536, U32, 1)), ["metadata entry 1", "65535"]
    yield "key_passes_end_by_one", one(u64(20) + b"k" * 19), ["metadata entry 1", "20 bytes", "19 remain"]
    yield ("value_type_13", one(entry("some.key", U32, 1).replace(u32(U32) + u32(1), u32(13) + u32(1))),
           ["'some.key'", "type 13"])
    yield "value_type_cut", one(text("a.key.with.cut.type") + b"\4\0"), ["'a.key.with.cut.type'", "type"]
    yield "value_missing", one(text("some.key") + u32(U64) + b"\0" * 7), ["'some.key'", "file ends"]
    yield ("string_of_1_gib", one(text("some.key") + u32(STRING) + u64(1 << 30) + b"x" * 40),
           ["'some.key'", str(1 << 30)])
    yield "string_length_wraps", one(text("some.key") + u32(STRING) + u64((1 << 64) - 1) + b"x" * 8), ["'some.key'"]
    yield "string_length_cut", one(text("some.key") + u32(STRING) + b"\5\0\0"), ["'some.key'", "length"]
    yield "bool_2", one(entry("some.flag", BOOL, 2)), ["'some.flag'", "bool"]
    yield ("bool_array_255", one(entry("some.flags", ARRAY, array(BOOL, [0, 1, 255]))),
           ["'some.flags'", "bool", "index 2"])
    yield ("array_of_arrays", one(entry("some.key", ARRAY, u32(ARRAY) + u64(1) + array(U32, [1]))),
           ["'some.key'", "array of arrays"])
    yield "array_element_type_13", one(entry("some.key", ARRAY, u32(13) + u64(1) + u32(1))), ["'some.key'", "type 13"]
    yield "array_length_2_to_63", one(entry("k", ARRAY, array(U8, [], 1 << 63))), ["'k'", str(1 << 63)]
    yield "array_length_wraps", one(entry("k", ARRAY, array(U64, [7], (1 << 61) + 1))), ["'k'", str((1 << 61) + 1)]
    yield "array_one_element_short", one(entry("k", ARRAY, array(U32, [1, 2], 3))), ["'k'", "3 array elements"]
    yield "array_length_cut", one(entry("k", ARRAY, u32(U32) + b"\0\0\0\0")), ["'k'", "array length"]
    yield "array_of_strings_huge", one(entry("k", ARRAY, array(STRING, ["a"], 1 << 40))), ["'k'", str(1 << 40)]
    yield "array_string_passes_end", one(entry("k", ARRAY, array(STRING, ["a"], 2) + u64(1 << 62))), ["'k'", "string 1"]
    yield "key_twice", one(entry("general.architecture", STRING, "gemma3")), ["'general.architecture'", "twice"]
    yield "key_with_escape", one(entry("evil\x1b[2J", BOOL, 9)), ["'evil\\x1b[2J'", "bool"]


def alignment_cases():
    for name, kind, value in [("0", U32, 0), ("3", U32, 3), ("4", U32, 4), ("2_to_30", U32, 1 << 30), ("u64", U64, 32),
                              ("string", STRING, "32")]:
        raw = gguf([ARCHITECTURE, entry("general.alignment", kind, value)], [ROW], b"\0" * 32)
        yield "alignment_" + name, raw, ["'general.alignment'"]


def tensor_cases():
    def one(raw, data=b"\0" * 64):
        return gguf([ARCHITECTURE], [raw], data)

    yield "tensor_name_empty", one(tensor("", [8], TYPE_F32, 0)), ["tensor 0", "empty"]
    yield "tensor_name_65", one(tensor("n" * 65, [8], TYPE_F32, 0)), ["tensor 0", "64 bytes"]
    yield "tensor_name_huge", one(u64(1 << 62) + b"n" * 40), ["tensor 0", str(1 << 62)]
    yield ("tensor_twice", gguf([], [ROW, tensor("good.weight", [8], TYPE_F32, 32)], b"\0" * 64),
           ["'good.weight'", "twice"])
    yield "dims_0", one(tensor("w", [], TYPE_F32, 0) + b"\0" * 8), ["'w'", "0 dimensions"]
    yield "dims_5", one(tensor("w", [1, 1, 1, 1, 1], TYPE_F32, 0)), ["'w'", "5 dimensions"]
    yield "dims_4_billion", one(tensor("w", [8], TYPE_F32, 0, (1 << 32) - 1)), ["'w'", "4294967295 dimensions"]
    yield "dim_zero", one(tensor("w", [8, 0, 2], TYPE_F32, 0)), ["'w'", "dimension 1 is zero"]
    yield "dim_2_to_42_and_1", one(tensor("w", [8, (1 << 42) + 1], TYPE_F32, 0)), ["'w'", "blocks"]
    yield "dims_product_wraps_to_0", one(tensor("w", [1 << 32, 1 << 32], TYPE_F32, 0)), ["'w'", "overflows"]
    yield "dims_product_wraps_to_8", one(tensor("w", [8, (1 << 61) + 1], TYPE_F32, 0)), ["'w'", "overflows"]
    yield "dims_product_above_int64", one(tensor("w", [1 << 31, 1 << 32], TYPE_UNKNOWN, 0)), ["'w'", "overflows"]
    yield "dim_above_int64", one(tensor("w", [(1 << 64) - 1], TYPE_F32, 0)), ["'w'", "overflows"]
    yield "row_not_of_blocks", one(tensor("w", [100, 2], TYPE_Q4_K, 0)), ["'w'", "100", "256"]
    yield "offset_misaligned", one(tensor("w", [8], TYPE_F32, 16)), ["'w'", "alignment"]
    yield "offset_past_end", one(tensor("w", [8], TYPE_F32, 64)), ["'w'", "beyond the end"]
    yield "offset_wraps", one(tensor("w", [8], TYPE_F32, (1 << 64) - 32)), ["'w'", "beyond the end"]
    yield "unknown_type_past_end", one(tensor("w", [8], TYPE_UNKNOWN, 4096)), ["'w'", "beyond the end"]
    yield "data_one_byte_short", one(tensor("w", [32, 2], TYPE_Q8_0, 0), b"\0" * 67), ["'w'", "2 blocks of 34", "67"]
    yield "data_missing", gguf([], [ROW], b""), ["'good.weight'", "beyond the end"]
    yield "padding_missing", gguf([ARCHITECTURE], [ROW], alignment=1), ["'good.weight'", "beyond the end"]
    yield ("overlap_same_start", gguf([], [ROW, tensor("w", [8], TYPE_F32, 0)], b"\0" * 64),
           ["'w'", "overlaps", "'good.weight'"])
    yield ("overlap_partly", gguf([], [tensor("a", [24], TYPE_F32, 0), tensor("b", [8], TYPE_F32, 64)], b"\0" * 96),
           ["'b'", "overlaps", "'a'"])
    yield ("overlap_unknown_type",
           gguf([], [tensor("a", [24], TYPE_F32, 0), tensor("b", [8], TYPE_UNKNOWN, 32)], b"\0" * 96),
           ["'b'", "overlaps", "'a'"])
    # Each size alone passes no 63-bit limit, the sum wraps to something small.
    many = [tensor("w%d" % i, [1 << 60], TYPE_Q4_0, 0) for i in range(32)]
    yield "sizes_wrap_on_summing", gguf([], many, b"\0" * 64), ["'w0'", "blocks"]
    whole = tensor("w.cut", [8], TYPE_F32, 0)
    for name, length, word in [("dims", 19, "dimensions"), ("type", 26, "type"), ("offset", 33, "offset")]:
        # Filler metadata keeps the count plausible, so that the cut itself is found.
        yield ("ends_in_tensor_" + name,
               gguf([entry("filler", STRING, "x" * 64)], [whole], alignment=1)[: -len(whole) + length],
               ["'w.cut'", word])


def split_entries(part, count, tensor_count):
    return [entry("split.no", U16, part), entry("split.count", U16, count),
            entry("split.tensors.count", I32, tensor_count)]


def split_cases():
    """File names matter here: they are given whole."""
    other = tensor("other.weight", [8], TYPE_F32, 0)
    first = gguf([ARCHITECTURE] + split_entries(0, 2, 2), [ROW], b"\0" * 32)
    second = gguf(split_entries(1, 2, 0), [other], b"\0" * 32)
    yield "split_wrong_name.gguf", first, ["'split.count'", "-00001-of-00002.gguf"]
    yield "split_not_first-00002-of-00002.gguf", second, ["'split.no'", "first part"]
    yield "split_missing-00001-of-00002.gguf", first, ["split_missing-00002-of-00002.gguf"]
    yield ("split_count_huge-00001-of-65535.gguf", gguf(split_entries(0, 65535, 1), [ROW], b"\0" * 32),
           ["'split.count'", "65535"])
    yield ("split_total-00001-of-00002.gguf", gguf(split_entries(0, 2, 5), [ROW], b"\0" * 32),
           ["'split.tensors.count'", "5", "2 tensors"])
    yield "split_total-00002-of-00002.gguf", second, None
    yield "split_order-00001-of-00002.gguf", first, ["00002-of-00002", "'split.no'", "expected 1"]
    yield "split_order-00002-of-00002.gguf", first, None
    yield "split_other_count-00001-of-00002.gguf", first, ["'split.count'", "expected 2"]
    yield "split_other_count-00002-of-00002.gguf", gguf(split_entries(1, 3, 0), [other], b"\0" * 32), None
    yield "split_twice-00001-of-00002.gguf", first, ["'good.weight'", "two parts"]
    yield "split_twice-00002-of-00002.gguf", gguf(split_entries(1, 2, 0), [ROW], b"\0" * 32), None
    yield "split_bad_part-00001-of-00002.gguf", first, ["00002-of-00002", "magic"]
    yield "split_bad_part-00002-of-00002.gguf", b"not a model", None
    yield "split_count_text.gguf", gguf([entry("split.count", STRING, "2")]), ["'split.count'", "integer"]


def typed_cases():
    """(name, TYPE KEY, entries, words): these files open; the reader of the key must refuse."""
    tokens, scores, types = "tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type"
    yield "scores_of_u8", "floats " + scores, entry(scores, ARRAY, array(U8, [1, 2, 3])), ["array of u8", "f32"]
    yield "scores_of_f64", "floats " + scores, entry(scores, ARRAY, array(F64, [1.5])), ["array of f64", "f32"]
    yield ("token_types_of_f32", "integers " + types, entry(types, ARRAY, array(F32, [1.0])),
           ["array of f32", "integers"])
    yield "token_types_scalar", "integers " + types, entry(types, U32, 1), ["u32", "integers"]
    yield "tokens_of_u32", "strings " + tokens, entry(tokens, ARRAY, array(U32, [1, 2])), ["array of u32", "string"]
    yield "tokens_missing", "strings " + tokens, ARCHITECTURE, ["missing"]
    yield ("ids_above_2_to_63", "integers some.ids", entry("some.ids", ARRAY, array(U64, [1, 1 << 63])),
           ["2^63", "index 1"])
    yield "layers_negative", "u32 llama.block_count", entry("llama.block_count", I32, -1), ["32 bits"]
    yield "layers_2_to_32", "u32 llama.block_count", entry("llama.block_count", U64, 1 << 32), ["32 bits"]
    yield "layers_text", "u32 llama.block_count", entry("llama.block_count", STRING, "30"), ["string", "integer"]
    yield "layers_f32", "u32 llama.block_count", entry("llama.block_count", F32, 30.0), ["f32", "integer"]
    yield "layers_bool", "u32 llama.block_count", entry("llama.block_count", BOOL, 1), ["bool", "integer"]
    yield "base_u32", "f32 llama.rope.freq_base", entry("llama.rope.freq_base", U32, 10000), ["u32", "f32"]
    yield "base_f64_huge", "f32 llama.rope.freq_base", entry("llama.rope.freq_base", F64, 1e300), ["f32"]
    yield "flag_u8", "boolean some.flag", entry("some.flag", U8, 1), ["u8", "bool"]
    yield ("model_array", "string tokenizer.ggml.model", entry("tokenizer.ggml.model", ARRAY, array(STRING, ["gpt2"])),
           ["array", "string"])


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    manifest = []

    def write(name, raw, action, words):
        with open(os.path.join(folder, name), "wb") as out:
            out.write(raw)
        if words is not None:
            manifest.append("\t".join([name, action, " & ".join(words)]))

    for cases in (header_cases, metadata_cases, alignment_cases, tensor_cases):
        for name, raw, words in cases():
            write(name + ".gguf", raw, "open", words)
    for name, raw, words in split_cases():
        write(name, raw, "open", words)
    for name, action, raw, words in typed_cases():
        write(name + ".gguf", gguf([raw]), "read " + action, words + [action.split()[1]])
    with open(os.path.join(folder, "manifest.tsv"), "w") as out:
        out.write("\n".join(manifest) + "\n")


if __name__ == "__main__":
    main()

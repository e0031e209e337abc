"""Prints how fast Hugging Face's tokenizers load, encode and decode on one thread: rust.py TEXTS TOKENIZER; see Workload.ts."""

import hashlib
import json
import os
import resource
import sys
import time

import tokenizers

os.environ["TOKENIZERS_PARALLELISM"] = "false"
LEAST_SECONDS = 1


def resident_megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def best(run):
    value, seconds = run(), float("inf")
    end = time.perf_counter() + LEAST_SECONDS
    while True:
        start = time.perf_counter()
        value = run()
        seconds = min(seconds, time.perf_counter() - start)
        if time.perf_counter() >= end:
            return value, seconds


def sha256(parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
    return digest.hexdigest()


with open(sys.argv[1], encoding="utf-8") as file:
    kinds = json.load(file)
before = resident_megabytes()
start = time.perf_counter()
tokenizer = tokenizers.Tokenizer.from_file(sys.argv[2])
load_seconds = time.perf_counter() - start
loaded_megabytes = resident_megabytes() - before


def passes(texts):
    ids, encode_seconds = best(lambda: [tokenizer.encode(text, add_special_tokens=False).ids for text in texts])
    decoded, decode_seconds = best(lambda: [tokenizer.decode(one, skip_special_tokens=False) for one in ids])
    return {
        "encodeSeconds": encode_seconds,
        "decodeSeconds": decode_seconds,
        "tokens": sum(len(one) for one in ids),
        "ids": sha256(",".join(map(str, one)) + "\n" for one in ids),
        "decoded": sha256(decoded),
    }


measured = {kind: passes(texts) for kind, texts in kinds.items()}
print(
    json.dumps(
        {
            "loadSeconds": load_seconds,
            "loadedMegabytes": loaded_megabytes,
            "peakMegabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
            "kinds": measured,
        }
    )
)

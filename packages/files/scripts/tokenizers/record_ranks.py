"""Trains a small vocabulary in tiktoken's form on the corpus and records tiktoken's ids.

    python record_ranks.py ../../test/fixtures/tokenizers/ranks

Needs tiktoken 0.14.0 and regex.
"""

import base64
import json
import sys
from collections import Counter
from pathlib import Path

import regex
import tiktoken

from record import corpus, digest, well_formed

HAN, UPPER, LOWER = r"[\p{Han}]+", r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERN = "|".join([
    HAN, rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}&&[^\p{{Han}}]]*[{LOWER}&&[^\p{{Han}}]]+{CONTRACTION}",
    rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}&&[^\p{{Han}}]]+[{LOWER}&&[^\p{{Han}}]]*{CONTRACTION}", r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"
])
SPECIAL = {"[BOS]": 1024, "[EOS]": 1025, "<|im_end|>": 1026, "<|im_user|>": 1027}


def train(texts: list[str], size: int) -> dict[bytes, int]:
    ranks = {bytes([i]): i for i in range(256)}
    splitter = regex.compile(PATTERN, regex.V1)
    words = Counter(piece.encode() for text in texts for piece in splitter.findall(text))
    parts = {word: [bytes([b]) for b in word] for word in words}
    while len(ranks) < size:
        pairs = Counter()
        for word, count in words.items():
            for pair in zip(parts[word], parts[word][1:]):
                pairs[pair] += count
        (left, right), _ = max(pairs.items(), key=lambda item: (item[1], item[0]))
        ranks[left + right] = len(ranks)
        for word, pieces in parts.items():
            merged = []
            for piece in pieces:
                if merged and merged[-1] == left and piece == right:
                    merged[-1] = left + right
                else:
                    merged.append(piece)
            parts[word] = merged
    return ranks


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    texts = [well_formed(text) for text in corpus()]
    ranks = train(texts, 1024)
    encoding = tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=SPECIAL)
    (folder / "tiktoken.model").write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()))
    added = {str(i): {"content": token, "special": True} for token, i in SPECIAL.items()}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added, "bos_token": "[BOS]", "eos_token": "[EOS]"}) + "\n")
    hashes = []
    for text in texts:
        ids, split = encoding.encode(text, allowed_special="all"), encoding.encode(text, disallowed_special=())
        hashes.append([digest(",".join(map(str, ids))), digest(",".join(map(str, split))), digest(encoding.decode(ids)), digest(encoding.decode(ids[::2]))])
    (folder / "ids.json").write_text(json.dumps({"hashes": hashes}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()

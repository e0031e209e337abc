"""Records what Hugging Face's Rust tokenizers make of adversarial texts.

    python record.py corpus > ../../test/fixtures/tokenizers/corpus.jsonl
    python record.py ids FOLDER > ../../test/fixtures/tokenizers/ids.json

FOLDER holds one NAME/tokenizer.json per tokenizer, as fetch.sh writes it. Needs tokenizers 0.23.3. The corpus is one JSON string per line; a
lone surrogate, which Rust refuses, counts as U+FFFD. Each text is recorded by four hashes: of its ids, of its ids with special tokens
split, of the text of its ids, and of the text of every second id.
"""

import hashlib
import json
import random
import re
import sys
import unicodedata
from pathlib import Path

FIXED = [
    "", " ", "  ", "\n", "\n\n", "\r\n", "\t", " \n ", "\n \n", "   a", "a   ", "a\n\n\n\nb", "a \n b", "a\u00a0b", "a\u2028b", "a\u200bb", "\ufeffa", "a\u0085b",
    "a\x00b", "\x01\x02\x1f\x7f", "Hello, world!", "I'm you're he'LL we'Ve it'S don'T", "HELLO World hello", "123 1234 12345 1234567890", "3.14159e-10", "1,234,567.89",
    "０１２３", "٣٤٥", "²³¹½¾", "e\u0301 é e\u0301\u0323", "Å \u212b A\u030a", "ﬁ ﬂ ﬃ", "ｆｕｌｌ　ｗｉｄｔｈ", "\u1100\u1161\u11a8 각", "한국어 텍스트", "日本語のテキスト、カタカナ。", "中文文本,标点。",
    "Привет, мир!", "Γειά σου Κόσμε", "مرحبا بالعالم", "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก", "İstanbul ıI", "ß ẞ SS", "ǅ ǆ", "😀", "😀😃😄", "👨‍👩‍👧‍👦", "👍🏽", "🇩🇪🇫🇷", "❤️ ❤",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "𝕳𝖊𝖑𝖑𝖔 𝟙𝟚", "𠮷野家", "\ud800", "a\ud800b", "\udc00\ud800", "\ud83d", "x\ude00y", "\ufffd\ufffe\uffff", "a\u0300\u0301\u0302\u0303", "Z͑ͫ̓a͌l̴g̡o", "\u202eabc\u202c",
    "def f(x):\n    return x**2  # square\n", "for (let i = 0; i < 10; i++) { console.log(`${i}`) }", "<div class=\"a\">&nbsp;</div>", "SELECT * FROM t WHERE a != 'b';",
    "\\frac{1}{2}\\sqrt{x^2+1}", "$\\int_0^1 x\\,dx$", "http://example.org/a?b=c&d=%20#e", "a_b-c.d/e\\f", "!!!???...", "----====____", "((((()))))", "\"''\"''`´‘’“”",
    "<|im_start|>user\nhi<|im_end|>", "<|im_start|", "|im_end|>", "<|endoftext|>", " <|endoftext|> ", "<|begin_of_text|><|eot_id|>", "<｜User｜>q<｜Assistant｜></think>", "<think>\n\n</think>\n\n4",
    "<s>a</s>", "<bos><start_of_turn>user\nq<end_of_turn>", "[INST] a [/INST]", "<unk><pad>", "<|start|>assistant<|channel|>final<|message|>a<|return|>", "<tool_call>{\"a\": 1}</tool_call>",
    "<|im_end|><|im_end|>", "a<|im_end|>b<|im_end|> c", "<0x41><0x0A>", "▁▁a▁", "Ġa Ċ", "\u0120", "<|reserved_special_token_0|>", "<unused0>", "a" * 300, "ab" * 200, " " * 100, "\n" * 50,
    "1" * 100, "😀" * 40, "中" * 120, "é" * 100, "e\u0301" * 60, "a " * 100, "The quick brown fox jumps over the lazy dog. " * 5,
]

PIECES = [
    "a", "B", "hello", "World", " ", "  ", "\n", "\r\n", "\t", "1", "42", "3.5", ",", ".", "!", "'s", "'LL", "é", "e\u0301", "ü", "Å", "ß", "ﬁ", "中", "文字", "日本", "カ", "한", "글",
    "п", "мир", "λ", "ع", "ש", "न", "ส", "😀", "👩‍💻", "🇪🇺", "\u200d", "\ufe0f", "𝟙", "𠮷", "\ud83d", "\udc00", "\u00a0", "\u3000", "\u2028", "\x00", "<|im_start|>", "<|im_end|>", "<|endoftext|>",
    "<|eot_id|>", "<think>", "</think>", "<｜User｜>", "<s>", "</s>", "<bos>", "<|", "|>", "{", "}", "()", "[", "]", "==", "->", "//", "/*", "#", "_", "$", "\\", "\"", "`", "~", "▁", "Ġ", "½", "²",
    "def ", "return", "    ", "const x = ", "http://", "&amp;", "\u0300", "\u0e33", "ǆ", "\ufeff", "\u0085",
]


def corpus() -> list[str]:
    r = random.Random(20261122)
    mixed = ["".join(r.choice(PIECES) for _ in range(r.randint(1, 40))) for _ in range(250)]
    points = ["".join(chr(r.choice([r.randrange(0x20, 0x7F), r.randrange(0x80, 0x3000), r.randrange(0x3000, 0xD800), r.randrange(0xE000, 0x10000),
                                     r.randrange(0x10000, 0x20000)])) for _ in range(r.randint(1, 30))) for _ in range(80)]
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD") for text in ("Ångström café ﬁancé 각", "Việt Nam ½ ①", "が ぱ ヴ")]
    return FIXED + mixed + points + forms


def well_formed(text: str) -> str:
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return re.sub("[\ud800-\udfff]", "\ufffd", joined)


def digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:8]


def record(file: Path) -> dict:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    splitting = Tokenizer.from_file(str(file))
    splitting.encode_special_tokens = True
    hashes = []
    for text in map(well_formed, corpus()):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        split = splitting.encode(text, add_special_tokens=False).ids
        hashes.append([
            digest(",".join(map(str, ids))), digest(",".join(map(str, split))), digest(tokenizer.decode(ids, skip_special_tokens=False)),
            digest(tokenizer.decode(ids[::2], skip_special_tokens=False))
        ])
    return {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "hashes": hashes}


if __name__ == "__main__":
    if sys.argv[1] == "corpus":
        for text in corpus():
            print(json.dumps(text))
    else:
        folder = Path(sys.argv[2])
        recorded = {file.parent.name: record(file) for file in sorted(folder.glob("*/tokenizer.json"))}
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in recorded.items())
        print("{\n" + lines + "\n}")

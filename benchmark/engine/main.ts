/**
 * The embedded engine beside jax-js and PyTorch on the same model, weights and batch, in turn and each in a process of its own.
 * `TORCH_PYTHON` names a Python that has PyTorch; without it that part is left out.
 */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { undisturbed } from "../Quiet.ts"
import * as Report from "../Report.ts"
import * as Workload from "./Workload.ts"

const rounds = 3
const python = process.env["TORCH_PYTHON"]
const here = (file: string) => join(import.meta.dirname, file)

const ask = (command: string, args: ReadonlyArray<string>): unknown =>
  JSON.parse(execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }))

const node = (file: string) => ask(process.execPath, ["--conditions=@effect-rl/source", here(file)])

const contestants = new Map<string, () => unknown>([
  ["effect-rl", () => node("ours.ts")],
  ["jax-js", () => node("jax.ts")]
])
if (python !== undefined) {
  for (const threads of [1, 2]) {
    const name = `PyTorch, ${threads} ${threads === 1 ? "thread" : "threads"}`
    contestants.set(name, () => ask(python, [here("torch_model.py"), Workload.folder, String(threads)]))
  }
}

const isSpeed = (value: unknown): value is Workload.Speed =>
  typeof value === "object" && value !== null && "loss" in value && "sampleTokensPerSecond" in value

const measure = async (name: string, run: () => unknown) => {
  const { share, value } = await undisturbed(run)
  if (!isSpeed(value)) throw new Error(`${name}: ${JSON.stringify(value)}`)
  Report.progress(`${name}: ${JSON.stringify(value)}, others took ${Report.percent(share)}`)
  return { share, value }
}

const round = async () => {
  const ceiling = await undisturbed(() => node("gemm.ts"))
  const speeds = new Map<string, Workload.Speed>()
  let share = ceiling.share
  for (const [name, run] of contestants) {
    const measured = await measure(name, run)
    share = Math.max(share, measured.share)
    speeds.set(name, measured.value)
  }
  return { ceiling: Number(ceiling.value), speeds, share }
}

const runs: Array<Awaited<ReturnType<typeof round>>> = []
for (let index = 0; index < rounds; index++) runs.push(await round())

const of = (name: string, field: keyof Workload.Speed) =>
  Report.median(runs.flatMap(({ speeds }) => speeds.get(name)?.[field] ?? []))

/** Median over rounds of what was reached in the same round. */
const ratio = (name: string, field: keyof Workload.Speed) =>
  Report.median(
    runs.map(({ speeds }) => (speeds.get("effect-rl")?.[field] ?? NaN) / (speeds.get(name)?.[field] ?? NaN))
  )

for (const name of contestants.keys()) {
  const [own, other] = [of("effect-rl", "loss"), of(name, "loss")]
  if (Math.abs(own - other) > 1e-2) throw new Error(`${name} computes another loss: ${other}, expected ${own}`)
}

const share = Report.median(
  runs.map(({ ceiling, speeds }) =>
    (speeds.get("effect-rl")?.trainTokensPerSecond ?? NaN) * Workload.trainFlops / 1e9 / ceiling
  )
)
const threads = [...contestants.keys()].filter((name) => name.startsWith("PyTorch"))
const leastAhead = (field: keyof Workload.Speed) => Math.min(...threads.map((name) => ratio(name, field)))

const thousands = (value: number) => (value / 1000).toFixed(1)
const rows = [...contestants.keys()].map((name) => [
  name,
  thousands(of(name, "trainTokensPerSecond")),
  thousands(of(name, "sampleTokensPerSecond")),
  `${ratio(name, "trainTokensPerSecond").toFixed(1)}×`,
  `${ratio(name, "sampleTokensPerSecond").toFixed(1)}×`
])

const { batch, length, newTokens, promptLength, rank, slots } = Workload
Report.publish("engine", "Training and sampling on the CPU", [
  `tiny-128 with a LoRA adapter of rank ${rank}. A training step is ${batch} sequences of ${length} tokens, forward, backward and
Adam (jax-js without Adam); sampling is ${slots} sequences at the same time, ${promptLength} tokens of prompt and ${newTokens} new ones. All
compute the same loss from the same weights. jax-js has no threads in Node; the engine uses one per processor. Median of
${rounds} rounds in turn, ratios within a round. Other programs took at most ${
    Report.percent(Math.max(...runs.map(({ share }) => share)))
  } of the
processors meanwhile.`,
  Report.table(
    ["", "trained k tokens/s", "sampled k tokens/s", "effect-rl's training to it", "effect-rl's sampling to it"],
    rows
  ),
  `The engine's matrix product reaches ${
    Report.median(runs.map(({ ceiling }) => ceiling)).toFixed(0)
  } GFLOP/s on all processors at 512×512×512; a trained token is ${(Workload.trainFlops / 1e6).toFixed(1)} MFLOP.`,
  [
    Report.aim("training to jax-js", ratio("jax-js", "trainTokensPerSecond"), "×", "at least", 4),
    Report.aim("sampling to jax-js", ratio("jax-js", "sampleTokensPerSecond"), "×", "at least", 6),
    Report.aim("training to the better PyTorch", leastAhead("trainTokensPerSecond"), "×", "at least", 1),
    Report.aim("sampling to the better PyTorch", leastAhead("sampleTokensPerSecond"), "×", "at least", 1),
    Report.aim("training's share of the ceiling", 100 * share, " %", "at least", 65)
  ].join("\n"),
  ...(python === undefined ? ["PyTorch was left out: `TORCH_PYTHON` names no Python that has it."] : [])
])

/**
 * 100,000 rollouts at the same time, and 10,000 interrupted. `COOKBOOK_PYTHON` names a Python that has
 * tinker-cookbook; without it that part is left out.
 */
import { Schema } from "effect"
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { undisturbed } from "../Quiet.ts"
import * as Report from "../Report.ts"

const python = process.env["COOKBOOK_PYTHON"]
const here = (file: string) => join(import.meta.dirname, file)
const scale = ["scale", "episodes=100000"]

const Timed = Schema.Struct({ wallMillis: Schema.Finite, cpuMillis: Schema.Finite })
const Scaled = Schema.Struct({
  ...Timed.fields,
  peakBytes: Schema.Finite,
  lagP99Millis: Schema.Finite,
  lagMaxMillis: Schema.Finite
})
const ask = (command: string, ...args: ReadonlyArray<string>): unknown =>
  JSON.parse(execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }))

/** In MB: what lives is 1,100, and V8 lets garbage lie where nothing bounds it. */
const bounds = ["--max-old-space-size=1750", "--max-semi-space-size=8"]

const node = (file: string, ...args: ReadonlyArray<string>) =>
  ask(process.execPath, ...bounds, "--conditions=@effect-rl/source", here(file), ...args)

let othersTook = 0

const measure = async <A>(name: string, schema: Schema.Codec<A, unknown>, run: () => unknown) => {
  const { share, value } = await undisturbed(run)
  Report.progress(`${name}: ${JSON.stringify(value)}, others took ${Report.percent(share)}`)
  othersTook = Math.max(othersTook, share)
  return Schema.decodeUnknownSync(schema)(value)
}

const contestants = new Map<string, () => unknown>([
  ["bare promises", () => node("promises.ts", ...scale)],
  ["effect-rl", () => node("effectRl.ts", ...scale)]
])
if (python !== undefined) contestants.set("tinker-cookbook", () => ask(python, here("cookbook.py"), ...scale))

const scaled = new Map<string, typeof Scaled.Type>()
for (const [name, run] of contestants) scaled.set(name, await measure(name, Scaled, run))
const interrupted = await measure("interrupted", Timed, () => node("effectRl.ts", "interrupt"))

const seconds = (millis: number) => (millis / 1000).toFixed(1)
const scaledRows = [...scaled].map(([name, { cpuMillis, lagMaxMillis, lagP99Millis, peakBytes, wallMillis }]) => [
  name,
  seconds(wallMillis),
  seconds(cpuMillis),
  (peakBytes / 1e9).toFixed(2),
  lagP99Millis.toFixed(0),
  lagMaxMillis.toFixed(0)
])
const effectRl = scaled.get("effect-rl")

Report.publish("rollouts-at-scale", "100,000 concurrent rollouts, and an interruption", [
  `Other programs took at most ${Report.percent(othersTook)} of the processors meanwhile.`,
  `## 100,000 rollouts at the same time

12,500 groups of 8, four turns each, on a sampler that waits 1 to 10 s a turn and gives 32 tokens; one run, each in a process of its
own, JavaScript with \`${
    bounds.join(" ")
  }\`. Lag is how late a timer of 10 ms was: of a hundred times the second latest, and the latest.`,
  Report.table(["", "wall s", "CPU s", "peak GB", "lag p99 ms", "lag max ms"], scaledRows),
  ...(python === undefined
    ? ["tinker-cookbook was left out: `COOKBOOK_PYTHON` names no Python that has it."]
    : []),
  "## 10,000 rollouts interrupted",
  "1,250 groups of 8, all waiting in their last turn; until everything they acquired is released, the second time in a process.",
  [
    Report.aim("peak memory of 100,000 rollouts", (effectRl?.peakBytes ?? NaN) / 1e9, " GB", "at most", 2),
    Report.aim("event loop's lag in 99 of 100", effectRl?.lagP99Millis ?? NaN, " ms", "at most", 100),
    Report.aim("CPU of interrupting 10,000 rollouts", interrupted.cpuMillis, " ms", "at most", 250),
    Report.aim("wall of interrupting 10,000 rollouts", interrupted.wallMillis, " ms", "at most", 250)
  ].join("\n")
])

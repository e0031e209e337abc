/**
 * Measures 100,000 concurrent rollouts, and the interruption of 10,000. `COOKBOOK_PYTHON` names a Python with tinker-cookbook; without it,
 * that part is left out.
 */
import { join } from "node:path"
import * as Process from "../Process.ts"
import * as Quiet from "../Quiet.ts"
import * as Report from "../Report.ts"
import * as Workload from "./Workload.ts"

const python = process.env["COOKBOOK_PYTHON"]
const here = (file: string) => join(import.meta.dirname, file)
const scale = ["scale", "episodes=100000"]

/** Heap limits in MB. The live data are 1,100 MB, and without a limit V8 lets garbage accumulate. */
const bounds = ["--max-old-space-size=1750", "--max-semi-space-size=8"]

const node = (file: string, ...args: ReadonlyArray<string>) => Process.node(...bounds, here(file), ...args)

const contestants = new Map([
  ["bare promises", () => node("promises.ts", ...scale)],
  ["effect-rl", () => node("effectRl.ts", ...scale)]
])
if (python !== undefined) contestants.set("tinker-cookbook", () => Process.run(python, here("cookbook.py"), ...scale))

const scaled = Quiet.round(contestants, Workload.Scaled)
const interrupted = Quiet.measured("interrupted", Workload.Measured, () => node("effectRl.ts", "interrupt"))

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
  Quiet.disturbance(),
  `## 100,000 rollouts at the same time

12,500 groups of 8, four turns each, on a sampler that waits 1 to 10 s per turn and returns 32 tokens. Each program ran once, in its own
process, JavaScript with \`${
    bounds.join(" ")
  }\`. Lag is the delay of a 10 ms timer: its 99th percentile and its maximum.`,
  Report.table(["", "wall s", "CPU s", "peak GB", "lag p99 ms", "lag max ms"], scaledRows),
  ...(python === undefined
    ? ["tinker-cookbook was left out: `COOKBOOK_PYTHON` names no Python that has it."]
    : []),
  "## 10,000 rollouts interrupted",
  "1,250 groups of 8, all waiting in their last turn. The time is from the interruption until all resources are released, measured at the " +
  "second interruption in a process.",
  [
    Report.aim("peak memory of 100,000 rollouts", (effectRl?.peakBytes ?? NaN) / 1e9, " GB", "at most", 2),
    Report.aim("event loop lag, 99th percentile", effectRl?.lagP99Millis ?? NaN, " ms", "at most", 100),
    Report.aim("CPU time of interrupting 10,000 rollouts", interrupted.cpuMillis, " ms", "at most", 250),
    Report.aim("wall time of interrupting 10,000 rollouts", interrupted.wallMillis, " ms", "at most", 250)
  ].join("\n")
])

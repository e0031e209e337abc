/**
 * Compares 10,000 concurrent rollouts with bare promises and with tinker-cookbook. They run alternately, each in a separate process.
 * `COOKBOOK_PYTHON` names a Python with tinker-cookbook; without it, that part is left out.
 */
import { join } from "node:path"
import * as Process from "../Process.ts"
import * as Quiet from "../Quiet.ts"
import * as Report from "../Report.ts"
import * as Workload from "./Workload.ts"

const rounds = 3
const python = process.env["COOKBOOK_PYTHON"]
const here = (file: string) => join(import.meta.dirname, file)

const node = (file: string, ...args: ReadonlyArray<string>) => Process.node("--expose-gc", here(file), ...args)

const contestants = new Map([
  ["bare promises", () => node("promises.ts")],
  ["effect-rl, spans off", () => node("effectRl.ts")],
  ["effect-rl, spans on", () => node("effectRl.ts", "spans")]
])
if (python !== undefined) contestants.set("tinker-cookbook", () => Process.run(python, here("cookbook.py")))

const measured = Array.from({ length: rounds }, () => Quiet.round(contestants, Workload.Measured))

const of = (name: string, field: keyof Workload.Measured) =>
  Report.median(measured.flatMap((round) => round.get(name)?.[field] ?? []))

const turns = Workload.episodes * Workload.turns
const perTurn = (name: string) => 1000 * of(name, "cpuMillis") / turns
const bytes = new Map([
  ["bare promises", Number(node("promises.ts", "memory"))],
  ["effect-rl, spans off", Number(node("effectRl.ts", "memory"))],
  ["effect-rl, spans on", Number(node("effectRl.ts", "memory", "spans"))]
])

const rows = [...contestants.keys()].map((name) => {
  const held = bytes.get(name)
  return [
    name,
    (of(name, "wallMillis") / 1000).toFixed(2),
    perTurn(name).toFixed(1),
    held === undefined ? "not measured" : (held / 1000).toFixed(1),
    `${(of("effect-rl, spans off", "wallMillis") / of(name, "wallMillis")).toFixed(2)}×`,
    `${(of("effect-rl, spans off", "cpuMillis") / of(name, "cpuMillis")).toFixed(2)}×`
  ]
})

const header = [
  "",
  "wall s",
  "CPU µs per turn",
  "kB per rollout beyond its tokens",
  "effect-rl's wall to it",
  "effect-rl's CPU to it"
]
Report.publish("rollouts", "10,000 concurrent rollouts of four turns", [
  `${Workload.groups} groups of ${Workload.groupSize}, all at the same time, on a sampler that waits 5 to 50 ms per turn and returns 32
tokens. Numbers are medians of ${rounds} alternating rounds, each in its own process, after a first batch that is not counted. Memory is
the heap size after a collection, with every episode waiting in its last turn. ${Quiet.disturbance()}`,
  Report.table(header, rows),
  ...(python === undefined
    ? ["tinker-cookbook was left out: `COOKBOOK_PYTHON` names no Python that has it."]
    : []),
  [
    Report.aim(
      "wall time compared with tinker-cookbook",
      of("effect-rl, spans off", "wallMillis") / of("tinker-cookbook", "wallMillis"),
      "×",
      "at most",
      0.7
    ),
    Report.aim("CPU time per turn, spans off", perTurn("effect-rl, spans off"), " µs", "at most", 40),
    Report.aim("memory per rollout", (bytes.get("effect-rl, spans off") ?? NaN) / 1000, " kB", "at most", 15)
  ].join("\n")
])

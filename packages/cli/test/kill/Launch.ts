/** Short runs on the engine in their own processes, some of which kill themselves. */
import { Seed } from "@effect-rl/core/environments"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Effect, FileSystem } from "effect"
import { spawnSync } from "node:child_process"
import type { Program } from "./Programs.ts"

const pathOf = (relative: string) => new URL(relative, import.meta.url).pathname

const child = pathOf("./Child.ts")

export interface Point {
  readonly operation: string
  readonly call: number
  readonly signal: "SIGKILL" | "SIGTERM"
}

export const never: Point = { operation: "none", call: 0, signal: "SIGKILL" }

export const launch = (program: string, folder: string, saveEvery: number, { call, operation, signal }: Point) =>
  spawnSync(
    process.execPath,
    ["--conditions=@effect-rl/source", child, program, folder, String(saveEvery), operation, String(call), signal],
    { encoding: "utf8" }
  )

/** Passes a temporary folder to `use`, and always removes it afterwards. */
export const withFolder = <A>(use: (folder: string) => A) =>
  FileSystem.FileSystem.use((fs) => Effect.map(fs.makeTempDirectoryScoped({ prefix: "effect-rl-kill-" }), use)).pipe(
    Effect.scoped,
    Effect.provide(NodeFileSystem.layer)
  )

/** Random calls at which to kill a program. Every third point is at its most frequent operation. */
export const points = (
  count: number,
  seed: number,
  { calls }: Program,
  signals: ReadonlyArray<Point["signal"]> = ["SIGKILL"]
): ReadonlyArray<Point> => {
  const next = Seed.uniform(seed)
  const [most, ...others] = Object.entries(calls).toSorted((left, right) => right[1] - left[1])
  return Array.from({ length: count }, (_, index) => {
    const other = others[Math.floor(next() * others.length)]
    const [operation, calls] = (index % 3 === 0 ? most : other) ?? ["none", 1]
    return {
      operation,
      call: Math.floor(next() * calls),
      signal: signals[(index + seed) % signals.length] ?? "SIGKILL"
    }
  })
}

const { EFFECT_RL_SOAK: soak, EFFECT_RL_SOAK_KILLS: kills = "100" } = process.env

/** Number of kills of each program, for each of two save intervals: every iteration and every third iteration. */
export const pointsEach = (few: number) => soak === undefined ? few : Math.ceil(Number(kills) / 2)

export const timeout = soak === undefined ? 900_000 : 7_200_000

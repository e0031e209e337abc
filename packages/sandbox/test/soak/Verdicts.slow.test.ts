import { Draw } from "@effect-rl/core/testing"
import { Sandbox } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import * as Machine from "../Machine.ts"
import * as OwnFolder from "../OwnFolder.ts"
import * as Providers from "./Providers.ts"
import * as Remains from "./Remains.ts"
import * as Trial from "./Trial.ts"

const { EFFECT_RL_SEED: seed = "1", EFFECT_RL_SOAK: soak, EFFECT_RL_SOAK_VERDICTS: verdicts } = process.env
const trials = Number(verdicts ?? (soak === undefined ? 100 : 3334))

/** Only guards against hangs: thousands of verdicts take several minutes per provider. */
const timeoutMillis = 3_600_000

/** The possible endings of a program if any of its processes was killed. */
const whenKilled = new Set(["Lost", "Provision", "Signalled SIGKILL"])

/** Kills a random descendant process of this process after a delay. */
const kill = Effect.fnUntraced(function*(draw: Draw.Draw) {
  yield* Effect.sleep(draw.integer(0, 400))
  const [first, ...others] = Remains.below(String(process.pid))
  if (first === undefined) return 0
  try {
    process.kill(Number(draw.oneOf([first, ...others])), "SIGKILL")
    return 1
  } catch {
    return 0
  }
})

/** The number of trials per ending. */
const tally = (ended: ReadonlyArray<{ readonly ending: Trial.Ending }>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { ending } of ended) {
    const [way = ""] = ending.split(" ")
    counts[way] = (counts[way] ?? 0) + 1
  }
  return counts
}

/** Runs one trial. In one of ten trials, a process of its sandbox or of another sandbox is killed meanwhile. */
const attempt = Effect.fnUntraced(function*(index: number) {
  const draw = Draw.make(Number(seed), "trial", index)
  const trial = Trial.make(draw)
  const killing = draw.chance(0.1) ? kill(draw) : Effect.succeed(0)
  const [ending, kills] = yield* Effect.all([Trial.run(trial), killing], { concurrency: 2 })
  return { ending, kills, trial }
})

const all = Effect.forEach(Array.from({ length: trials }, (_, index) => index), attempt, { concurrency: 4 })

describe(`${trials} verdicts among time-outs, floods, interruptions and random kills`, { concurrent: false }, () => {
  for (const { layer, name } of Providers.all) {
    const lacks = Machine.lacks[name]
    it.live.skipIf(lacks !== undefined || !existsSync("/proc"))(
      `are all as expected, and ${name} leaves nothing behind${lacks === undefined ? "" : ` (skipped: ${lacks})`}`,
      () =>
        Effect.gen(function*() {
          const folder = yield* OwnFolder.make
          yield* Effect.provide(Sandbox.Sandbox.use(({ provider }) => Effect.succeed(provider)), layer)
          const before = Remains.now()
          const ended = yield* Effect.provide(all, layer)
          const kills = ended.reduce((sum, { kills }) => sum + kills, 0)
          const unexpected = ended.filter(({ ending, trial }) => !trial.expects(ending))
          const unexplained = unexpected.filter(({ ending }) => !whenKilled.has(ending))
          yield* Effect.logInfo(`${name}: ${kills} kills, ${unexpected.length} programs ended by one`, tally(ended))
          assert.lengthOf(ended, trials)
          assert.deepStrictEqual(unexplained.map(({ ending, trial }) => `${trial.kind}: ${ending}`), [])
          assert.isAtMost(unexpected.length, kills)
          assert.isAbove(kills, 0)
          assert.deepStrictEqual(Remains.now(), before)
          assert.deepStrictEqual(readdirSync(folder).flatMap((root) => readdirSync(join(folder, root))), [])
        }).pipe(Effect.scoped),
      timeoutMillis
    )
  }
})

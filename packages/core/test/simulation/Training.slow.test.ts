import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Training from "./Training.ts"

const replayed = process.env["EFFECT_RL_SEED"]
const count = process.env["EFFECT_RL_SOAK"] === undefined ? 24 : 400

const seeds = replayed === undefined ? Array.from({ length: count }, (_, seed) => seed) : [Number(replayed)]

it.live(
  `training runs of ${seeds.length} seeds, killed and resumed, have the records of uninterrupted runs`,
  () =>
    Effect.gen(function*() {
      const failed: Array<string> = []
      let interruptions = 0
      for (const seed of seeds) {
        const { broken, interruptions: more } = yield* Training.run(Training.make(seed))
        interruptions += more
        if (broken.length > 0) failed.push([`EFFECT_RL_SEED=${seed}:`, ...broken.slice(0, 5)].join("\n  ✗ "))
      }
      assert.isEmpty(failed, `${failed.length} of ${seeds.length} runs:\n${failed.slice(0, 5).join("\n\n")}`)
      if (replayed === undefined) assert.isAbove(interruptions, seeds.length)
    }),
  900_000
)

/** The number of records between two points at which a run is stopped. */
const stride = process.env["EFFECT_RL_SOAK"] === undefined ? 7 : 1

describe("a run that is ended after any of its records and resumed later has the records of an uninterrupted run", () => {
  it.live.each(Training.programs)("%s", (program) =>
    Effect.gen(function*() {
      const scenario = {
        ...Training.make(0),
        program,
        severity: 0,
        saveEvery: 2,
        evalEvery: 0,
        groupsPerBatch: 4,
        epochs: 3
      }
      assert.deepStrictEqual(yield* Training.stop(scenario, stride), [])
    }), 900_000)
})

describe("simulation catches a backend that resumes", () => {
  const forgets: Readonly<Record<string, Training.Resume>> = {
    "without its optimizer": (client, path) => client.loadState(path, { optimizer: false }),
    "with one more step": (client) => client.optimStep({ learningRate: 0.1 })
  }
  for (const [rule, resume] of Object.entries(forgets)) {
    it.live(rule, () =>
      Effect.gen(function*() {
        for (let seed = 0; seed < 50; seed++) {
          if ((yield* Training.run(Training.make(seed), resume)).broken.length > 0) return
        }
        assert.fail("50 seeds and no difference was found")
      }))
  }
})

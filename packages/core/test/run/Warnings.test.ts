import { Preferences, Rl, RLDataset, RunRecord, SupervisedDataset } from "@effect-rl/core"
import { RunOptions } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Stream } from "effect"
import * as Task from "../rl/Task.ts"
import * as Imitation from "../supervised/Imitation.ts"

interface Given {
  readonly rows?: number
  readonly check?: (text: string) => boolean
  readonly iterations?: number
  readonly dropRemainder?: boolean
}

const isTwo = (text: string) => text === "2"

/** Opens a run with batches of two problems. Returns the warnings of all openings so far. */
const open = Effect.fnUntraced(function*({ check = isTwo, iterations, rows = 4, ...order }: Given) {
  const model = yield* Task.model
  const dataset = RLDataset.problems(Array.from({ length: rows }, (_, row) => row), {
    model,
    groupsPerBatch: 2,
    groupSize: 2,
    ...order,
    problem: (row) => ({ question: `1 + ${row}`, answer: String(1 + row), check })
  })
  const run = { evalEvery: 0, ...(iterations === undefined ? {} : { iterations }) }
  yield* Stream.runDrain(Rl.run({ model, dataset, sampling: { maxTokens: 8 }, run }))
  const opened = yield* Task.current(RunRecord.guards.Opened)
  return opened.map(({ warnings }) => warnings)
})

const fresh = Task.layer({ sample: Task.answersHalf })

describe("a run", () => {
  it.effect("warns if it asks for more iterations than the data provide", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* open({ iterations: 50 }), [[
        "run.iterations is 50, but the data end after 2, and so does the run: more epochs repeat the data"
      ]])
    }).pipe(Effect.provide(fresh)))

  it.effect("writes its warnings to the log", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel}: ${String(message)}`))
    return Effect.gen(function*() {
      const [warnings = []] = yield* open({ iterations: 50 })
      assert.lengthOf(warnings, 1)
      assert.includeMembers(lines, warnings.map((warning) => `Warn: ${warning}`))
    }).pipe(Effect.provide([fresh, Logger.layer([logger])]))
  })

  it.effect("warns of a short batch at the end of each epoch that it reaches", () =>
    Effect.gen(function*() {
      const warned = (given: Given) => Effect.provide(open(given), fresh, { local: true })
      assert.deepStrictEqual(yield* warned({ rows: 5 }), [[
        "the last batch of each epoch has 1 of 2 rows: dropRemainder leaves it out"
      ]])
      assert.deepStrictEqual(yield* warned({ rows: 5, iterations: 2 }), [[]])
      assert.deepStrictEqual(yield* warned({ rows: 5, dropRemainder: true }), [[]])
      assert.deepStrictEqual(yield* warned({ rows: 4 }), [[]])
    }))

  it.effect("warns if it is resumed with another check", () =>
    Effect.gen(function*() {
      yield* open({ iterations: 1 })
      const [, same, changed] = [
        ...yield* open({ iterations: 1 }),
        ...(yield* open({ check: (text) => text !== "2" })).slice(-1)
      ]
      assert.deepStrictEqual(same, [])
      assert.include(changed?.[0], "the source of the environments, graders or credit has changed since this run began")
    }).pipe(Effect.provide(fresh)))

  it.effect("warns if it is resumed with another module", () =>
    Effect.gen(function*() {
      const from = (code: string) => Effect.provideService(open({ iterations: 1 }), RunOptions.Code, code)
      yield* from("a1")
      const openings = yield* from("b2")
      assert.include(openings.at(-1)?.[0], "has changed since this run began")
      assert.deepStrictEqual((yield* from("b2")).at(-1), [])
    }).pipe(Effect.provide(fresh)))
})

it.effect("datasets of examples and preferences report their short last batch", () =>
  Effect.gen(function*() {
    const model = yield* Task.model
    const rows = Imitation.rows.slice(0, 5)
    const expected = { batch: 2, rows: 1, batchSize: 2 }
    assert.deepStrictEqual(SupervisedDataset.conversations(rows, { model, batchSize: 2 }).shortBatch, expected)
    const pairs = rows.map((chosen) => ({ chosen, rejected: chosen }))
    assert.deepStrictEqual(Preferences.pairs(pairs, { model, batchSize: 2 }).shortBatch, expected)
  }).pipe(Effect.provide(fresh)))

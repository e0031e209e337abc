import { type Policy, Rl, RLDataset, Rollout, RunRecord } from "@effect-rl/core"
import { Problems } from "@effect-rl/core/environments"
import type { GroupResult } from "@effect-rl/core/program"
import { Renderers } from "@effect-rl/core/renderers"
import { Script, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Task from "../rl/Task.ts"

const tokenizer = TestTokenizer.characters

const policy: Policy.Policy = {
  act: ({ key }) => Effect.succeed(Script.text(tokenizer, `${key.member}<|im_end|>`))
}

const problem = (grading: Pick<Problems.Problem, "check" | "reward">) =>
  Effect.map(
    Renderers.byName("qwen3_instruct", tokenizer),
    (renderer) =>
      Problems.group("2+2", { question: "2 + 2", answer: "4", ...grading }, { model: { renderer }, groupSize: 3 })
  )

type Options = Rollout.GroupOptions

/** Rolls out a group while the clock advances by an hour. Returns the result and the log. */
const roll = Effect.fnUntraced(function*(grading: Pick<Problems.Problem, "check" | "reward">, options: Options = {}) {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => {
    lines.push(String(message))
  })
  const rolling = yield* Rollout.group(yield* problem(grading), policy, { iteration: 7, ...options }).pipe(
    Effect.provide(Logger.layer([logger])),
    Effect.forkChild
  )
  yield* TestClock.adjust("1 hour")
  return { result: yield* Fiber.join(rolling), lines }
})

const dropped = (result: GroupResult.GroupResult) =>
  result._tag === "Partial" ? result.dropped.map(({ failure, member, message }) => [member, failure, message]) : []

describe("Grader.run", () => {
  it.effect("drops the member whose grader throws, and names it", () =>
    Effect.gen(function*() {
      const check = (text: string) => {
        if (text === "1") throw new Error("boom")
        return true
      }
      const { lines, result } = yield* roll({ check })
      const message = `group "2+2", member 1: the grader threw: Error: boom`
      assert.deepStrictEqual(dropped(result), [[1, "Ungraded", message]])
      assert.deepStrictEqual(lines, [`iteration 8: left out: ${message}`])
    }))

  it.effect("drops the member whose grader dies", () =>
    Effect.gen(function*() {
      const of = (text: string) => text === "2" ? Effect.die("lost") : Effect.succeed(1)
      const { result } = yield* roll({ reward: { name: "lost", of } })
      assert.deepStrictEqual(dropped(result), [[2, "Ungraded", `group "2+2", member 2: the grader threw: lost`]])
    }))

  it.effect("logs a hanging grader after thirty seconds, and drops its member after ten minutes", () =>
    Effect.gen(function*() {
      const check = (text: string) => text === "0" ? Effect.never : Effect.succeed(true)
      const { lines, result } = yield* roll({ check })
      const message =
        `group "2+2", member 0: not graded within 10m: raise graderTimeout, or bound what the grader waits for`
      assert.deepStrictEqual(dropped(result), [[0, "Ungraded", message]])
      assert.deepStrictEqual(lines, [
        `waiting 30s for the reward of iteration 8, group "2+2", member 0`,
        `iteration 8: left out: ${message}`
      ])
    }))

  it.effect("uses the given time limit", () =>
    Effect.gen(function*() {
      const check = () => Effect.delay(Effect.succeed(true), "2 minutes")
      assert.strictEqual((yield* roll({ check })).result._tag, "Completed")
      const { result } = yield* roll({ check }, { graderTimeout: "1 minute" })
      assert.strictEqual(result._tag, "Skipped")
    }))

  it.effect("drops the group whose grader throws or hangs", () =>
    Effect.gen(function*() {
      const builder = yield* problem({ check: () => true })
      const graded = (groupRewards: Effect.Effect<never>) =>
        Effect.gen(function*() {
          const open = Effect.map(builder.open, (group) => ({ ...group, groupRewards: () => groupRewards }))
          const rolling = yield* Effect.forkChild(Rollout.group({ ...builder, open }, policy))
          yield* TestClock.adjust("1 hour")
          const result = yield* Fiber.join(rolling)
          return result._tag === "Skipped" ? result.reason.message : result._tag
        })
      assert.strictEqual(yield* graded(Effect.die("lost")), `group "2+2": the grader threw: lost`)
      assert.include(yield* graded(Effect.never), `group "2+2": not graded within 10m`)
    }))

  it.effect("ends the run if every grader throws, and names the reason", () =>
    Effect.gen(function*() {
      const model = yield* Task.model
      const dataset = RLDataset.problems(["1 + 1", "2 + 2"], {
        model,
        groupsPerBatch: 2,
        groupSize: 2,
        problem: (question) => ({
          question,
          answer: "2",
          check: () => {
            throw new Error("boom")
          }
        })
      })
      const error = yield* Effect.flip(Stream.runDrain(Rl.run({ model, dataset, run: { evalEvery: 0 } })))
      assert.strictEqual(error._tag, "TooManyDropped")
      assert.include(error.message, "the grader threw: Error: boom")
      assert.lengthOf(yield* Task.current(RunRecord.guards.Failed), 1)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

it.effect("an environment that throws ends the rollout with its member's name", () =>
  Effect.gen(function*() {
    const builder = yield* problem({ check: () => true })
    const open = Effect.map(builder.open, (group) => ({
      ...group,
      makeEnv: () => Effect.succeed({ initialObservation: Effect.die(new Error("boom")), step: () => Effect.never })
    }))
    const cause = yield* Effect.sandbox(Rollout.group({ ...builder, open }, policy, { iteration: 3 })).pipe(Effect.flip)
    assert.include(String(cause), `iteration 4, group "2+2", member 0: Error: boom`)
  }))

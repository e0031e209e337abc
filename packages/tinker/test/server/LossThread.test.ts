import { PolicyLoss } from "@effect-rl/core"
import * as LossThread from "@effect-rl/tinker/server/LossThread"
import type * as LossWork from "@effect-rl/tinker/server/LossWork"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

/** A thread program that runs `body` for each message, which it receives as `order`. */
const program = (body: string) =>
  new URL(
    `data:text/javascript,import{parentPort}from"node:worker_threads";parentPort.on("message",(order)=>{${body}})`
  )

const forever = program("if(order.data.length>0)for(;;);parentPort.postMessage({_tag:'Evaluated',evaluations:[]})")

const order = (tokens: ReadonlyArray<number>): LossWork.Order => ({
  graph: PolicyLoss.dppo().graph,
  mostCost: 1e6,
  data: tokens.map((tokens) => ({ tokens, values: {} }))
})

const reason = (attempt: ReturnType<LossThread.LossThread["compute"]>) => Effect.map(Effect.flip(attempt), String)

describe("the loss thread", () => {
  it.effect("is stopped if an order exceeds its deadline, and restarts for the next order", () =>
    Effect.gen(function*() {
      const { compute } = yield* LossThread.make({ file: forever, deadline: "10 seconds" })
      const long = yield* Effect.forkChild(reason(compute("ann", order([1]))), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      assert.include(yield* Fiber.join(long), "the loss takes longer than 10s for these data: send fewer datums")
      assert.deepStrictEqual(yield* compute("ann", order([])), [])
    }))

  it.effect("is stopped if an order is interrupted, and restarts for the next order", () =>
    Effect.gen(function*() {
      const { compute } = yield* LossThread.make({ file: forever })
      const long = yield* Effect.forkChild(compute("ann", order([1])), { startImmediately: true })
      yield* Fiber.interrupt(long)
      assert.deepStrictEqual(yield* compute("ann", order([])), [])
    }))

  it.effect("is replaced if it exceeds its memory limit, and the order is refused", () =>
    Effect.gen(function*() {
      const file = program("const all=[];for(;;)all.push([order])")
      const { compute } = yield* LossThread.make({ file })
      assert.include(yield* reason(compute("ann", order([1]))), "the loss takes more than 48 MiB beside its tensors")
    }))

  it.effect("reports itself as unavailable if it crashes", () =>
    Effect.gen(function*() {
      const { compute } = yield* LossThread.make({ file: program("throw new Error('broken')") })
      assert.include(yield* reason(compute("ann", order([1]))), "the thread that computes losses failed: broken")
    }))

  it.effect("fails only the current order if it crashes; a new thread answers those that wait", () =>
    Effect.gen(function*() {
      const file = program(
        "if(order.data.length>0)throw new Error('broken');parentPort.postMessage({_tag:'Evaluated',evaluations:[]})"
      )
      const { compute } = yield* LossThread.make({ file })
      const asked = [
        reason(compute("ann", order([1]))),
        Effect.as(compute("bob", order([])), "answered"),
        Effect.as(compute("cid", order([])), "answered")
      ]
      const [own, ...others] = yield* Effect.all(asked, { concurrency: "unbounded" })
      assert.include(own, "the thread that computes losses failed: broken")
      assert.deepStrictEqual(others, ["answered", "answered"])
    }))

  it.effect("answers each of two concurrent callers", () =>
    Effect.gen(function*() {
      const file = program(
        "setTimeout(()=>parentPort.postMessage({_tag:'Evaluated',evaluations:order.data}),20*order.data.length)"
      )
      const { compute } = yield* LossThread.make({ file })
      const asked = [compute("ann", order([1, 2])), compute("bob", order([1]))]
      const answers = yield* Effect.all(asked, { concurrency: "unbounded" })
      assert.deepStrictEqual(answers.map(({ length }) => length), [2, 1])
    }))

  it.effect("takes another caller's order before the same caller's second one", () =>
    Effect.gen(function*() {
      const answered: Array<string> = []
      const file = program("parentPort.postMessage({_tag:'Evaluated',evaluations:[]})")
      const { compute } = yield* LossThread.make({ file })
      const ask = (caller: string) =>
        Effect.tap(compute(caller, order([1])), () => Effect.sync(() => answered.push(caller)))
      yield* Effect.all([ask("ann"), ask("ann"), ask("bob")], { concurrency: "unbounded" })
      assert.deepStrictEqual(answered, ["ann", "bob", "ann"])
    }))
})

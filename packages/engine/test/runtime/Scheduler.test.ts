import { type Order, type Sample, Scheduler, type Step, tokenAt } from "@effect-rl/engine/runtime/Scheduler"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const order = (id: number, prompt: ReadonlyArray<number>, options: Partial<Order> = {}): Order => ({
  id,
  weights: 0,
  prompt: Int32Array.from(prompt),
  samples: 1,
  maxTokens: 4,
  scorePrompt: false,
  ...options
})

/** Runs steps until nothing is left, sampling token 7 each time; returns what each step computed. */
const drain = (scheduler: Scheduler, onStep: (step: Step) => void = () => {}) => {
  const rowsS: Array<number> = []
  for (let step = scheduler.plan(); step !== undefined; step = scheduler.plan()) {
    onStep(step)
    scheduler.computed(step)
    rowsS.push(step.spans.reduce((rows, { from, to }) => rows + to - from, 0))
    for (const { sample, to } of step.spans) advance(scheduler, sample, to)
  }
  return rowsS
}

const advance = (scheduler: Scheduler, sample: Sample, to: number) => {
  const { maxTokens, prompt } = sample.order
  if (maxTokens > 0 && to === prompt.length + sample.tokens.length) sample.tokens.push(7)
  const isDone = maxTokens === 0 ? to === prompt.length - 1 : sample.tokens.length === maxTokens
  if (isDone) scheduler.finish(sample)
}

describe("Scheduler", () => {
  it("computes a prompt once and then one row per token", () => {
    const scheduler = new Scheduler({ slots: 2, prefillRows: 16 })
    scheduler.add(order(1, [1, 2, 3], { maxTokens: 3 }))
    assert.deepStrictEqual(drain(scheduler), [3, 1, 1])
    assert.deepStrictEqual(scheduler.stats, { waiting: 0, running: 0, free: 2 })
  })

  it("shares a prompt among the samples of an order: each computes its last token alone", () => {
    const scheduler = new Scheduler({ slots: 8, prefillRows: 16 })
    scheduler.add(order(1, [1, 2, 3, 4], { samples: 4, maxTokens: 1 }))
    assert.deepStrictEqual(drain(scheduler), [4, 3])
  })

  it("shares a prompt among equal orders of the same weights, also after the first is done", () => {
    const scheduler = new Scheduler({ slots: 2, prefillRows: 16 })
    scheduler.add(order(1, [1, 2, 3], { maxTokens: 1 }))
    assert.deepStrictEqual(drain(scheduler), [3])
    scheduler.add(order(2, [1, 2, 3], { maxTokens: 1 }))
    assert.deepStrictEqual(drain(scheduler), [1])
    scheduler.add(order(3, [1, 2, 3], { maxTokens: 1, weights: 5 }))
    assert.deepStrictEqual(drain(scheduler), [3])
  })

  it("cuts a long prompt into pieces, so that running samples never wait for all of it", () => {
    const scheduler = new Scheduler({ slots: 2, prefillRows: 4 })
    scheduler.add(order(1, [1, 2], { maxTokens: 4 }))
    scheduler.add(order(2, [1, 2, 3, 4, 5, 6, 7, 8, 9], { maxTokens: 1 }))
    assert.deepStrictEqual(drain(scheduler), [4, 5, 4, 1])
  })

  it("asks for logits where tokens are drawn, and at every prompt position of a scored prompt", () => {
    const wantedS = (scorePrompt: boolean) => {
      const scheduler = new Scheduler({ slots: 2, prefillRows: 16 })
      scheduler.add(order(1, [1, 2, 3], { scorePrompt, maxTokens: 2 }))
      const rows: Array<number> = []
      drain(scheduler, ({ spans }) => rows.push(...spans.map(({ logitsFrom, to }) => to - logitsFrom)))
      return rows
    }
    assert.deepStrictEqual(wantedS(false), [1, 1])
    assert.deepStrictEqual(wantedS(true), [3, 1])
  })

  it("scores a prompt without sampling", () => {
    const scheduler = new Scheduler({ slots: 1, prefillRows: 16 })
    scheduler.add(order(1, [1, 2, 3], { scorePrompt: true, maxTokens: 0 }))
    assert.deepStrictEqual(drain(scheduler), [2])
  })

  it("keeps rows of equal weights together", () => {
    const scheduler = new Scheduler({ slots: 8, prefillRows: 64 })
    for (const [id, weights] of [3, 1, 3, 2, 1].entries()) scheduler.add(order(id, [id, 9], { weights, maxTokens: 2 }))
    drain(scheduler, ({ spans }) => {
      const weightsS = spans.map(({ sample }) => sample.order.weights)
      assert.deepStrictEqual(weightsS, [...weightsS].sort())
    })
  })

  it("frees what a cancelled order holds, and lets others compute the prefix it had begun", () => {
    const scheduler = new Scheduler({ slots: 2, prefillRows: 2 })
    scheduler.add(order(1, [1, 2, 3, 4, 5], { samples: 3 }))
    scheduler.add(order(2, [1, 2, 3, 4, 5], { maxTokens: 1 }))
    const step = scheduler.plan()
    assert.isDefined(step)
    if (step !== undefined) scheduler.computed(step)
    scheduler.cancel(1)
    assert.deepStrictEqual(scheduler.stats, { waiting: 1, running: 0, free: 2 })
    assert.deepStrictEqual(drain(scheduler), [2, 2, 1])
  })

  const Load = Schema.Array(
    Schema.Struct({
      prompt: Schema.Array(Schema.Literals([1, 2])).check(Schema.isMinLength(1), Schema.isMaxLength(6)),
      samples: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
      maxTokens: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 })),
      weights: Schema.Literals([0, 1])
    })
  ).check(Schema.isMaxLength(12))

  it.prop("every slot holds exactly the tokens its sample has computed", [Load], ([load]) => {
    const scheduler = new Scheduler({ slots: 3, prefillRows: 4 })
    for (const [id, { prompt, ...options }] of load.entries()) scheduler.add(order(id, prompt, options))
    const slots: Array<Array<string>> = [[], [], []]
    let finished = 0
    drain(scheduler, ({ copies, spans }) => {
      for (const { from, length, to } of copies) slots[to]?.splice(0, length, ...(slots[from] ?? []).slice(0, length))
      for (const { from, sample, to } of spans) {
        const held = slots[sample.slot] ?? []
        const name = (position: number) => `${sample.order.weights}:${tokenAt(sample, position)}`
        for (let position = 0; position < from; position++) assert.strictEqual(held[position], name(position))
        for (let position = from; position < to; position++) held[position] = name(position)
        if (to === sample.order.prompt.length + sample.order.maxTokens - 1) finished++
      }
    })
    assert.strictEqual(finished, load.reduce((sum, { samples }) => sum + samples, 0))
    assert.deepStrictEqual(scheduler.stats, { waiting: 0, running: 0, free: 3 })
  })
})

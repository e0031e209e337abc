import { type Order, type Sample, tokenAt } from "@effect-rl/engine/runtime/Sample"
import { Scheduler, type Step } from "@effect-rl/engine/runtime/Scheduler"
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

/** Runs steps until nothing is left, always sampling token 7. Returns the number of rows that each step computed. */
const drain = (
  scheduler: Scheduler,
  onStep: (step: Step) => void = () => {},
  afterStep: (steps: number) => void = () => {}
) => {
  const rowsS: Array<number> = []
  for (let step = scheduler.plan(); step !== undefined; step = scheduler.plan()) {
    onStep(step)
    scheduler.computed(step)
    rowsS.push(step.spans.reduce((rows, { from, to }) => rows + to - from, 0))
    for (const { sample, to } of step.spans) advance(scheduler, sample, to)
    afterStep(rowsS.length)
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
    const scheduler = new Scheduler({ sequences: 2, positions: 100, prefillRows: 16, pageSize: 1 })
    scheduler.add(order(1, [1, 2, 3], { maxTokens: 3 }))
    assert.deepStrictEqual(drain(scheduler), [3, 1, 1])
    assert.deepStrictEqual(scheduler.stats, { waiting: 0, running: 0, free: 100 })
  })

  it("shares a prompt among an order's samples; each computes only its last token", () => {
    const scheduler = new Scheduler({ sequences: 8, positions: 100, prefillRows: 16, pageSize: 1 })
    scheduler.add(order(1, [1, 2, 3, 4], { samples: 4, maxTokens: 1 }))
    assert.deepStrictEqual(drain(scheduler), [4, 3])
  })

  it("shares a prompt among equal orders with the same weights, even after the first is done", () => {
    const scheduler = new Scheduler({ sequences: 2, positions: 100, prefillRows: 16, pageSize: 1 })
    scheduler.add(order(1, [1, 2, 3], { maxTokens: 1 }))
    assert.deepStrictEqual(drain(scheduler), [3])
    scheduler.add(order(2, [1, 2, 3], { maxTokens: 1 }))
    assert.deepStrictEqual(drain(scheduler), [1])
    scheduler.add(order(3, [1, 2, 3], { maxTokens: 1, weights: 5 }))
    assert.deepStrictEqual(drain(scheduler), [3])
  })

  it("keeps cached prompts if the free pages just suffice", () => {
    const scheduler = new Scheduler({ sequences: 2, positions: 6, prefillRows: 16, pageSize: 1 })
    const rows = [[1, 2, 3], [4, 5, 6], [1, 2, 3]].map((prompt, id) => {
      scheduler.add(order(id, prompt, { maxTokens: 1 }))
      return drain(scheduler)
    })
    assert.deepStrictEqual(rows, [[3], [3], [1]])
  })

  it("computes only a later turn's new tokens and reuses sampled ones", () => {
    const scheduler = new Scheduler({ sequences: 4, positions: 200, prefillRows: 100, pageSize: 1 })
    const first = Array.from({ length: 20 }, (_, t) => 100 + t)
    scheduler.add(order(1, first, { maxTokens: 14 }))
    assert.deepStrictEqual(drain(scheduler), [20, ...Array.from({ length: 13 }, () => 1)])
    const sampled = Array.from({ length: 14 }, () => 7)
    const second = [...first, ...sampled, 8, 9, 10]
    scheduler.add(order(2, second, { maxTokens: 1 }))
    assert.deepStrictEqual(drain(scheduler), [second.length - 33])
    scheduler.add(order(3, [...first.slice(0, 17), 5, 6], { maxTokens: 1 }))
    assert.deepStrictEqual(drain(scheduler), [2])
    scheduler.add(order(4, second, { maxTokens: 1, weights: 1 }))
    assert.deepStrictEqual(drain(scheduler), [second.length])
  })

  it("splits a long prompt, so that running samples never wait for all of it", () => {
    const scheduler = new Scheduler({ sequences: 2, positions: 100, prefillRows: 4, pageSize: 1 })
    scheduler.add(order(1, [1, 2], { maxTokens: 4 }))
    scheduler.add(order(2, [1, 2, 3, 4, 5, 6, 7, 8, 9], { maxTokens: 1 }))
    assert.deepStrictEqual(drain(scheduler), [4, 5, 4, 1])
  })

  it("starts a sample only if started prompts leave rows in the step", () => {
    const scheduler = new Scheduler({ sequences: 8, positions: 100, prefillRows: 4, pageSize: 1 })
    scheduler.add(order(1, [1, 2, 3, 4, 5, 6, 7, 8, 9], { maxTokens: 3 }))
    scheduler.add(order(2, [10, 11, 12], { maxTokens: 3 }))
    scheduler.add(order(3, [13, 14], { maxTokens: 3 }))
    const runningS: Array<number> = []
    const rowsS = drain(scheduler, () => runningS.push(scheduler.stats.running))
    assert.deepStrictEqual(runningS.slice(0, 4), [1, 1, 2, 3])
    assert.deepStrictEqual(rowsS.slice(0, 4), [4, 4, 1 + 3, 1 + 1 + 2])
  })

  it("computes a prompt only once at a time, but concurrently for other weights", () => {
    const scheduler = new Scheduler({ sequences: 8, positions: 100, prefillRows: 6, pageSize: 1 })
    scheduler.add(order(1, [1, 2, 3], { maxTokens: 1 }))
    scheduler.add(order(2, [1, 2, 3], { maxTokens: 1 }))
    scheduler.add(order(3, [1, 2, 3], { maxTokens: 1, weights: 1 }))
    const begunS: Array<ReadonlyArray<number>> = []
    drain(scheduler, ({ spans }) => begunS.push(spans.map(({ sample }) => sample.order.id)))
    assert.deepStrictEqual(begunS, [[1, 3], [2]])
  })

  it("requests logits where tokens are drawn, and at every position of a scored prompt", () => {
    const wantedS = (scorePrompt: boolean) => {
      const scheduler = new Scheduler({ sequences: 2, positions: 100, prefillRows: 16, pageSize: 1 })
      scheduler.add(order(1, [1, 2, 3], { scorePrompt, maxTokens: 2 }))
      const rows: Array<number> = []
      drain(scheduler, ({ spans }) => rows.push(...spans.map(({ logitsFrom, to }) => to - logitsFrom)))
      return rows
    }
    assert.deepStrictEqual(wantedS(false), [1, 1])
    assert.deepStrictEqual(wantedS(true), [3, 1])
  })

  it("scores a prompt without sampling", () => {
    const scheduler = new Scheduler({ sequences: 1, positions: 100, prefillRows: 16, pageSize: 1 })
    scheduler.add(order(1, [1, 2, 3], { scorePrompt: true, maxTokens: 0 }))
    assert.deepStrictEqual(drain(scheduler), [2])
  })

  it("keeps rows with equal weights adjacent", () => {
    const scheduler = new Scheduler({ sequences: 8, positions: 100, prefillRows: 64, pageSize: 1 })
    for (const [id, weights] of [3, 1, 3, 2, 1].entries()) scheduler.add(order(id, [id, 9], { weights, maxTokens: 2 }))
    drain(scheduler, ({ spans }) => {
      const weightsS = spans.map(({ sample }) => sample.order.weights)
      assert.deepStrictEqual(weightsS, [...weightsS].sort())
    })
  })

  it("frees what a cancelled order holds, and lets others compute its unfinished prefix", () => {
    const scheduler = new Scheduler({ sequences: 2, positions: 100, prefillRows: 2, pageSize: 1 })
    scheduler.add(order(1, [1, 2, 3, 4, 5], { samples: 3 }))
    scheduler.add(order(2, [1, 2, 3, 4, 5], { maxTokens: 1 }))
    const step = scheduler.plan()
    assert.isDefined(step)
    if (step !== undefined) scheduler.computed(step)
    scheduler.cancel(1)
    assert.deepStrictEqual(scheduler.stats, { waiting: 1, running: 0, free: 100 })
    assert.deepStrictEqual(drain(scheduler), [2, 2, 1])
  })

  const Load = Schema.Array(
    Schema.Struct({
      prompt: Schema.Array(Schema.Literals([1, 2])).check(Schema.isMinLength(1), Schema.isMaxLength(6)),
      /** Leading tokens, which are equal for all orders. */
      before: Schema.Literals([0, 0, 15, 20, 36]),
      samples: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
      maxTokens: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 })),
      weights: Schema.Literals([0, 1])
    })
  ).check(Schema.isMaxLength(12))

  const Geometry = Schema.Struct({
    pageSize: Schema.Literals([1, 3, 4, 16]),
    positions: Schema.Literals([64, 100, 200]),
    /** The number of steps after which the first order is cancelled; 0 never cancels it. */
    cancelAfter: Schema.Literals([0, 0, 2, 9])
  })

  it.prop("leaves in each page position the token that the sample computed there", [Load, Geometry], (
    [load, { cancelAfter, pageSize, positions }]
  ) => {
    const scheduler = new Scheduler({ sequences: 3, positions, prefillRows: 4, pageSize })
    const all = scheduler.stats
    for (const [id, { before, prompt, ...options }] of load.entries()) {
      scheduler.add(order(id, [...Array.from({ length: before }, () => 7), ...prompt], options))
    }
    const cache = Array.from({ length: positions }, () => "")
    let finished = 0
    const onStep = ({ copies, spans }: Step) => {
      for (const { from, length, to } of copies) {
        cache.splice(to * pageSize, length, ...cache.slice(from * pageSize, from * pageSize + length))
      }
      for (const { from, sample, to } of spans) {
        const pages = sample.place?.pages ?? []
        const at = (position: number) =>
          (pages[Math.floor(position / pageSize)] ?? NaN) * pageSize + position % pageSize
        const name = (position: number) => `${sample.order.weights}:${tokenAt(sample, position)}`
        for (let position = 0; position < from; position++) assert.strictEqual(cache[at(position)], name(position))
        for (let position = from; position < to; position++) cache[at(position)] = name(position)
        assert.isBelow(at(to - 1), positions)
        if (to === sample.order.prompt.length + sample.order.maxTokens - 1) finished++
      }
    }
    drain(scheduler, onStep, (steps) => {
      if (steps === cancelAfter) scheduler.cancel(0)
    })
    const samples = (orders: typeof load) => orders.reduce((sum, { samples }) => sum + samples, 0)
    if (cancelAfter === 0) assert.strictEqual(finished, samples(load))
    assert.isAtLeast(finished, samples(load.slice(1)))
    assert.deepStrictEqual(scheduler.stats, all)
  })

  it("holds a prompt's whole pages once for any number of samples, and frees them on cancellation", () => {
    const prompt = Array.from({ length: 1000 }, (_, t) => t * t % 300)
    const scheduler = new Scheduler({ sequences: 128, positions: 32_768, prefillRows: 256, pageSize: 32 })
    const held = (id: number, samples: number) => {
      scheduler.add(order(id, prompt, { samples, maxTokens: 20 }))
      while (scheduler.stats.running < samples) {
        const step = scheduler.plan()
        if (step === undefined) break
        scheduler.computed(step)
        for (const { sample, to } of step.spans) advance(scheduler, sample, to)
      }
      const { free, running } = scheduler.stats
      assert.strictEqual(running, samples)
      return (32_768 - free) / 32
    }
    assert.strictEqual(held(1, 1), 31 + 1)
    scheduler.cancel(1)
    assert.deepStrictEqual(scheduler.stats, { waiting: 0, running: 0, free: 32_768 })
    assert.strictEqual(held(2, 64), 31 + 64)
    scheduler.cancel(2)
    assert.deepStrictEqual(scheduler.stats, { waiting: 0, running: 0, free: 32_768 })
  })

  it("recomputes a prompt after its whole shared pages if the page to copy from is needed itself", () => {
    const scheduler = new Scheduler({ sequences: 2, positions: 8, prefillRows: 100, pageSize: 4 })
    const rowsOf = (id: number, prompt: ReadonlyArray<number>) => {
      scheduler.add(order(id, prompt, { maxTokens: 1 }))
      return drain(scheduler)
    }
    assert.deepStrictEqual(rowsOf(1, [1, 2, 3, 4, 5, 6, 7]), [7])
    assert.deepStrictEqual(rowsOf(2, [1, 2, 3, 4, 5, 6, 8]), [3])
    assert.deepStrictEqual(scheduler.stats, { waiting: 0, running: 0, free: 8 })
  })

  it("gives each sample only the positions it can reach, so short samples fit beside a long one", () => {
    const scheduler = new Scheduler({ sequences: 100, positions: 100, prefillRows: 100, pageSize: 1 })
    scheduler.add(order(1, [1, 2], { maxTokens: 59 }))
    scheduler.add(order(2, [3, 4], { samples: 5, maxTokens: 9 }))
    scheduler.plan()
    assert.deepStrictEqual(scheduler.stats, { waiting: 4, running: 2, free: 30 })
    assert.strictEqual(drain(scheduler).length > 0, true)
    assert.deepStrictEqual(scheduler.stats, { waiting: 0, running: 0, free: 100 })
  })

  it("starts a long sample before shorter samples that arrived later", () => {
    const scheduler = new Scheduler({ sequences: 10, positions: 100, prefillRows: 100, pageSize: 1 })
    scheduler.add(order(1, [1], { maxTokens: 30 }))
    scheduler.add(order(2, [2], { maxTokens: 90 }))
    for (let id = 3; id < 20; id++) scheduler.add(order(id, [id], { maxTokens: 30 }))
    const begun: Array<number> = []
    drain(scheduler, ({ spans }) => {
      for (const { sample: { order } } of spans) if (!begun.includes(order.id)) begun.push(order.id)
    })
    assert.deepStrictEqual(begun, [...begun].sort((left, right) => left - right))
  })

  it("starts a sample of the order with the fewest running samples, so large orders do not starve others", () => {
    const scheduler = new Scheduler({ sequences: 4, positions: 100, prefillRows: 100, pageSize: 1 })
    scheduler.add(order(1, [1], { samples: 1000, maxTokens: 5 }))
    scheduler.plan()
    assert.strictEqual(scheduler.stats.running, 4)
    scheduler.add(order(2, [2], { maxTokens: 2 }))
    scheduler.add(order(3, [3], { samples: 1000, maxTokens: 2 }))
    const runningS: Array<ReadonlyArray<number>> = []
    drain(scheduler, ({ spans }) => {
      runningS.push(spans.map(({ sample }) => sample.order.id).sort())
      if (runningS.length > 8) scheduler.cancel(1)
      if (runningS.length > 8) scheduler.cancel(3)
    })
    assert.deepStrictEqual(runningS.slice(0, 6), [
      [1, 1, 1, 1],
      [1, 1, 1, 1],
      [1, 1, 1, 1],
      [1, 1, 1, 1],
      [1, 1, 1, 1],
      [1, 1, 2, 3]
    ])
  })

  it("keeps prompts cached until their positions are needed, and evicts the least recently used first", () => {
    const scheduler = new Scheduler({ sequences: 10, positions: 20, prefillRows: 100, pageSize: 1 })
    const rowsOf = (id: number, prompt: ReadonlyArray<number>) => {
      scheduler.add(order(id, prompt, { maxTokens: 1 }))
      return drain(scheduler)
    }
    const [first, second] = [[1, 1, 1, 1, 1, 1, 1, 1], [2, 2, 2, 2, 2, 2, 2, 2]]
    assert.deepStrictEqual([rowsOf(1, first), rowsOf(2, second)], [[8], [8]])
    assert.deepStrictEqual([rowsOf(3, first), rowsOf(4, second)], [[1], [1]])
    assert.deepStrictEqual(rowsOf(5, [3, 3, 3, 3, 3, 3]), [6])
    assert.deepStrictEqual([rowsOf(6, second), rowsOf(7, first)], [[1], [8]])
  })

  it("keeps a prompt cached if evicting it would not free enough positions for a waiting request", () => {
    const scheduler = new Scheduler({ sequences: 10, positions: 40, prefillRows: 100, pageSize: 4 })
    const prompt = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    scheduler.add(order(1, prompt, { maxTokens: 1 }))
    drain(scheduler)
    scheduler.add(order(2, [20], { maxTokens: 20 }))
    scheduler.plan()
    scheduler.add(order(3, [30], { maxTokens: 24 }))
    scheduler.plan()
    assert.strictEqual(scheduler.stats.running, 1)
    scheduler.cancel(3)
    scheduler.add(order(4, prompt, { maxTokens: 1 }))
    const [, span] = scheduler.plan()?.spans ?? []
    assert.deepStrictEqual([span?.from, span?.to], [8, 9])
  })

  it("queues and cancels ten thousand requests and frees their positions immediately", () => {
    const scheduler = new Scheduler({ sequences: 128, positions: 4096, prefillRows: 256, pageSize: 1 })
    for (let id = 0; id < 10_000; id++) scheduler.add(order(id, [id, id + 1, 7], { maxTokens: 40 }))
    for (let step = 0; step < 5; step++) {
      const planned = scheduler.plan()
      if (planned !== undefined) scheduler.computed(planned)
    }
    assert.isAbove(scheduler.stats.running, 80)
    for (let id = 0; id < 9_999; id++) scheduler.cancel(id)
    assert.deepStrictEqual(scheduler.stats, { waiting: 1, running: 0, free: 4096 })
    assert.strictEqual(drain(scheduler).length, 40)
  })
})

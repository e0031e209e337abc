import { LossValue } from "@effect-rl/core/backend"
import type { Gradients } from "@effect-rl/engine/model/Gradients"
import * as Pass from "@effect-rl/engine/model/Pass"
import * as PrefixTree from "@effect-rl/engine/model/PrefixTree"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as TinyModel from "../TinyModel.ts"

const Seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1e6 }))

/** Conversations that branch at any depth. Some end where others continue, and weights are often 0. */
const forks = (model: TinyModel.TinyModel, seed: number) => {
  const next = TinyModel.uniform(seed)
  const upTo = (most: number) => 1 + Math.floor(next() * most)
  const grow = (prefix: ReadonlyArray<number>, depth: number): ReadonlyArray<ReadonlyArray<number>> => {
    const text = [...prefix, ...Array.from({ length: upTo(6) }, () => Math.floor(next() * model.config.vocabularySize))]
    if (depth === 0 || next() < 0.2) return [text]
    const children = Array.from({ length: upTo(3) }, () => grow(text, depth - 1)).flat()
    return next() < 0.3 ? [text, ...children] : children
  }
  const texts = [...grow([], 3), ...grow([], 2), ...grow([], 0)].sort(() => next() - 0.5)
  const weights = texts.map((text) => Float32Array.from(text, () => next() < 0.4 ? 0 : next() - 0.4))
  const examples = texts.map((text, index): Pass.Example => ({
    tokens: Int32Array.from(text),
    targets: Int32Array.from(text, () => Math.floor(next() * model.config.vocabularySize)),
    candidates: 1,
    learned: Uint8Array.from(weights[index] ?? [], (weight) => weight === 0 ? 0 : 1)
  }))
  return { examples, weights }
}

type Run = typeof Pass.forwardBackward

/** The result of a pass and the gradient that it adds. */
const outcome = (
  run: Run,
  model: TinyModel.TinyModel,
  { gradients: block, layout, packed }: TinyModel.TinyAdapter,
  examples: ReadonlyArray<Pass.Example>,
  weights: ReadonlyArray<Float32Array>
) => {
  const gradients: Gradients = { adapter: { packed, block } }
  const view = Memory.floats(model.memory, block, layout.parameterFloats).fill(0)
  const { logprobs, loss } = run(
    model,
    examples,
    gradients,
    (own, index) => LossValue.crossEntropy(own, { weights: weights[index] ?? new Float32Array() })
  )
  return { logprobs, loss, gradient: view.slice() }
}

/** The results of separate passes over each sequence, in which every position counts as learned. */
const apart = (
  model: TinyModel.TinyModel,
  adapter: TinyModel.TinyAdapter,
  examples: ReadonlyArray<Pass.Example>,
  weights: ReadonlyArray<Float32Array>
) => {
  const each = examples.map(({ candidates, targets, tokens }, index) =>
    outcome(Pass.forwardBackward, model, adapter, [{ tokens, targets, candidates }], [
      weights[index] ?? new Float32Array()
    ])
  )
  const gradient = new Float32Array(adapter.layout.parameterFloats)
  for (const one of each) one.gradient.forEach((value, i) => gradient[i] = (gradient[i] ?? 0) + value)
  return {
    logprobs: each.flatMap(({ logprobs }) => logprobs),
    loss: each.reduce((sum, { loss }) => sum + loss, 0),
    gradient
  }
}

const largest = (values: Float32Array) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)

/** The distance between one pass over all sequences and separate passes, relative to the largest value. */
const distances = (run: Run, model: TinyModel.TinyModel, adapter: TinyModel.TinyAdapter, seed: number) => {
  const { examples, weights } = forks(model, seed)
  const together = outcome(run, model, adapter, examples, weights)
  const expected = apart(model, adapter, examples, weights)
  assert.deepStrictEqual(together.logprobs, expected.logprobs)
  return {
    loss: Math.abs(together.loss - expected.loss) / (1 + Math.abs(expected.loss)),
    gradient: largest(together.gradient.map((value, i) => value - (expected.gradient[i] ?? 0))) /
      largest(expected.gradient)
  }
}

const families = [["qwen3", TinyModel.qwen3], ["llama", TinyModel.llama], ["qwen2", TinyModel.qwen2]] as const

describe("a pass over sequences that share prefixes", () => {
  for (const [name, config] of families) {
    const model = TinyModel.make(config)
    const adapter = TinyModel.adapter(model, { rank: 5 })

    it.prop(
      `has bit-identical log-probabilities and the summed gradient of separate passes: ${name}`,
      [Seed],
      ([seed]) => {
        const { gradient, loss } = distances(Pass.forwardBackward, model, adapter, seed)
        assert.isBelow(loss, 1e-5)
        assert.isBelow(gradient, 1e-5)
      },
      { arbitrary: { runs: 15 } }
    )
  }

  const model = TinyModel.make(TinyModel.qwen3)
  const adapter = TinyModel.adapter(model, { rank: 5 })

  /** A pass whose loss derivatives are multiplied at rows that several sequences share. */
  const withSlopes =
    (factor: (sharers: number, isFirst: boolean) => number): Run => (compute, examples, gradients, lossOf) => {
      const { ids, rowsB } = PrefixTree.make(examples)
      const sharers = new Int32Array(ids.length)
      for (const row of rowsB.flatMap((rows) => [...rows])) sharers[row] = (sharers[row] ?? 0) + 1
      const isSeen = new Uint8Array(ids.length)
      return Pass.forwardBackward(compute, examples, gradients, (logprobs, index, logprobsE) => {
        const { gradient, loss } = lossOf(logprobs, index, logprobsE)
        const scaled = Float64Array.from(gradient, (slope, t) => {
          const row = rowsB[index]?.[t] ?? 0
          const isFirst = isSeen[row] === 0
          isSeen[row] = 1
          return slope * factor(sharers[row] ?? 1, isFirst)
        })
        return { loss, gradient: scaled }
      })
    }

  const mutants: ReadonlyArray<readonly [string, Run]> = [
    ["a prefix counts once for every row of it", withSlopes((sharers) => sharers)],
    ["a prefix counts for its first sequence alone", withSlopes((_, isFirst) => isFirst ? 1 : 0)]
  ]
  for (const [name, mutant] of mutants) {
    it(`would have a wrong gradient if ${name}`, () => {
      assert.isTrue([1, 2, 3, 4, 5].every((seed) => distances(mutant, model, adapter, seed).gradient > 1e-3))
    })
  }

  /** The examples of `forks`, of which only some unlearned positions are read. */
  const readSome = (seed: number) => {
    const { examples, weights } = forks(model, seed)
    const next = TinyModel.uniform(seed + 1)
    const reading = examples.map((example) => ({
      ...example,
      read: example.tokens.map((_, t) => example.learned?.[t] === 1 || next() < 0.2 ? 1 : 0)
    })).map((example) => ({ ...example, read: Uint8Array.from(example.read) }))
    return { examples, reading, weights }
  }

  it.prop(
    "matches a pass that reads all positions at those that are read, and returns NaN elsewhere",
    [Seed],
    ([seed]) => {
      const { examples, reading, weights } = readSome(seed)
      const all = outcome(Pass.forwardBackward, model, adapter, examples, weights)
      const some = outcome(Pass.forwardBackward, model, adapter, reading, weights)
      const expected = all.logprobs.map((own, index) =>
        own.map((logprob, t) => reading[index]?.read[t] === 1 ? logprob : NaN)
      )
      assert.deepStrictEqual(some.logprobs, expected)
      assert.strictEqual(some.loss, all.loss)
      const distance = largest(some.gradient.map((value, i) => value - (all.gradient[i] ?? 0)))
      assert.isAtMost(distance, 1e-5 * largest(all.gradient))
      assert.deepStrictEqual(Pass.forward(model, reading, adapter.packed), expected)
    },
    { arbitrary: { runs: 15 } }
  )

  /** The number of logit rows and feed-forward rows that a pass without a gradient computes. */
  const work = (examples: ReadonlyArray<Pass.Example>) => {
    const { kernels } = model
    let [logits, feedForward] = [0, 0]
    const counting: typeof kernels = {
      ...kernels,
      maskColumns: (values, rows, ...rest) => {
        logits += rows
        kernels.maskColumns(values, rows, ...rest)
      },
      siluForward: (out, gate, up, count) => {
        feedForward += count / model.config.feedForwardSize
        kernels.siluForward(out, gate, up, count)
      }
    }
    const gradients: Gradients = { adapter: { packed: adapter.packed, block: adapter.gradients } }
    Pass.forwardBackward(
      { ...model, kernels: counting },
      examples,
      gradients,
      (own) => ({ loss: 0, gradient: own.map(() => 0) })
    )
    return { logits, feedForward }
  }

  const flags = (...values: ReadonlyArray<number>) => Uint8Array.from(values)

  it("skips logits of unread positions, most of their last layer, and everything after the last read position", () => {
    const tokens = Int32Array.of(1, 2, 3, 4, 5, 6)
    const other = Int32Array.of(1, 2, 3, 9, 8, 7)
    const example = (tokens: Int32Array, flags?: Uint8Array): Pass.Example => ({
      tokens,
      targets: tokens,
      candidates: 1,
      ...(flags === undefined ? {} : { learned: flags, read: flags })
    })
    const { layers } = model.config
    assert.deepStrictEqual(work([example(tokens), example(other)]), { logits: 9, feedForward: layers * 9 })
    const answers = [example(tokens, flags(0, 0, 1, 1, 1, 0)), example(other, flags(0, 0, 1, 1, 0, 0))]
    assert.deepStrictEqual(work(answers), { logits: 4, feedForward: (layers - 1) * 6 + 4 })
    assert.deepStrictEqual(work([example(tokens, new Uint8Array(6))]), { logits: 0, feedForward: 0 })
  })

  it("refuses a loss with a gradient at a position declared as having none", () => {
    const tokens = Int32Array.of(1, 2, 3)
    const example = { tokens, targets: tokens, candidates: 1, learned: Uint8Array.of(1, 0, 1) }
    assert.throws(
      () => outcome(Pass.forwardBackward, model, adapter, [example], [Float32Array.of(1, 1, 1)]),
      "a loss has a gradient at position 1, which is not learned"
    )
  })
})

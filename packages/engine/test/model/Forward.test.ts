import * as Batch from "@effect-rl/engine/model/Batch"
import * as Forward from "@effect-rl/engine/model/Forward"
import * as Head from "@effect-rl/engine/model/Head"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Pass from "@effect-rl/engine/model/Pass"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { assert, describe, it } from "@effect/vitest"
import * as TinyModel from "../TinyModel.ts"
import * as Reference from "./Reference.ts"

const example = (tokens: Int32Array): Pass.Example => ({
  tokens: tokens.subarray(0, -1),
  targets: tokens.subarray(1),
  candidates: 1
})

const referenceTensors = (model: TinyModel.TinyModel): Reference.Tensors =>
  new Map(
    model.base.tensors.map(({ offset, size, slot }) => [
      slot.name,
      Memory.floats(model.memory, model.block + offset * 4, size).slice()
    ])
  )

/** A sequence's log-probabilities computed as a sampler does: some rows together, then one row at a time. */
const stepwise = (
  model: TinyModel.TinyModel,
  adapter: TinyModel.TinyAdapter,
  tokensT: Int32Array,
  firstRows: number,
  beside: Int32Array
): Float32Array => {
  const { arena, config } = model
  const cache = Batch.cacheLayout(config, 2 * config.contextLength)
  const base = arena.allocate(cache.bytes / 4)
  const out = new Float32Array(tokensT.length - 1)
  for (let from = 0; from < out.length;) {
    const count = from === 0 ? firstRows : 1
    const rows = Array.from({ length: count }, (_, i) => from + i)
    const besideRows = Array.from({ length: from === 0 ? beside.length : 0 }, (_, i) => i)
    const mark = arena.mark()
    const groups = [
      { start: 0, rows: besideRows.length, adapter: undefined },
      { start: besideRows.length, rows: count, adapter: adapter.packed }
    ]
    const batch = Batch.make(model, {
      ids: [...besideRows.map((t) => beside[t] ?? 0), ...rows.map((t) => tokensT[t] ?? 0)],
      positions: [...besideRows, ...rows],
      segments: [
        { place: config.contextLength, before: 0, rows: besideRows.length, parent: -1 },
        { place: 0, before: from, rows: count, parent: -1 }
      ],
      base,
      cache,
      groups
    })
    const x = Forward.run(model, batch)
    const logits = Head.forwardAt(model, groups, x, rows.map((_, i) => besideRows.length + i))
    rows.forEach((t, row) => {
      out[t] = Head.logprob(model, logits, row, tokensT[t + 1] ?? 0)
    })
    arena.reset(mark)
    from += count
  }
  return out
}

describe("Forward", () => {
  const configs: ReadonlyArray<readonly [string, ModelConfig]> = [
    ["qwen3", TinyModel.qwen3],
    ["llama", TinyModel.llama]
  ]
  for (const [name, config] of configs) {
    it(`matches a float64 model: ${name}`, () => {
      const model = TinyModel.make(config)
      const [tokens = new Int32Array()] = TinyModel.tokens(config, [40], 21)
      const { targets, tokens: inputs } = example(tokens)
      const expected = Reference.logprobs(config, referenceTensors(model), inputs, targets)
      const [actual = new Float32Array()] = Pass.forward(model, [example(tokens)], undefined)
      expected.forEach((logprob, t) => assert.closeTo(actual[t] ?? 0, logprob, 1e-4))
    })

    it(`is bit-identical for a sequence alone and in any batch: ${name}`, () => {
      const model = TinyModel.make(config)
      const adapter = TinyModel.adapter(model, { rank: 8 })
      const sequences = TinyModel.tokens(config, [30, 2, 17, 44, 9], 22)
      const together = Pass.forward(model, sequences.map(example), adapter.packed)
      sequences.forEach((tokens, index) => {
        const [alone] = Pass.forward(model, [example(tokens)], adapter.packed)
        assert.deepStrictEqual(alone, together[index])
        for (const firstRows of [1, 2, 7].filter((rows) => rows < tokens.length)) {
          const mark = model.arena.mark()
          const beside = (sequences[0] ?? tokens).subarray(0, 5 * firstRows % 11)
          assert.deepStrictEqual(stepwise(model, adapter, tokens, firstRows, beside), together[index])
          model.arena.reset(mark)
        }
      })
    })
  }

  it("is bit-identical when it keeps records for the backward pass", () => {
    const model = TinyModel.make(TinyModel.qwen3)
    const adapter = TinyModel.adapter(model, { rank: 8 })
    const examples = TinyModel.tokens(model.config, [30, 12], 23).map(example)
    const kept = Pass.forwardBackward(
      model,
      examples,
      { adapter: { packed: adapter.packed, block: adapter.gradients } },
      (logprobs) => ({ loss: 0, gradient: logprobs.map(() => 1) })
    )
    assert.deepStrictEqual(kept.logprobs, Pass.forward(model, examples, adapter.packed))
  })

  it("computes the same results in the upper half of the address space", () => {
    const passes = [0, 2 ** 31 + 4096].map((before) => {
      const model = TinyModel.make(TinyModel.qwen3, { before })
      const adapter = TinyModel.adapter(model, { rank: 8 })
      const examples = TinyModel.tokens(model.config, [30, 12], 27).map(example)
      const { logprobs } = Pass.forwardBackward(
        model,
        examples,
        { adapter: { packed: adapter.packed, block: adapter.gradients } },
        (logprobs) => ({ loss: 0, gradient: logprobs.map(() => 1) })
      )
      return [logprobs, Memory.floats(model.memory, adapter.gradients, adapter.layout.parameterFloats).slice()]
    })
    assert.deepStrictEqual(passes[0], passes[1])
  })

  it("computes with bf16 rows as with their rounded values", () => {
    const rounded = TinyModel.make(TinyModel.qwen3)
    for (const { offset, size, slot } of rounded.base.tensors) {
      if (slot.shape.length === 1) continue
      const place = rounded.block + offset * 4
      rounded.kernels.narrowBf16(place, place, size)
      const narrow = new Uint16Array(rounded.memory.buffer, place, size).slice()
      Memory.floats(rounded.memory, place, size).set(
        Float32Array.from(narrow, (bits) => new Float32Array(Uint32Array.of(bits << 16).buffer)[0] ?? 0)
      )
    }
    rounded.repack()
    const half = TinyModel.make(TinyModel.qwen3, { stored: "BF16" })
    const examples = TinyModel.tokens(half.config, [33, 1, 8].map((n) => n + 1), 24).map(example)
    assert.deepStrictEqual(Pass.forward(half, examples, undefined), Pass.forward(rounded, examples, undefined))
  })

  it("never gives probability to padding ids", () => {
    const model = TinyModel.make({ ...TinyModel.qwen3, vocabularySize: 57 })
    const [tokens = new Int32Array()] = TinyModel.tokens(model.config, [3], 25)
    const all = Array.from({ length: 57 }, (_, id) => id)
    const [logprobs = new Float32Array()] = Pass.forward(
      model,
      [{ tokens, targets: Int32Array.from([...all, ...all, ...all]), candidates: 57 }],
      undefined
    )
    for (const t of [0, 1, 2]) {
      const sum = logprobs.subarray(t * 57, (t + 1) * 57).reduce((total, logprob) => total + Math.exp(logprob), 0)
      assert.closeTo(sum, 1, 1e-5)
    }
  })

  for (const records of ["kept", "recomputed"] as const) {
    it(`fits into its calculated scratch space, with records ${records}`, () => {
      for (const config of [TinyModel.qwen3, TinyModel.llama]) {
        const size = { rows: 300, longest: 60, targets: 600, paddedRank: 16 }
        const model = TinyModel.make(config)
        const adapter = TinyModel.adapter(model, { rank: 16 })
        const bytes = Pass.scratchBytes(config, size, records)
        const arena = Memory.arena(model.reserver.reserve(bytes))
        const examples = TinyModel.tokens(config, [60, 60, 60, 60, 60], 26).map((tokens): Pass.Example => ({
          tokens,
          targets: new Int32Array(120),
          candidates: 2
        }))
        Pass.forwardBackward(
          { ...model, arena },
          examples,
          { adapter: { packed: adapter.packed, block: adapter.gradients } },
          (logprobs) => ({ loss: 0, gradient: logprobs.map(() => 1) })
        )
        assert.isAbove(arena.peak(), 0.8 * bytes)
      }
    })
  }
})

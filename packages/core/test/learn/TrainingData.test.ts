import { Advantage, Credit } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import { Signal, TrainingData } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Option, Result, Schema } from "effect"
import * as Golden from "./Golden.ts"
import * as Samples from "./Samples.ts"

const { turn } = Samples

/** The datums of a group. Its first member has these turns and this advantage; its second has nothing to train on. */
const assembleOne = (turns: ReadonlyArray<Trajectory.Transition>, advantage = 1) => {
  const members = [Samples.trajectory(...turns), Samples.trajectory()].map(Option.some)
  const informative = Signal.informative([Samples.group([1, 0], { members })])
  assert.lengthOf(informative, 1)
  const fixed = Advantage.make("fixed", () => Float32Array.of(advantage, 0))
  return informative.flatMap((group) => TrainingData.assemble(group, fixed).data)
}

const textOf = (chunk: ModelInput.Chunk) => chunk._tag === "EncodedText" ? Array.from(chunk.tokens) : chunk

const arraysOf = ({ inputs, modelInput }: TrainingData.TrainingDatum) => ({
  input: modelInput.chunks.map(textOf),
  targets: Array.from(inputs.targetTokens),
  logprobs: Array.from(inputs.logprobs),
  advantages: Array.from(inputs.advantages),
  mask: Array.from(inputs.mask)
})

const masksOf = (data: ReadonlyArray<TrainingData.TrainingDatum>) => data.map(({ inputs }) => inputs.mask.join(" "))

/** Three turns, each of which reads everything before it. */
const conversation = (trainable: readonly [boolean, boolean, boolean] = [true, true, true]) => [
  turn([1, 2, 3, 4, 5], [10, 11, 12], [-0.5, -0.25, -0.125], { trainable: trainable[0] }),
  turn([1, 2, 3, 4, 5, 10, 11, 12, 20, 21], [30, 31], [-1, -2], { trainable: trainable[1] }),
  turn([1, 2, 3, 4, 5, 10, 11, 12, 20, 21, 30, 31, 40], [50, 51, 52], [-3, -4, -5], { trainable: trainable[2] })
]

describe("TrainingData.assemble", () => {
  it("joins turns that continue each other in one datum, with targets shifted by one", () => {
    assert.deepStrictEqual(assembleOne(conversation(), 0.25).map(arraysOf), [{
      input: [[1, 2, 3, 4, 5, 10, 11, 12, 20, 21, 30, 31, 40, 50, 51]],
      targets: [2, 3, 4, 5, 10, 11, 12, 20, 21, 30, 31, 40, 50, 51, 52],
      logprobs: [0, 0, 0, 0, -0.5, -0.25, -0.125, 0, 0, -1, -2, 0, -3, -4, -5],
      advantages: [0, 0, 0, 0, 0.25, 0.25, 0.25, 0, 0, 0.25, 0.25, 0, 0.25, 0.25, 0.25],
      mask: [0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1]
    }])
  })

  it("records the provenance of its tokens, if the backend names sequences", () => {
    const named = conversation().map((one, index) => ({ ...one, action: { ...one.action, sequenceId: `s${index}` } }))
    const [datum] = assembleOne(named)
    const shown = (spans: ReadonlyArray<Datum.Span> = []) =>
      spans.map(({ length, of, offset, sequenceId }) => `${of} ${sequenceId} ${offset}+${length}`)
    assert.deepStrictEqual(shown(datum?.provenance?.modelInput), [
      "prompt s0 0+5",
      "sampled s0 0+3",
      "prompt s1 8+2",
      "sampled s1 0+2",
      "prompt s2 12+1",
      "sampled s2 0+2"
    ])
    assert.deepStrictEqual(shown(datum?.provenance?.targets), [
      "prompt s0 1+4",
      "sampled s0 0+3",
      "prompt s1 8+2",
      "sampled s1 0+2",
      "prompt s2 12+1",
      "sampled s2 0+3"
    ])
    assert.notProperty(assembleOne([...named.slice(0, 2), ...conversation().slice(2)])[0], "provenance")
  })

  it("records the sampler step of each target, if the turns have it", () => {
    const told = conversation().map((one, index) => ({ ...one, action: { ...one.action, samplerStep: 7 + index } }))
    assert.deepStrictEqual(
      assembleOne(told)[0]?.samplerSteps,
      Int32Array.of(-1, -1, -1, -1, 7, 7, 7, -1, -1, 8, 8, -1, 9, 9, 9)
    )
    assert.notProperty(assembleOne(conversation())[0], "samplerSteps")
  })

  it("masks only the action of a single turn", () => {
    assert.deepStrictEqual(masksOf(assembleOne([turn([1, 2, 3], [10, 11, 12])])), ["0 0 1 1 1"])
  })

  it("starts another datum if a turn rewrites history", () => {
    const data = assembleOne([turn([1, 2, 3], [10, 11], [-1, -2]), turn([50, 51, 52], [60, 61], [-3, -4])], -0.75)
    assert.deepStrictEqual(data.map(arraysOf), [
      {
        input: [[1, 2, 3, 10]],
        targets: [2, 3, 10, 11],
        logprobs: [0, 0, -1, -2],
        advantages: [0, 0, -0.75, -0.75],
        mask: [0, 0, 1, 1]
      },
      {
        input: [[50, 51, 52, 60]],
        targets: [51, 52, 60, 61],
        logprobs: [0, 0, -3, -4],
        advantages: [0, 0, -0.75, -0.75],
        mask: [0, 0, 1, 1]
      }
    ])
  })

  it("trains on what the policy wrote and not on tool answers", () => {
    const prompt = [100, 101, 200, 201, 500]
    const data = assembleOne([turn(prompt, [300, 301]), turn([...prompt, 300, 301, 400, 401, 500], [310, 311])])
    assert.deepStrictEqual(masksOf(data), ["0 0 0 0 1 1 0 0 0 1 1"])
  })

  it("keeps an untrainable turn as context, with its log-probabilities", () => {
    const middle = assembleOne(conversation([true, false, true]), 2).map(arraysOf)
    assert.deepStrictEqual(middle.map(({ mask }) => mask.join(" ")), ["0 0 0 0 1 1 1 0 0 0 0 0 1 1 1"])
    assert.deepStrictEqual(middle.map(({ advantages }) => advantages.join(" ")), ["0 0 0 0 2 2 2 0 0 0 0 0 2 2 2"])
    assert.deepStrictEqual(middle.map(({ logprobs }) => logprobs.slice(9, 11)), [[-1, -2]])
    const last = assembleOne(conversation([true, true, false]))
    assert.deepStrictEqual(masksOf(last), ["0 0 0 0 1 1 1 0 0 1 1 0 0 0 0"])
  })

  it("includes images: they take their positions, and none is a target", () => {
    const image = { _tag: "Image", data: Uint8Array.of(1, 2, 3), format: "png", expectedTokens: 3 } as const
    const sameImage = { ...image, data: Uint8Array.of(1, 2, 3) }
    const see = (seen: ModelInput.Image, ...after: ReadonlyArray<number>) =>
      ModelInput.append(ModelInput.fromChunks([{ _tag: "EncodedText", tokens: Int32Array.of(1, 2) }, seen]), after)
    const first = turn(see(image, 7), [10, 11], [-0.5, -0.25])
    assert.deepStrictEqual(
      assembleOne([first, turn(see(sameImage, 7, 10, 11, 8), [12], [-0.125])], 0.5).map(arraysOf),
      [{
        input: [[1, 2], sameImage, [7, 10, 11, 8]],
        targets: [2, 0, 0, 0, 7, 10, 11, 8, 12],
        logprobs: [0, 0, 0, 0, 0, -0.5, -0.25, 0, -0.125],
        advantages: [0, 0, 0, 0, 0, 0.5, 0.5, 0, 0.5],
        mask: [0, 0, 0, 0, 0, 1, 1, 0, 1]
      }]
    )
    const otherImage = { ...image, data: Uint8Array.of(9) }
    assert.lengthOf(assembleOne([first, turn(see(otherImage, 7, 10, 11, 8), [12])]), 2)
    const zeros = turn([1, 2, 0, 0, 0, 7, 10, 11, 8], [12])
    assert.lengthOf(assembleOne([first, zeros]), 2, "an image is not as many zeros")
  })

  it("has an advantage per member and records the origin of each datum", () => {
    const members = [
      Option.some(Samples.trajectory(turn([1, 2], [3]), turn([1, 2, 3, 4], [5]), turn([9], [6]))),
      Option.none(),
      Option.some(Samples.trajectory()),
      Option.some(Samples.trajectory(turn([1, 2], [7])))
    ]
    const informative = Signal.informative([
      Samples.group([1, 0], { iteration: 7, key: "a", samplerStep: 3 }),
      Samples.group([1, undefined, 0, 0], { iteration: 8, key: "b", samplerStep: 4, members })
    ])
    assert.lengthOf(informative, 2)
    const data = informative.flatMap((group) => TrainingData.assemble(group, Advantage.centered).data)
    const a = { iteration: 7, group: "a", samplerStep: 3, turns: [0], segment: 0 }
    const b = { iteration: 8, group: "b", samplerStep: 4, segment: 0 }
    assert.deepStrictEqual(data.map(({ origin }) => origin), [
      { ...a, member: 0 },
      { ...a, member: 1 },
      { ...b, member: 0, turns: [0, 1] },
      { ...b, member: 0, turns: [2], segment: 1 },
      { ...b, member: 3, turns: [0] }
    ])
    assert.deepStrictEqual(data.map(({ origin }) => Datum.idOf(origin)), [
      "7/a/m0/s0",
      "7/a/m1/s0",
      "8/b/m0/s0",
      "8/b/m0/s1",
      "8/b/m3/s0"
    ])
    assert.deepStrictEqual(data.map(({ inputs }) => inputs.advantages.at(-1)), [
      0.5,
      -0.5,
      0.6666666865348816,
      0.6666666865348816,
      -0.3333333432674408
    ])
  })

  it("joins a turn to the turn that it continues, and trains the tokens that parallel branches share once", () => {
    const root = turn([1, 2], [3])
    const left = turn([1, 2, 3, 4], [5])
    const right = turn([1, 2, 3, 6], [7], undefined, { branch: { after: 0, reason: "parallel" } })
    const leftAgain = turn([1, 2, 3, 4, 5, 8], [9], undefined, { branch: { after: 1, reason: "parallel" } })
    const rightAgain = turn([1, 2, 3, 6, 7, 10], [11], undefined, { branch: { after: 2, reason: "parallel" } })
    const data = assembleOne([root, left, right, leftAgain, rightAgain])
    assert.deepStrictEqual(data.map(({ origin }) => origin.turns), [[0, 1, 3], [2, 4]])
    assert.deepStrictEqual(data.map(({ inputs }) => [...inputs.targetTokens]), [[2, 3, 4, 5, 8, 9], [
      2,
      3,
      6,
      7,
      10,
      11
    ]])
    assert.deepStrictEqual(masksOf(data), ["0 1 0 1 0 1", "0 0 0 1 0 1"])
  })

  it("starts another datum if a turn does not begin with the turn that it claims to continue", () => {
    const other = turn([1, 9], [5], undefined, { branch: { after: 0, reason: "parallel" } })
    assert.deepStrictEqual(masksOf(assembleOne([turn([1, 2], [3]), other])), ["0 1", "0 1"])
  })

  const failing: ReadonlyArray<readonly [title: string, estimator: Advantage.Estimator, message: RegExp]> = [
    [
      "gives NaN for a member",
      Advantage.make("nan", ({ group }) => Float32Array.from(group.members, (_, member) => member === 1 ? NaN : 0)),
      /^estimator "nan" gave NaN for group "g", member 1, expected a finite number$/
    ],
    [
      "gives an infinite value for a token",
      Advantage.perToken("far", () => (member, _turn, position) => member === 1 && position === 0 ? Infinity : 0),
      /^estimator "far" gave Infinity for group "g", member 1, turn 0, position 0 of 2, expected a finite number$/
    ],
    [
      "gives too few values",
      Advantage.make("short", () => Float32Array.of(1)),
      /^estimator "short" gave 1 advantages for group "g", expected one for each of its 2 members$/
    ],
    [
      "throws",
      Advantage.make("thrower", () => {
        throw new TypeError("no weights")
      }),
      /^estimator "thrower" failed for group "g": TypeError: no weights \(TrainingData\.test\.ts:\d+\)$/
    ]
  ]

  it.each(failing)("throws a CreditError with the place if an estimator %s", (_, estimator, message) => {
    const [group] = Signal.informative([Samples.group([1, 0])])
    assert.isDefined(group)
    const assembled = Result.try(() => TrainingData.assemble(group, estimator))
    assert.isTrue(Result.isFailure(assembled))
    if (Result.isSuccess(assembled)) return
    assert.instanceOf(assembled.failure, Credit.CreditError)
    assert.match(assembled.failure.message, message)
  })
})

const toChunk = (chunk: Golden.Chunk): ModelInput.Chunk => {
  switch (chunk.type) {
    case "encoded_text":
      return { _tag: "EncodedText", tokens: Int32Array.from(chunk.tokens) }
    case "image":
      return {
        _tag: "Image",
        data: new TextEncoder().encode(chunk.data_base64),
        format: chunk.format,
        expectedTokens: chunk.expected_tokens
      }
    case "image_asset_pointer":
      return {
        _tag: "Image",
        data: new TextEncoder().encode(chunk.location),
        format: chunk.format,
        expectedTokens: chunk.expected_tokens
      }
  }
}

describe("TrainingData.assemble compared with tinker-cookbook", () => {
  const turnsOf = ({ input }: (typeof Golden.datums)[number]) =>
    input.transitions.map(({ ac, metrics, ob }) =>
      turn(ModelInput.fromChunks(ob.map(toChunk)), ac.tokens, ac.logprobs ?? [], {
        trainable: !((metrics["parse_error_masked"] ?? 0) >= 1)
      })
    )

  const assembled = Golden.datums.flatMap((recorded) =>
    "datums" in recorded.expect ? [{ ...recorded, ...recorded.expect }] : []
  )
  const refused = Golden.datums.flatMap((recorded) =>
    "error" in recorded.expect ? [{ ...recorded, ...recorded.expect }] : []
  )

  // Upstream gives arrays without an action token the type int64. Only values are compared.
  it.each(assembled)("makes the same datums ($id)", (recorded) => {
    assert.deepStrictEqual(
      assembleOne(turnsOf(recorded), recorded.input.advantage).map((datum) => ({
        length: datum.modelInput.length,
        ...arraysOf(datum)
      })),
      recorded.datums.map((datum) => ({
        length: datum.input_length,
        input: datum.input_chunks.map(toChunk).map(textOf),
        targets: datum.target_tokens,
        logprobs: datum.logprobs,
        advantages: datum.advantages,
        mask: datum.mask
      }))
    )
  })

  it.each(Golden.assemblies)("gives each datum its member's advantage ($id)", ({ expect, input }) => {
    const results = input.groups.map((group) =>
      Samples.group(Samples.totals(group), {
        members: group.step_rewards.map((steps) =>
          Option.some(Samples.trajectory(...steps.map((_, k) => turn([100 + k, 200 + k], [7, 8], [-0.5, -0.25]))))
        )
      })
    )
    const data = results.flatMap((result, groupIndex) =>
      Signal.informative([result]).flatMap((group) =>
        TrainingData.assemble(group, Advantage.centered).data.map((datum) => ({ groupIndex, datum }))
      )
    )
    // tinker-cookbook makes datums without an advantage from constant groups; this library makes none.
    const isInformative = (groupIndex: number) => data.some((made) => made.groupIndex === groupIndex)
    const expected = expect.datum_owners.flatMap(([groupIndex, member], index) =>
      isInformative(groupIndex ?? NaN)
        ? [{ owner: [groupIndex, member], mask: expect.datum_masks[index], advantages: expect.datum_advantages[index] }]
        : []
    )
    assert.deepStrictEqual(
      data.map(({ datum, groupIndex }) => ({
        owner: [groupIndex, datum.origin.member],
        mask: Array.from(datum.inputs.mask)
      })),
      expected.map(({ mask, owner }) => ({ owner, mask }))
    )
    data.forEach(({ datum }, index) =>
      datum.inputs.advantages.forEach((advantage, t) =>
        assert.isTrue(Golden.isClose(advantage, expected[index]?.advantages?.[t] ?? NaN), `${index}/${t}`)
      )
    )
  })

  it.each(refused)(
    "refuses malformed turns, and trains on other steps that tinker-cookbook refuses: $error ($id)",
    (recorded) => {
      const turns = turnsOf(recorded)
      switch (recorded.error) {
        case "length_mismatch":
        case "logprobs_missing":
          assert.throws(() => assembleOne(turns), /expected one for each/)
          break
        case "sequence_too_short":
          for (const { inputs } of assembleOne(turns)) assert.isAtLeast(inputs.targetTokens.length, 1)
          break
        default:
          assert.strictEqual(recorded.error, "last_chunk_not_text")
          for (const { inputs } of assembleOne(turns)) assert.strictEqual(inputs.mask.at(-1), 1)
      }
    }
  )

  it("cuts an image at the end, and keeps the tokens before it", () => {
    const image = { _tag: "Image", data: Uint8Array.of(1), format: "png", expectedTokens: 2 } as const
    const answered = ModelInput.append(ModelInput.fromTokens([1, 2, 3]), [4])
    const withImage = ModelInput.fromChunks([...answered.chunks, image])
    assert.deepStrictEqual(
      assembleOne([turn([1, 2], [3]), turn(withImage, [])]).map(arraysOf),
      assembleOne([turn([1, 2], [3])]).map(arraysOf)
    )
    assert.deepStrictEqual(assembleOne([turn(withImage, [])]), [])
  })
})

describe("TrainingData.assemble laws", () => {
  const Tokens = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })))
  const Turns = Schema.Array(Schema.Struct({ reads: Tokens, writes: Tokens, rewrites: Schema.Boolean }))

  /** Plays turns that continue the previous one or read something else. */
  const play = (turns: typeof Turns.Type) => {
    let read: ReadonlyArray<number> = []
    return turns.map(({ reads, rewrites, writes }) => {
      const observation = rewrites ? [9, ...reads] : [...read, ...reads]
      read = [...observation, ...writes]
      return turn(observation, writes)
    })
  }

  it.prop("every action token with a predecessor is trained exactly once", [Turns], ([turns]) => {
    const played = play(turns)
    const written = played.reduce((count, { action, observation }) => {
      const unpredicted = observation.length === 0 && action.tokens.length > 0 ? 1 : 0
      return count + action.tokens.length - unpredicted
    }, 0)
    const data = assembleOne(played)
    const trained = data.flatMap(({ inputs }) => Array.from(inputs.mask)).reduce((sum, counts) => sum + counts, 0)
    assert.strictEqual(trained, written)
  })

  it.prop("all arrays are as long as the input, and zero outside the mask", [Turns], ([turns]) => {
    for (const { inputs, modelInput } of assembleOne(play(turns), 0.5)) {
      const lengths = Object.values(inputs).map(({ length }) => length)
      assert.deepStrictEqual(new Set(lengths), new Set([modelInput.length]))
      inputs.mask.forEach((counts, t) => assert.strictEqual(inputs.advantages[t], counts * 0.5))
      assert.instanceOf(inputs.mask, Float32Array)
      assert.instanceOf(inputs.advantages, Float32Array)
    }
  })
})

import { GroupCodec, type GroupResult, ModelInput, type Trajectory } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"

const codec = Schema.toCodecJson(GroupCodec.group)

/** Through text, as between processes. */
const sent = (result: GroupResult.GroupResult) =>
  Schema.decodeUnknownSync(codec)(JSON.parse(JSON.stringify(Schema.encodeSync(codec)(result))))

const Numbers = Schema.Array(Schema.Number)

/** What JSON has no word for. */
const odd = [NaN, Infinity, -Infinity, -0]

/** In JSON 0 has no sign; in bytes it has. */
const unsigned = (number: number) => number === 0 ? 0 : number

const Turn = Schema.Struct({
  tokens: Schema.Array(Schema.Natural),
  numbers: Numbers,
  reward: Schema.Finite,
  text: Schema.String,
  trainable: Schema.Boolean
})

const Member = Schema.Struct({ turns: Schema.Array(Turn), stop: Schema.Option(Schema.String), dropped: Schema.Boolean })

const trajectory = ({ stop, turns }: typeof Member.Type): Trajectory.Trajectory => ({
  transitions: turns.map(({ numbers, reward, text, tokens, trainable }) => ({
    observation: ModelInput.fromTokens(tokens),
    action: {
      tokens: Int32Array.from(tokens),
      logprobs: Float32Array.from([...numbers, ...odd]),
      stopReason: trainable ? "stop" : "length"
    },
    reward: unsigned(reward),
    trainable,
    metrics: {
      [`mean ${text}`]: { kind: "mean", value: unsigned(numbers[0] ?? NaN) },
      correct: { kind: "rate", hit: trainable }
    },
    logs: { [`text ${text}`]: text, number: unsigned(reward) }
  })),
  stepReward: turns.length / 3,
  stopReason: stop,
  truncations: turns.length
})

const report: GroupResult.FailureReport = { member: 1, attempt: 0, failure: "StepFailed", message: "broke" }

describe("a group that is sent", () => {
  it.prop(
    "arrives as it was, NaN and every bit of a number included",
    [Schema.Array(Member), Numbers],
    ([members, rewards]) => {
      const group: GroupResult.Completed = {
        _tag: "Completed",
        key: "group",
        tags: ["tag"],
        samplerStep: 3,
        members: members.map((member) => member.dropped ? Option.none() : Option.some(trajectory(member))),
        rewardsG: Float64Array.from([...rewards, ...odd]),
        metricsG: members.map(() => ({ judged: { kind: "sum", value: unsigned(rewards[0] ?? 0) } })),
        retried: [report]
      }
      assert.deepStrictEqual(sent(group), group)
      const partial: GroupResult.Partial = { ...group, _tag: "Partial", dropped: [report] }
      assert.deepStrictEqual(sent(partial), partial)
    }
  )

  it("arrives with its images and logs", () => {
    const image: ModelInput.Image = { _tag: "Image", data: Uint8Array.of(1, 2, 255), format: "png", expectedTokens: 4 }
    const member = trajectory({ turns: [], stop: Option.none(), dropped: false })
    const turn = {
      observation: ModelInput.fromChunks([image]),
      action: { tokens: Int32Array.of(1), logprobs: Float32Array.of(NaN), stopReason: "stop" },
      reward: 0,
      trainable: true,
      metrics: {},
      logs: {}
    } as const
    const group: GroupResult.Completed = {
      _tag: "Completed",
      key: "group",
      tags: [],
      samplerStep: 0,
      members: [Option.some({ ...member, transitions: [turn], logs: { why: "too long" } })],
      rewardsG: Float64Array.of(-0),
      metricsG: [{}],
      retried: []
    }
    assert.deepStrictEqual(sent(group), group)
  })

  it("may have been skipped", () => {
    const skipped: GroupResult.Skipped = {
      _tag: "Skipped",
      key: "group",
      tags: [],
      size: 4,
      reason: report,
      dropped: []
    }
    assert.deepStrictEqual(sent(skipped), skipped)
    const below: GroupResult.Skipped = {
      ...skipped,
      reason: { failure: "BelowFloor", finished: 1, floor: 3, message: "1 of 3" },
      dropped: [report]
    }
    assert.deepStrictEqual(sent(below), below)
  })

  it("takes four bytes for each token and for each log-probability, and a third more in JSON", () => {
    const tokens = new Int32Array(30_000)
    const action = { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" } as const
    const turn = { observation: ModelInput.empty, action, reward: 0, trainable: true, metrics: {}, logs: {} }
    const encode = Schema.encodeSync(Schema.toCodecJson(GroupCodec.trajectory))
    const text = JSON.stringify(
      encode({ transitions: [turn], stepReward: 0, stopReason: Option.none(), truncations: 0 })
    )
    assert.isBelow(text.length, 2 * 4 * tokens.length * 4 / 3 + 500)
  })
})

import { Advantage, Credit } from "@effect-rl/core"
import { Weights } from "@effect-rl/core/backend"
import { GroupResult, Signal } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as RecordedLines from "../RecordedLines.ts"
import * as EstimatorRows from "./EstimatorRows.ts"
import * as Samples from "./Samples.ts"

const Numbers = Schema.Array(Schema.Number)
const Rows = Schema.Array(Numbers)

const Grouped = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  input: Schema.Struct({
    peer: Schema.String,
    groups: Schema.Array(Schema.Struct({ rewards: Numbers, lengths: Schema.optional(Schema.Array(Schema.Int)) })),
    params: Schema.optional(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))
  }),
  output: Schema.Struct({
    advantages: Schema.optional(Rows),
    token_advantages: Schema.optional(Schema.Array(Rows))
  })
})

/** TRL's format: the members of all groups in one flat list, with several rewards for each member. */
const Flat = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("centred"),
  input: Schema.Struct({
    peer: Schema.Literal("TRL"),
    components: Rows,
    params: Schema.Struct({ num_generations: Schema.Int, weights: Numbers })
  }),
  output: Schema.Struct({ advantages: Numbers })
})

interface Group {
  /** NaN for a member without a reward. */
  readonly rewards: ReadonlyArray<number>
  readonly lengths: ReadonlyArray<number>
  readonly expected: ReadonlyArray<number>
}

interface Vector {
  readonly id: string
  readonly kind: string
  readonly params: Readonly<Record<string, unknown>>
  readonly groups: ReadonlyArray<Group>
}

/** The weighted sum of rewards. A missing reward counts as 0 if others are given. */
const weighed = (components: ReadonlyArray<number>, weights: ReadonlyArray<number>) =>
  components.every(Number.isNaN)
    ? NaN
    : components.reduce((sum, value, at) => sum + (Number.isNaN(value) ? 0 : value * (weights[at] ?? 0)), 0)

const ofFlat = ({ id, input, kind, output }: typeof Flat.Type): Vector => {
  const { num_generations: size, weights } = input.params
  const rewards = input.components.map((components) => weighed(components, weights))
  return {
    id,
    kind,
    params: {},
    groups: Array.from({ length: rewards.length / size }, (_, index) => ({
      rewards: rewards.slice(index * size, (index + 1) * size),
      lengths: [],
      expected: output.advantages.slice(index * size, (index + 1) * size)
    }))
  }
}

const ofGrouped = ({ id, input, kind, output: { advantages, token_advantages } }: typeof Grouped.Type): Vector => ({
  id,
  kind,
  params: input.params ?? {},
  groups: input.groups.map(({ lengths = [], rewards }, index) => ({
    rewards,
    lengths,
    expected: advantages?.[index] ?? token_advantages?.[index]?.map(([first = NaN]) => first) ?? []
  }))
})

const kinds = [
  "centred",
  "rloo",
  "rloo_vectorized",
  "std",
  "opo",
  "max_rl",
  "pass_at_k",
  "normalization",
  "reinforce_pp",
  "reinforce_pp_baseline"
]

const isFlat = Schema.is(Flat)

const all = EstimatorRows.ofKinds(Schema.Union([Flat, Grouped]), kinds).map((row) =>
  isFlat(row) ? ofFlat(row) : ofGrouped(row)
)

const estimatorOf = ({ kind, params }: Vector): Advantage.Estimator | undefined => {
  switch (kind) {
    case "centred":
      return Advantage.centered
    case "rloo":
    case "rloo_vectorized":
      return Advantage.leaveOneOut
    case "normalization":
      return params["mean_leave1out"] === true ? Advantage.leaveOneOut : Advantage.centered
    case "std":
      return Advantage.normalized("sample")
    case "opo":
      return Advantage.lengthWeighted
    case "max_rl":
      return Advantage.maxRl
    case "pass_at_k":
      return Advantage.passAtK()
    default:
      return undefined
  }
}

const groupOf = ({ lengths, rewards }: Group, index: number) => {
  const known = rewards.map((reward) => Number.isNaN(reward) ? undefined : reward)
  return Samples.group(known, { key: String(index), members: Samples.membersOfLength(lengths, known) })
}

const estimated = (estimator: Advantage.Estimator, group: GroupResult.GroupResult): ReadonlyArray<number> => {
  const [informative] = Signal.informative([group])
  if (informative !== undefined) return Array.from(estimator.of(informative))
  return GroupResult.isSkipped(group) ? [] : group.members.map(() => 0)
}

const isClose = (actual: number | undefined, expected: number, rewards: ReadonlyArray<number>) =>
  actual !== undefined &&
  Math.abs(actual - expected) <=
    1e-5 * Math.max(1, Math.abs(expected), ...rewards.filter((reward) => !Number.isNaN(reward)).map(Math.abs))

const perMember = all.flatMap((vector) => {
  const estimator = estimatorOf(vector)
  return estimator === undefined ? [] : [{ id: vector.id, groups: vector.groups, estimator }]
})

const whitened = all.filter(({ kind }) => kind === "reinforce_pp" || kind === "reinforce_pp_baseline")

describe("advantages recorded from other projects", () => {
  it("are compared, or left out for a reason that VECTORS.md lists", () => {
    assert.deepStrictEqual(
      RecordedLines.counted(EstimatorRows.lines, EstimatorRows.reasonOf),
      RecordedLines.accountOf("core/training/estimators.jsonl.gz")
    )
  })
})

describe("Advantage estimators", () => {
  it.each(perMember)("agree with the recorded implementation ($id)", ({ estimator, groups }) => {
    groups.forEach((group, index) => {
      const actual = estimated(estimator, groupOf(group, index))
      group.expected.forEach((expected, member) =>
        assert.isTrue(
          isClose(actual[member], expected, group.rewards),
          `${index}/${member}: ${actual[member]} vs ${expected}`
        )
      )
    })
  })
})

describe("Credit.batchRelative", () => {
  it.effect.each(whitened)("agrees with the recorded implementation ($id)", (vector) =>
    Effect.gen(function*() {
      const estimator = vector.kind === "reinforce_pp" ? Advantage.reward : Advantage.centered
      const { groups } = yield* Credit.batchRelative(estimator).assign(vector.groups.map(groupOf), null, Weights.absent)
      vector.groups.forEach(({ expected: membersG }, index) =>
        membersG.forEach((expected, member) => {
          const actual = groups[index]?.advantagesG[member]
          assert.isTrue(isClose(actual, expected, [1]), `${index}/${member}: ${actual} vs ${expected}`)
        })
      )
    }))
})

import { Advantage, Credit, GroupResult, Signal } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as Samples from "./Samples.ts"

const Groups = Schema.Array(Schema.Struct({
  rewards: Schema.Array(Schema.Number),
  lengths: Schema.optional(Schema.Array(Schema.Int))
}))

const Advantages = Schema.Array(Schema.Array(Schema.Number))

const Vector = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  input: Schema.Struct({
    peer: Schema.String,
    groups: Groups,
    params: Schema.optional(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))
  }),
  output: Schema.Struct({
    advantages: Schema.optional(Advantages),
    token_advantages: Schema.optional(Schema.Array(Advantages))
  })
})
type Vector = typeof Vector.Type

/** Cases whose input is of another form, such as components of rewards or agents, are left out. */
const all = (TrainingVectors.lines("estimators.jsonl") ?? []).flatMap((line) =>
  Schema.is(Vector)(line) ? [Schema.decodeUnknownSync(Vector)(line)] : []
)

const param = ({ input: { params } }: Vector, name: string) => params?.[name]

const estimatorOf = (vector: Vector): Advantage.Estimator | undefined => {
  switch (vector.kind) {
    case "centred":
      return Advantage.centered
    case "rloo":
    case "rloo_vectorized":
      return Advantage.leaveOneOut
    case "std":
      return Advantage.normalized("sample")
    case "opo":
      return Advantage.lengthWeighted
    case "max_rl":
      return vector.input.peer === "prime-rl" ? Advantage.maxRl : undefined
    case "pass_at_k":
      return param(vector, "norm_by_std") === false ? Advantage.passAtK() : undefined
    default:
      return undefined
  }
}

const groupOf = ({ lengths = [], rewards }: Vector["input"]["groups"][number], index: number) =>
  Samples.group(rewards, { key: String(index), members: Samples.membersOfLength(lengths, rewards) })

/** The peers disagree about a group of one; here it has nothing to compare. */
const comparable = ({ input: { groups } }: Vector) => groups.every(({ rewards }) => rewards.length > 1)

const estimated = (estimator: Advantage.Estimator, group: GroupResult.GroupResult): ReadonlyArray<number> => {
  const { informative: [informative] } = Signal.partition([group])
  if (informative !== undefined) return Array.from(estimator.of(informative))
  return GroupResult.isSkipped(group) ? [] : group.members.map(() => 0)
}

const isClose = (actual: number | undefined, expected: number, rewards: ReadonlyArray<number>) =>
  actual !== undefined &&
  Math.abs(actual - expected) <= 1e-5 * Math.max(1, Math.abs(expected), ...rewards.map(Math.abs))

const perMember = all.flatMap((vector) => {
  const estimator = estimatorOf(vector)
  return estimator === undefined || !comparable(vector) ? [] : [{ id: vector.id, vector, estimator }]
})

const whitened = all.filter((vector) =>
  comparable(vector) &&
  (vector.kind === "reinforce_pp_baseline" || (vector.kind === "reinforce_pp" && param(vector, "gamma") === 1))
)

describe.skipIf(all.length === 0)("Advantage estimators", () => {
  it("are compared with recorded vectors of other projects", () => {
    assert.isAbove(perMember.length, 30)
    assert.isAbove(whitened.length, 3)
  })

  it.each(perMember)("agree with the recorded implementation ($id)", ({ estimator, vector }) => {
    vector.input.groups.forEach((group, index) => {
      const actual = estimated(estimator, groupOf(group, index))
      vector.output.advantages?.[index]?.forEach((expected, member) =>
        assert.isTrue(
          isClose(actual[member], expected, group.rewards),
          `${index}/${member}: ${actual[member]} vs ${expected}`
        )
      )
    })
  })
})

describe.skipIf(all.length === 0)("Credit.batchRelative", () => {
  it.effect.each(whitened)("agrees with the recorded implementation ($id)", (vector) =>
    Effect.gen(function*() {
      const estimator = vector.kind === "reinforce_pp" ? Advantage.reward : Advantage.centered
      const { groups } = yield* Credit.batchRelative(estimator).assign(vector.input.groups.map(groupOf), null)
      const { advantages, token_advantages } = vector.output
      const expected = advantages ?? token_advantages?.map((group) => group.map(([first = NaN]) => first)) ?? []
      expected.forEach((membersG, index) =>
        membersG.forEach((expected, member) => {
          const actual = groups[index]?.advantagesG[member]
          assert.isTrue(isClose(actual, expected, [1]), `${index}/${member}: ${actual} vs ${expected}`)
        })
      )
    }))
})

import { Advantage, Credit, EnvMetric } from "@effect-rl/core"
import { Weights } from "@effect-rl/core/backend"
import { Signal } from "@effect-rl/core/program"
import type { Json } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as EstimatorRows from "./EstimatorRows.ts"
import * as Samples from "./Samples.ts"

const Rows = Schema.Array(Schema.Array(Schema.Number))

const isClose = (actual: number | undefined, expected: number, tolerance: number) =>
  actual !== undefined && Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected))

const assertRows = (
  actual: ReadonlyArray<ArrayLike<number>>,
  expected: ReadonlyArray<ReadonlyArray<number>>,
  tolerance = 1e-6
) =>
  expected.forEach((row, index) =>
    row.forEach((value, member) =>
      assert.isTrue(
        isClose(actual[index]?.[member], value, tolerance),
        `${index}/${member}: ${actual[index]?.[member]} vs ${value}`
      )
    )
  )

const roleVectors = EstimatorRows.ofKinds(
  Schema.Struct({
    id: Schema.String,
    kind: Schema.Literal("rae"),
    input: Schema.Struct({
      params: Schema.Struct({ decay: Schema.Number }),
      batches: Schema.Array(
        Schema.Array(Schema.Struct({ agent: Schema.String, reward: Schema.Number, error: Schema.Boolean }))
      )
    }),
    output: Schema.Struct({
      advantages: Schema.Array(Schema.Array(Schema.NullOr(Schema.Number))),
      baselines: Schema.Record(Schema.String, Schema.Number)
    })
  }),
  ["rae"]
)

describe("Credit.roleRelative", () => {
  it.effect.each(roleVectors)("agrees with prime-rl ($id)", ({ input, output }) =>
    Effect.gen(function*() {
      let memory: Json.Json = null
      for (const [index, batch] of input.batches.entries()) {
        const credit = Credit.roleRelative({
          decay: input.params.decay,
          roleOf: (_, member) => batch[member]?.agent ?? ""
        })
        const group = Samples.group(batch.map(({ error, reward }) => error ? undefined : reward))
        const assigned: Credit.Assigned = yield* credit.assign([group], memory, Weights.absent)
        memory = assigned.memory
        const expected = (output.advantages[index] ?? []).map((advantage) => advantage ?? 0)
        const { groups: [credited] } = assigned
        if (credited?.verdict === "informative") assertRows([credited.advantagesG], [expected])
        else assert.isTrue(expected.every((advantage) => advantage === 0))
      }
      for (const [role, baseline] of Object.entries(output.baselines)) {
        const found = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Number))(memory)[role]
        assert.isTrue(isClose(found, baseline, 1e-12), `${role}: ${found} vs ${baseline}`)
      }
    }))
})

const hierarchicalVectors = EstimatorRows.ofKinds(
  Schema.Struct({
    id: Schema.String,
    kind: Schema.Literal("hierarchical"),
    input: Schema.Struct({
      params: Schema.Struct({ episode_agents: Schema.Array(Schema.String) }),
      episodes: Schema.Array(Schema.Array(Schema.Struct({ agent: Schema.String, reward: Schema.Number })))
    }),
    output: Schema.Struct({ advantages: Rows })
  }),
  ["hierarchical"]
)

describe("Advantage.hierarchical", () => {
  it.each(hierarchicalVectors)("agrees with prime-rl ($id)", ({ input, output }) => {
    const members = input.episodes.flatMap((agents, episode) => agents.map((agent) => ({ ...agent, episode })))
    const byPart = Advantage.hierarchical("agent", (member) => {
      const { agent = "", episode = 0 } = members[member] ?? {}
      return input.params.episode_agents.includes(agent) ? `${episode}/${agent}` : agent
    })
    const [group] = Signal.informative([Samples.group(members.map(({ reward }) => reward))], "tokens")
    assert.isDefined(group)
    assertRows([byPart.of(group)], [output.advantages.flat()])
  })
})

const lengthVectors = EstimatorRows.ofKinds(
  Schema.Struct({
    id: Schema.String,
    kind: Schema.Literal("length_penalty"),
    input: Schema.Struct({
      params: Schema.Struct({
        num_output_tokens_weight: Schema.Number,
        num_input_tokens_weight: Schema.Number,
        num_turns_weight: Schema.Number
      }),
      members: Schema.Array(Schema.Struct({
        reward: Schema.Number,
        output_tokens: Schema.Int,
        total_tokens: Schema.Int,
        turns: Schema.Int
      }))
    }),
    output: Schema.Struct({ advantages: Schema.Array(Schema.Number) })
  }),
  ["length_penalty"]
)

const count = (length: number) => Array.from({ length }, () => 1)

/** A member with the given numbers of written tokens, read tokens and turns. */
const episode = (
  { output_tokens, total_tokens, turns }: (typeof lengthVectors)[number]["input"]["members"][number]
) => {
  const read = total_tokens - output_tokens
  return Samples.trajectory(
    Samples.turn(count(turns > 1 ? 1 : read), count(output_tokens)),
    ...Array.from({ length: turns - 1 }, () => Samples.turn(count(output_tokens + read), []))
  )
}

describe("Credit.lengthPenalty", () => {
  it.effect.each(lengthVectors)(
    "agrees with prime-rl ($id)",
    ({ input: { members, params }, output }) =>
      Effect.gen(function*() {
        const credit = Credit.lengthPenalty({
          actionTokens: params.num_output_tokens_weight,
          observationTokens: params.num_input_tokens_weight,
          turns: params.num_turns_weight
        })(Credit.groupRelative(Advantage.centered))
        const group = Samples.group(members.map(({ reward }) => reward), {
          members: members.map((member) => Option.some(episode(member)))
        })
        const { groups: [credited] } = yield* credit.assign([group], null, Weights.absent)
        assertRows([credited?.advantagesG ?? []], [output.advantages])
      })
  )
})

const decoupledVectors = EstimatorRows.ofKinds(
  Schema.Struct({
    id: Schema.String,
    kind: Schema.Literal("gdpo"),
    input: Schema.Struct({
      peer: Schema.Literal("verl"),
      params: Schema.Struct({ weights: Schema.NullOr(Schema.Array(Schema.Number)) }),
      group_sizes: Schema.Array(Schema.Int),
      lengths: Schema.Array(Schema.Int),
      components: Schema.Record(Schema.String, Schema.Array(Schema.Number))
    }),
    output: Schema.Struct({ advantages: Rows })
  }),
  ["gdpo"]
)

describe("Credit.batchRelative of Advantage.decoupled", () => {
  it.effect.each(decoupledVectors)("agrees with verl's GDPO ($id)", ({ input, output }) =>
    Effect.gen(function*() {
      const names = Object.keys(input.components)
      const weights = Object.fromEntries(names.map((name, index) => [name, input.params.weights?.[index] ?? 1]))
      let start = 0
      const groups = input.group_sizes.map((size, index) => {
        const members = Array.from({ length: size }, (_, member) => start + member)
        start += size
        const valueOf = (name: string, member: number) => input.components[name]?.[member] ?? 0
        const rewards = members.map((member) => names.reduce((sum, name) => sum + valueOf(name, member), 0))
        return Samples.group(rewards, {
          key: String(index),
          members: Samples.membersOfLength(members.map((member) => input.lengths[member] ?? 0), rewards),
          metricsG: members.map((member) =>
            Object.fromEntries(names.map((name) => [name, EnvMetric.mean(valueOf(name, member))]))
          )
        })
      })
      const { groups: credited } = yield* Credit.batchRelative(Advantage.decoupled(weights)).assign(
        groups,
        null,
        Weights.absent
      )
      assertRows(credited.map(({ advantagesG }) => advantagesG), output.advantages, 1e-5)
    }))
})

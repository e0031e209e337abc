/** Tournaments recorded from upstream: the matchups and the members' scores. */
import { EnvMetric, Message, PairwisePreferenceGroupBuilder, Rollout } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Tournament } from "@effect-rl/core/environments"
import type { Renderer } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const Pattern = Schema.Literals(["all_pairs_both_ways", "all_pairs_one_way"])
const Pair = Schema.Tuple([Schema.Int, Schema.Int])

const Pairs = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    kind: Schema.Literal("tournament_pairs"),
    num_players: Schema.Int,
    pattern: Pattern,
    chunk_size: Schema.Int
  }),
  expect: Schema.Struct({ pairs: Schema.Array(Pair) })
})

const Rewards = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    kind: Schema.Literal("tournament_rewards"),
    strengths: Schema.Array(Schema.Number),
    bias_towards_second: Schema.Number,
    terminations: Schema.Array(Schema.Literals(["stop_sequence", "eos", "malformed"])),
    pattern: Pattern,
    matchup_group_size: Schema.Int
  }),
  expect: Schema.Struct({
    comparisons: Schema.Array(Pair),
    rewards: Schema.Array(Schema.Number),
    metrics: Schema.Array(Schema.Struct({ win_minus_loss: Schema.Number, format: Schema.Number }))
  })
})

const recorded = readFileSync(join(import.meta.dirname, "../../fixtures/rl/tournaments.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Union([Pairs, Rewards])))(line))

const isPairs = Schema.is(Pairs)
const isRewards = Schema.is(Rewards)

it.each(recorded.filter((found) => isPairs(found)))("pairings match the recorded ones ($id)", ({ expect, input }) => {
  const matchups = Tournament.matchups(input.num_players, input.pattern, input.chunk_size)
  assert.deepStrictEqual<unknown>(matchups.map(({ a, b }) => [a, b]), expect.pairs)
})

describe("a group that compares its members, as recorded from upstream", () => {
  /** A renderer for which member `m` answers with the token `m`, which is also its text. */
  const renderer = (terminations: ReadonlyArray<Renderer.Termination>): Renderer.Renderer => ({
    name: "recorded",
    stop: ["<end>"],
    hasExtensionProperty: true,
    generationPrompt: () => Effect.succeed(ModelInput.fromTokens([1])),
    parse: ([member = -1]) =>
      Effect.succeed({
        message: Message.assistant(String(member)),
        termination: terminations[member] ?? "malformed"
      }),
    stream: () => ({ push: () => [], end: Effect.die("not part of a rollout") }),
    supervisedExample: () => Effect.die("not part of a rollout"),
    supervisedExamples: () => Effect.die("not part of a rollout")
  })

  const memberOf = (completion: ReadonlyArray<Message.Message>) => Number(completion.map(Message.text).join())

  it.effect.each(recorded.filter((found) => isRewards(found)))(
    "gives the recorded rewards ($id)",
    ({ expect, input }) =>
      Effect.gen(function*() {
        const compared: Array<readonly [number, number]> = []
        const strength = (member: number) => input.strengths[member] ?? NaN
        const builder = PairwisePreferenceGroupBuilder.make({
          key: "recorded",
          size: input.strengths.length,
          model: { renderer: renderer(input.terminations) },
          messages: [Message.user("Who is better?")],
          pattern: input.pattern,
          matchupGroupSize: input.matchup_group_size,
          preferenceModel: {
            compare: ({ completionA, completionB }) =>
              Effect.sync(() => {
                const [a, b] = [memberOf(completionA), memberOf(completionB)]
                compared.push([a, b])
                return Math.max(-1, Math.min(1, strength(b) - strength(a) + input.bias_towards_second))
              })
          }
        })
        const result = yield* Rollout.group(builder, {
          act: ({ key }) =>
            Effect.succeed({ tokens: Int32Array.of(key.member), logprobs: Float32Array.of(-1), stopReason: "stop" })
        })
        if (result._tag !== "Completed") return assert.fail(result._tag)
        assert.sameDeepMembers<unknown>(compared, [...expect.comparisons])
        for (const [member, { format, win_minus_loss }] of expect.metrics.entries()) {
          assert.closeTo(result.rewardsG[member] ?? NaN, expect.rewards[member] ?? NaN, 1e-12)
          const given = result.metricsG[member]?.["win_minus_loss"]
          assert.closeTo(given?.kind === "mean" ? given.value : NaN, win_minus_loss, 1e-12)
          assert.deepStrictEqual(result.metricsG[member]?.["format"], EnvMetric.rate(format === 1))
        }
      })
  )
})

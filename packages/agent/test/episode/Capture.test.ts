/** Checks, with the sampler's own log, that exactly the sampled tokens are trained on. */
import { AgentEnv } from "@effect-rl/agent"
import { Rollout } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type * as Dialect from "./Dialect.ts"
import * as Ledger from "./Ledger.ts"
import * as RandomAgent from "./RandomAgent.ts"
import * as RandomWriter from "./RandomWriter.ts"
import * as Talk from "./Talk.ts"

const sessions = process.env["EFFECT_RL_SOAK"] === undefined ? 120 : 10_000

const dialects: ReadonlyArray<Dialect.Name> = ["chat", "responses", "anthropic"]

const renderers = ["qwen3_instruct", "qwen3"]

/** The dialect of an agent; undefined for one agent in four, which continues texts instead. */
const dialectOf = (seed: number) => dialects[seed % (dialects.length + 1)]

/** The renderer and the kind of agent both vary between seeds. */
const rendererOf = (seed: number) => renderers[Math.floor(seed / (dialects.length + 1)) % renderers.length] ?? ""

const agentOf = (options: Omit<RandomAgent.Options, "dialect">) => {
  const dialect = dialectOf(options.seed)
  return dialect === undefined ? RandomWriter.make(options) : RandomAgent.make({ ...options, dialect })
}

const eosTokenId = Talk.tokenizer.specialToken(Talk.end) ?? assert.fail("turns have no end")

const played = Effect.fnUntraced(function*(seed: number, habits: RandomAgent.Habits) {
  const renderer = rendererOf(seed)
  const did = { givenUp: 0 }
  const { log, policy } = RandomAgent.sampler(seed, renderer === "qwen3")
  const model = { ...yield* Talk.modelOf(renderer), tokenizer: { ...Talk.tokenizer, eosTokenId } }
  const env = yield* AgentEnv.make({ model, run: agentOf({ seed, habits, did }) })
  const { transitions } = yield* Rollout.episode(env, policy, Talk.key)
  return { did, log, transitions }
}, Effect.scoped)

const trainable = (transitions: ReadonlyArray<Trajectory.Transition>) =>
  transitions.flatMap(({ trainable }, index) => trainable ? [index] : [])

/** A faulty capture that stores texts and tokenizes them again later. */
const retokenising = (transitions: ReadonlyArray<Trajectory.Transition>) =>
  transitions.map((turn) => {
    const tokens = Talk.tokenizer.encode(Talk.tokenizer.decode(turn.action.tokens))
    const logprobs = Float32Array.from(tokens, (_, t) => turn.action.logprobs[t] ?? -1)
    const observation = ModelInput.fromTokens(
      Talk.tokenizer.encode(Talk.tokenizer.decode(Ledger.tokensOf(turn.observation)))
    )
    return { ...turn, observation, action: { ...turn.action, tokens, logprobs } }
  })

/** A faulty capture that adds a turn for every answer it sends, including repeated ones. */
const doubleCounting = (transitions: ReadonlyArray<Trajectory.Transition>) =>
  transitions.flatMap((turn) => [turn, turn])

describe("trained tokens are those that the agent sampled", () => {
  it.live(
    `in ${sessions} sessions of random agents: each token once, where it was sampled, and none of a prompt`,
    () =>
      Effect.gen(function*() {
        const reasons = new Map<string, number>()
        let turns = 0
        for (let seed = 0; seed < sessions; seed++) {
          const { did, log, transitions } = yield* played(seed, "all")
          const data = Ledger.trained(transitions)
          assert.deepStrictEqual(Ledger.problems(data, log, trainable(transitions)), [], `seed ${seed}`)
          assert.isAtMost(transitions.length - trainable(transitions).length, did.givenUp, `seed ${seed}`)
          assert.lengthOf(log, transitions.length)
          turns += transitions.length
          for (const { branch } of transitions) {
            if (branch !== undefined) reasons.set(branch.reason, (reasons.get(branch.reason) ?? 0) + 1)
          }
        }
        assert.isAbove(turns, 3 * sessions)
        assert.includeMembers([...reasons.keys()], [
          "renderer",
          "response",
          "edit",
          "compaction",
          "subagent",
          "parallel",
          "retry"
        ])
      }),
    process.env["EFFECT_RL_SOAK"] === undefined ? 60_000 : 3_600_000
  )

  it.live(
    "in one sequence, if the agent only continues, however it serializes the conversation",
    () =>
      Effect.gen(function*() {
        for (let seed = 0; seed < 120; seed++) {
          // The other renderer drops earlier reasoning.
          if (rendererOf(seed) !== "qwen3_instruct") continue
          const { log, transitions } = yield* played(seed, "none")
          const data = Ledger.trained(transitions)
          assert.deepStrictEqual(Ledger.problems(data, log, trainable(transitions)), [], `seed ${seed}`)
          // A text continuation is tokenized again (branch reason `response`) if the sample before it ended with a stop token, because the
          // client's text does not contain that token.
          const left = transitions.filter(({ branch }) => branch !== undefined && branch.reason !== "response")
          assert.deepStrictEqual(left, [], `seed ${seed}`)
          if (dialectOf(seed) !== undefined) assert.lengthOf(data, 1, `seed ${seed}`)
        }
      }),
    60_000
  )

  it.live("and a capture that tokenizes again or counts a turn twice is detected", () =>
    Effect.gen(function*() {
      let [retokenised, doubled] = [0, 0]
      for (let seed = 0; seed < 20; seed++) {
        const { log, transitions } = yield* played(seed, "all")
        const wrong = (planted: ReadonlyArray<Trajectory.Transition>) =>
          Ledger.problems(Ledger.trained(planted), log, trainable(transitions)).length > 0
        retokenised += Number(wrong(retokenising(transitions)))
        doubled += Number(wrong(doubleCounting(transitions)))
      }
      assert.isAtLeast(retokenised, 8)
      assert.strictEqual(doubled, 20)
    }))
})

import { Rollout, RolloutConfig, ToolEnv } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Agent from "../env/Agent.ts"
import * as Talk from "../env/Talk.ts"

const { question, call, calls, answer, unreadable, echo, play, stopReason } = Agent

describe("presets", () => {
  it("are the cookbook's", () => {
    assert.deepStrictEqual(RolloutConfig.simple, { env: {}, rollout: {} })
    assert.deepStrictEqual(RolloutConfig.agentic, {
      env: {
        limits: { maxTurns: 10, maxTrajectoryTokens: 65_536, maxToolCalls: 30 },
        parseErrors: { maxConsecutive: 2 },
        execution: "sequential",
        graded: "new"
      },
      rollout: {
        termination: { zeroRewardOnLimit: true, skipGradingOnTimeout: true },
        graderTimeout: "15 minutes"
      }
    })
  })

  it.effect("make environments that say their limits", () =>
    Effect.gen(function*() {
      const limitsOf = (settings: ToolEnv.Settings) =>
        Effect.map(
          ToolEnv.make({
            model: { renderer: Talk.counting(answer()) },
            tools: [],
            messages: question,
            grade: () => Effect.succeed({ reward: 1 }),
            ...settings
          }),
          ({ limits }) => limits
        )
      assert.deepStrictEqual(yield* limitsOf(RolloutConfig.agentic.env), RolloutConfig.agentic.env.limits)
      assert.deepStrictEqual(yield* limitsOf({}), { maxTurns: 5 })
      const tight = yield* limitsOf({ ...RolloutConfig.agentic.env, maxTurns: 3 })
      assert.strictEqual(tight?.maxTurns, 3)
    }))

  it.effect("let an agent work to its last turn, and set its reward to 0 there", () =>
    Effect.gen(function*() {
      const { env, rollout } = RolloutConfig.agentic
      const parses = [calls(1), calls(1), calls(1), unreadable(), unreadable(), calls(1)]
      const { log, tools } = echo()
      const graded: Array<number> = []
      const policy = Talk.policy()
      const result = yield* Rollout.group(
        {
          key: "agent",
          size: 1,
          tags: [],
          open: Effect.succeed({
            makeEnv: () =>
              ToolEnv.make({
                model: { renderer: Talk.counting(...parses) },
                tools,
                messages: question,
                grade: (messages) => Effect.sync(() => ({ reward: 0.9, told: graded.push(messages.length) })),
                ...env
              }),
            groupRewards: (trajectories) => Effect.succeed(trajectories.map(() => ({ reward: 0 })))
          })
        },
        policy,
        rollout
      )
      assert.strictEqual(policy.requests.length, 10)
      assert.strictEqual(log.length, 8)
      assert.deepStrictEqual(graded, [3 * 2 + 2 * 2 + 5 * 2])
      assert.deepStrictEqual(result._tag === "Completed" && [...result.rewardsG], [0])
    }))

  it.effect("end an episode that grows too long", () =>
    Effect.gen(function*() {
      const text = JSON.stringify({ text: "word ".repeat(66_000) })
      const long = Talk.parsed("", { toolCalls: [call("echo", text)] })
      const played = yield* play([long], RolloutConfig.agentic.env)
      assert.strictEqual(played.requests.length, 1)
      assert.strictEqual(stopReason(played), "max_tokens")
      assert.deepStrictEqual(played.graded, [])
    }))
})

import { AgentEnv } from "@effect-rl/agent"
import { Rollout } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Talk from "./Talk.ts"

const played = Effect.fnUntraced(function*(
  run: AgentEnv.Options["run"],
  texts: ReadonlyArray<string | ReadonlyArray<string>>,
  options: Partial<AgentEnv.Options> = {}
) {
  const model = yield* Talk.modelOf("qwen3_instruct")
  const { log, policy } = Talk.saying(...texts)
  const env = yield* AgentEnv.make({ model, run, ...options })
  const trajectory = yield* Rollout.episode(env, policy, Talk.key)
  return { trajectory, log }
}, Effect.scoped)

describe("AgentEnv", () => {
  it.live("makes a turn of each request, and a reward of the verdict", () =>
    Effect.gen(function*() {
      const { log, trajectory } = yield* played(async (session) => {
        const first = await Talk.ask(session, [Talk.user("one")])
        const second = await Talk.ask(session, [Talk.user("one"), first.message, Talk.user("two")])
        return second.message.content === "ab again" ? 0.75 : 0
      }, [["a", "b"], "ab again"])
      assert.strictEqual(trajectory.stepReward, 0.75)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("completed"))
      assert.deepStrictEqual(trajectory.transitions.map(({ action }) => action), log.map(({ sampled }) => sampled))
      assert.deepStrictEqual(trajectory.transitions.map(({ branch }) => branch), [undefined, undefined])
      const [first, second] = trajectory.transitions
      const begun = [
        ...first!.observation.chunks.flatMap((c) => c._tag === "Image" ? [] : [...c.tokens]),
        ...first!.action.tokens
      ]
      const all = second!.observation.chunks.flatMap((c) => c._tag === "Image" ? [] : [...c.tokens])
      assert.deepStrictEqual(all.slice(0, begun.length), begun)
    }))
})

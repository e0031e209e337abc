/** Turns of agents that request an answer with a schema, or tool calls. */
import { AgentEnv } from "@effect-rl/agent"
import { type Policy, Rollout } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Talk from "./Talk.ts"

const jsonSchema = { type: "object", properties: { answer: { type: "integer" } }, required: ["answer"] }

const format = { response_format: { type: "json_schema", json_schema: { name: "answer", schema: jsonSchema } } }

/** Answers like another policy, and adds masked log-probabilities if there is a grammar. */
const masking = ({ act }: Policy.Policy): Policy.Policy => ({
  act: (request) =>
    Effect.map(act(request), (sampled) =>
      request.grammar === undefined
        ? sampled
        : { ...sampled, maskedLogprobs: new Float32Array(sampled.tokens.length) })
})

const played = Effect.fnUntraced(function*(sampling: ReadonlyArray<"grammar">) {
  const own = yield* Talk.modelOf("qwen3_instruct")
  const { log, policy } = Talk.saying("{\"answer\": 4}", "fine")
  const env = yield* AgentEnv.make({
    model: { ...own, capabilities: { ...own.capabilities, sampling } },
    run: async (session) => {
      const { message } = await Talk.ask(session, [Talk.user("2 + 2?")], format)
      await Talk.ask(session, [Talk.user("2 + 2?"), message, Talk.user("and?")])
      return message.content === "{\"answer\": 4}" ? 1 : 0
    }
  })
  const { stepReward, transitions } = yield* Rollout.episode(env, masking(policy), Talk.key)
  return { stepReward, transitions, grammars: log.map(({ request }) => request.grammar) }
}, Effect.scoped)

describe("an agent's answer with a schema", () => {
  it.live("is a turn with a grammar, recorded with both log-probabilities and not trained on", () =>
    Effect.gen(function*() {
      const { grammars, stepReward, transitions } = yield* played(["grammar"])
      assert.strictEqual(stepReward, 1)
      assert.deepStrictEqual(grammars, [{ jsonSchema }, undefined])
      assert.deepStrictEqual(transitions.map(({ trainable }) => trainable), [false, true])
      const [{ action } = assert.fail("there is no turn")] = transitions
      assert.deepStrictEqual(action.maskedLogprobs, new Float32Array(action.tokens.length))
      assert.isTrue(action.logprobs.every((logprob) => logprob < 0))
    }))

  it.live("is checked and trained on if the backend does not support grammars", () =>
    Effect.gen(function*() {
      const { grammars, transitions } = yield* played([])
      assert.deepStrictEqual(grammars, [undefined, undefined])
      assert.deepStrictEqual(transitions.map(({ trainable }) => trainable), [true, true])
      const [{ logs } = assert.fail("there is no turn")] = transitions
      assert.include(String(logs["not given: response_format"]), "the backend has no grammars")
    }))
})

const add = { name: "add", description: "", parameters: jsonSchema }

/** For a forced call and for a call to a strict tool: whether the turn has a grammar, and whether it is trained on. */
const called = Effect.fnUntraced(function*(options: Pick<AgentEnv.Options<never, never>, "strict">) {
  const own = yield* Talk.modelOf("qwen3_instruct")
  const { log, policy } = Talk.saying(
    `<tool_call>\n{"name": "add", "arguments": {"answer": 4}}\n</tool_call>`,
    `<tool_call>\n{"name": "add", "arguments": {"answer": "four"}}\n</tool_call>`
  )
  const env = yield* AgentEnv.make({
    model: { ...own, capabilities: { ...own.capabilities, sampling: ["grammar"] } },
    ...options,
    run: async (session) => {
      const tools = [{ type: "function", function: { ...add, strict: true } }]
      const forced = { tools, tool_choice: { type: "function", function: { name: "add" } } }
      await Talk.ask(session, [Talk.user("2 + 2?")], forced)
      await Talk.ask(session, [Talk.user("2 + 2?"), Talk.user("Anything")], { tools })
      return 1
    }
  })
  const { transitions } = yield* Rollout.episode(env, masking(policy), Talk.key)
  return {
    grammars: log.map(({ request }) => request.grammar?.calls?.hasText),
    trainable: transitions.map(({ trainable }) => trainable),
    logs: transitions.map(({ logs }) => logs)
  }
}, Effect.scoped)

describe("an agent's tool calls", () => {
  it.live("are constrained if a call is forced; calls to strict tools are checked, and their turn is trained on", () =>
    Effect.gen(function*() {
      const { grammars, logs, trainable } = yield* called({})
      assert.deepStrictEqual([grammars, trainable], [[false, undefined], [false, true]])
      const [, strict = assert.fail("there is no second turn")] = logs
      assert.include(String(strict["not given: tools[].function.strict"]), "so that the turn can be trained on")
    }))

  it.live("to strict tools are constrained if the episode is configured to", () =>
    Effect.gen(function*() {
      const { grammars, trainable } = yield* called({ strict: "hold" })
      assert.deepStrictEqual([grammars, trainable], [[false, true], [false, false]])
    }))
})

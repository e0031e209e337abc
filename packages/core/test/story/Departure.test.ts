import { FunctionTool, Message, Rollout, ToolEnv } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { type Branch, type Trajectory } from "@effect-rl/core/environments"
import { Conversation, Departure } from "@effect-rl/core/records"
import { Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as Talk from "../env/Talk.ts"

const { characters } = TestTokenizer
const asked = [Message.user("What is 2 + 3?")]
const again = Message.user("Are you sure?")

/** An episode with two turns: the policy says a text, is asked again, and answers. */
const episode = (said: string, branch?: Branch.Branch) =>
  Effect.gen(function*() {
    const renderer = yield* Renderers.byName("qwen3_instruct", characters)
    const turn = (
      prompt: ArrayLike<number>,
      response: string,
      messages: ReadonlyArray<Message.Message>
    ): Trajectory.Transition => ({
      observation: ModelInput.fromTokens(prompt),
      action: {
        tokens: Int32Array.from(characters.encode(response)),
        logprobs: new Float32Array(response.length),
        stopReason: "stop"
      },
      reward: 0,
      trainable: true,
      metrics: {},
      logs: {},
      shown: { messages }
    })
    const first = Conversation.promptTokens(yield* renderer.generationPrompt(asked)).map(Number)
    const known = [...first, ...characters.encode(`${said}<|im_end|>`)]
    const rest = characters.encode("\n<|im_start|>user\nAre you sure?<|im_end|>\n<|im_start|>assistant\n")
    const second = turn([...known, ...rest], "Yes.<|im_end|>", [again])
    const trajectory: Trajectory.Trajectory = {
      transitions: [turn(first, `${said}<|im_end|>`, asked), branch === undefined ? second : { ...second, branch }],
      stepReward: 0,
      stopReason: Option.none(),
      truncations: 0
    }
    const language = { decode: characters.decode, parse: renderer.parse }
    const turns = yield* Conversation.read(trajectory, language)
    return yield* Departure.of(trajectory, turns, renderer)
  })

describe("Departure.of an episode with tools", () => {
  const clock = FunctionTool.make({
    name: "clock",
    description: "Tells the time.",
    parameters: Schema.Struct({ city: Schema.String }),
    handler: () => Effect.succeed("noon")
  })

  /** An episode that calls the tool once, as it is recorded, and its conversation. */
  const recorded = Effect.fnUntraced(function*(settings: { readonly systemPrompt?: string }) {
    const renderer = yield* Talk.qwen
    const call = "<tool_call>\n{\"name\": \"clock\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>"
    const env = yield* ToolEnv.make({
      model: { renderer },
      tools: [clock],
      messages: [Message.user("What time is it in Rome?")],
      grade: () => Effect.succeed({ reward: 1 }),
      ...settings
    })
    const trajectory = yield* Rollout.episode(env, Talk.policy(Talk.said(call), Talk.said("Noon.")), Talk.key)
    const turns = yield* Conversation.read(trajectory, { decode: characters.decode, parse: renderer.parse })
    return { turns, departures: yield* Departure.of(trajectory, turns, renderer) }
  })

  it.effect.each([{}, { systemPrompt: "Be brief." }])(
    "finds none if the tools are described again: %j",
    ({ systemPrompt }) =>
      Effect.gen(function*() {
        const { departures, turns } = yield* recorded(systemPrompt === undefined ? {} : { systemPrompt })
        assert.deepStrictEqual(departures, [])
        assert.deepStrictEqual(Conversation.toOpenAi(turns).map(({ content, role }) => [role, content]), [
          ...(systemPrompt === undefined ? [] : [["system", systemPrompt]]),
          ["user", "What time is it in Rome?"],
          ["assistant", ""],
          ["tool", "noon"],
          ["assistant", "Noon."]
        ])
        const toolsOf = (turns: ReadonlyArray<Conversation.Turn>) =>
          Conversation.toOpenAiTools(turns).map((tool) => tool.function)
        assert.deepStrictEqual(toolsOf(turns), [clock.spec])
        assert.deepStrictEqual(toolsOf(turns.map((turn, index) => index === 0 ? { ...turn, offered: [] } : turn)), [
          clock.spec
        ])
        assert.deepStrictEqual(turns[1]?.offered, turns[0]?.offered)
      })
  )
})

describe("Departure.of", () => {
  it.effect("finds none if every prompt is rendered as recorded", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* episode("It is 5."), [])
    }))

  it.effect("names the response that the renderer writes differently", () =>
    Effect.gen(function*() {
      const said = "<tool_call>\n{\"name\":\"add\",\"arguments\":{\"a\":2}}\n</tool_call>"
      const [{ detail, turn } = { detail: "", turn: NaN }, ...others] = yield* episode(said)
      assert.deepStrictEqual([turn, others.length], [1, 0])
      assert.match(
        detail,
        /^token \d+ of \d+: the policy wrote the response of turn 0 otherwise than the renderer does$/
      )
    }))
})

import { Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { type Branch, type Trajectory } from "@effect-rl/core/environments"
import { Conversation, Departure } from "@effect-rl/core/records"
import { Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"

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
    return yield* Departure.of(trajectory, turns, renderer.generationPrompt)
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

import { Advantage, type Env, FunctionTool, Message, MessageEnv, Rollout, ToolEnv } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Signal, TrainingData } from "@effect-rl/core/program"
import { type Renderer, Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Talk from "./Talk.ts"

/** The tokenizer encodes "ab" and " ab" as one token each, but a policy may sample "a" and "b". */
const tokenizer = TestTokenizer.words(["ab", " ab", "abab"])
const qwen = Renderers.byName("qwen3_instruct", tokenizer)

/** Encodes each piece separately. */
const pieces = (...texts: ReadonlyArray<string>) =>
  Int32Array.from(texts.flatMap((text) => [...tokenizer.encode(text)]))

const text = ({ chunks }: ModelInput.ModelInput) =>
  chunks.map((chunk) => chunk._tag === "EncodedText" ? tokenizer.decode(chunk.tokens) : "").join("")

/** The prompts of an episode with these sampled responses. */
const prompts = Effect.fnUntraced(function*<E>(env: Env.Env<E>, responses: ReadonlyArray<Env.Action>) {
  const first = yield* env.initialObservation
  if (first._tag === "Overflow") return yield* Effect.die("the prompt does not fit")
  const shown = [first]
  for (const response of responses) {
    const step = yield* env.step(response)
    if (step._tag === "Done") return yield* Effect.die(`it ended: ${step.stopReason}`)
    shown.push(step.observation)
  }
  return shown
})

const talking = (
  renderer: Renderer.Renderer,
  responses: ReadonlyArray<Env.Action>,
  talk: Partial<MessageEnv.MessageEnv> = {}
) =>
  Effect.flatMap(
    MessageEnv.toEnv({ ...Talk.scripted({ reward: 0, reply: "go on" }), ...talk }, {
      model: { renderer },
      onLength: "continue"
    }),
    (env) => prompts(env, responses)
  )

/** The text that each prompt adds to the previous prompt and response; `undefined` if the prompt does not begin with both. */
const additions = (shown: ReadonlyArray<Env.Prompt>, responses: ReadonlyArray<Env.Action>) =>
  responses.map(({ tokens }, turn) => {
    const [before, after] = shown.slice(turn)
    if (before === undefined || after === undefined) return undefined
    const rest = ModelInput.after(after.input, ModelInput.append(before.input, tokens))
    return rest === undefined ? undefined : text(rest)
  })

const branches = (shown: ReadonlyArray<Env.Prompt>) => shown.map(({ branch }) => branch?.reason)

const next = "\n<|im_start|>user\ngo on<|im_end|>\n<|im_start|>assistant\n"

describe("message environments keep sampled tokens", () => {
  it.effect("if encoding the text would give other tokens", () =>
    Effect.gen(function*() {
      const response = { tokens: pieces("a", "b", "a", "b", Talk.end) }
      assert.notDeepEqual(tokenizer.encode(`abab${Talk.end}`), response.tokens)
      const shown = yield* talking(yield* qwen, [response, response, response])
      assert.deepStrictEqual(additions(shown, [response, response, response]), [next, next, next])
      assert.deepStrictEqual(branches(shown), [undefined, undefined, undefined, undefined])
    }))

  it.effect("if a tool call would be rendered differently", () =>
    Effect.gen(function*() {
      const call = `<tool_call>{"arguments":{},"name":"f"}</tool_call>`
      const responses = [{ tokens: pieces(call, Talk.end) }]
      const shown = yield* talking(yield* qwen, responses)
      assert.deepStrictEqual(additions(shown, responses), [next])
    }))

  it.effect("if the response was cut at its token limit; the next prompt then adds the end of turn", () =>
    Effect.gen(function*() {
      const responses = [
        { tokens: pieces("x", "ab"), stopReason: "length" as const },
        { tokens: pieces("a", "b"), stopReason: "length" as const }
      ]
      const shown = yield* talking(yield* qwen, responses)
      const ended = `${Talk.end}\n<|im_start|>assistant\n`
      assert.deepStrictEqual(additions(shown, responses), [ended, ended])
      assert.deepStrictEqual(branches(shown), [undefined, undefined, undefined])
    }))

  const Pieces = Schema.Array(Schema.Literals(["a", "b", "ab", " ab", "abab", " ", "{", "<tool_call>", "</tool_call>"]))

  it.effect.prop("for every response", [Schema.Array(Pieces)], ([turns]) =>
    Effect.gen(function*() {
      const responses = turns.map((texts) => ({ tokens: pieces(...texts, Talk.end) }))
      const shown = yield* talking(yield* qwen, responses)
      assert.deepStrictEqual(additions(shown, responses), turns.map(() => next))
    }))
})

describe("the next prompt is marked as a branch", () => {
  const response = { tokens: pieces("a", "b", Talk.end) }

  it.effect("if the renderer leaves out earlier thinking", () =>
    Effect.gen(function*() {
      const renderer = yield* Renderers.byName("qwen3", tokenizer)
      const responses = [{ tokens: pieces("<think>\nhm\n</think>\n\nab", Talk.end) }]
      const shown = yield* talking(renderer, responses)
      assert.deepStrictEqual(additions(shown, responses), [undefined])
      assert.deepStrictEqual(branches(shown), [undefined, "renderer"])
    }))

  const rewriting = (rewrite: (message: Message.Message) => MessageEnv.Conversation) => ({
    step: (message: Message.Message) =>
      Effect.succeed({ _tag: "Continue", reward: 0, messages: rewrite(message) } as const)
  })

  it.effect("if the environment changes the conversation", () =>
    Effect.gen(function*() {
      const first = Message.user("one two three")
      const renderer = yield* qwen
      const changed = [
        (message: Message.Message) => [Message.user("other"), message, Message.user("go on")],
        () => [first, Message.assistant("other"), Message.user("go on")],
        () => [Message.user("go on")]
      ]
      for (const rewrite of changed) {
        const shown = yield* talking(renderer, [response], rewriting(rewrite))
        assert.deepStrictEqual(branches(shown), [undefined, "edit"])
        assert.deepStrictEqual(shown[1]?.input, yield* renderer.generationPrompt(rewrite(Message.assistant("ab"))))
      }
    }))

  it.effect("but not if the environment shows the same messages as different objects", () =>
    Effect.gen(function*() {
      const same = rewriting(({ content }) => [
        Message.user("one two three"),
        { role: "assistant", content },
        Message.user("go on")
      ])
      const shown = yield* talking(yield* qwen, [response], same)
      assert.deepStrictEqual(additions(shown, [response]), [next])
    }))

  it.effect("if the response was cut and the rendered conversation lacks the text that would end it", () =>
    Effect.gen(function*() {
      const renderer = yield* Renderers.byName("role_colon", tokenizer)
      const responses = [
        { tokens: pieces(" a", "b", "\n\n", "User:") },
        { tokens: pieces(" a", "b"), stopReason: "length" as const }
      ]
      const shown = yield* talking(renderer, responses)
      assert.deepStrictEqual(additions(shown, responses), [" go on\n\nAssistant:", undefined])
      assert.deepStrictEqual(branches(shown), [undefined, undefined, "response"])
    }))

  it.effect("once, and the following turns continue it", () =>
    Effect.gen(function*() {
      const responses = [{ tokens: pieces("ab"), stopReason: "stop" as const }, response, response]
      const env = yield* MessageEnv.toEnv(Talk.scripted({ reward: 0, reply: "go on" }), {
        model: { renderer: yield* qwen },
        terminateOnParseError: false
      })
      const shown = yield* prompts(env, responses)
      assert.deepStrictEqual(branches(shown), [undefined, "response", undefined, undefined])
      assert.deepStrictEqual(additions(shown, responses), [undefined, next, next])
    }))
})

describe("messages that a hook adds", () => {
  it.effect("follow the sampled tokens and the environment's answer", () =>
    Effect.gen(function*() {
      const response = { tokens: pieces("a", "b", Talk.end) }
      const env = yield* MessageEnv.toEnv(Talk.scripted({ reward: 0, reply: "go on" }), {
        model: { renderer: yield* qwen }
      })
      const [first] = yield* prompts(env, [response])
      const added = yield* env.inject?.([Message.user("hurry")]) ?? Effect.die("cannot inject")
      assert.deepStrictEqual(additions(first === undefined ? [] : [first, added], [response]), [
        `\n<|im_start|>user\ngo on<|im_end|>\n<|im_start|>user\nhurry<|im_end|>\n<|im_start|>assistant\n`
      ])
    }))
})

describe("the datum of a rollout with tools", () => {
  const tokensOf: Readonly<Record<string, ReadonlyArray<number>>> = {
    system: [100, 101],
    user: [200, 201],
    tool: [400, 401]
  }
  const header = 500

  /** A renderer that recognises the responses by their tokens. The first one calls a tool. */
  const renderer: Renderer.Renderer = {
    ...Talk.counting(),
    stop: [301, 311],
    hasExtensionProperty: true,
    generationPrompt: (messages) =>
      Effect.succeed(ModelInput.fromTokens([
        ...messages.flatMap(({ role, toolCalls }) =>
          tokensOf[role] ?? [header, ...toolCalls ? [300, 301] : [310, 311]]
        ),
        header
      ])),
    parse: ([token]) =>
      Effect.succeed(
        token === 300
          ? Talk.parsed("", { toolCalls: [{ function: { name: "look", arguments: "{}" } }] })
          : Talk.parsed("seen")
      )
  }

  it.effect("has only the sampled tokens as targets", () =>
    Effect.gen(function*() {
      const sampled = (...tokens: ReadonlyArray<number>) => ({
        tokens: Int32Array.from(tokens),
        logprobs: new Float32Array(tokens.length).fill(-1),
        stopReason: "stop" as const
      })
      const look = FunctionTool.make({
        name: "look",
        description: "Looks.",
        parameters: Schema.Struct({}),
        handler: () => Effect.succeed("nothing")
      })
      const result = yield* Rollout.group(
        {
          key: "look",
          size: 2,
          tags: [],
          open: Effect.succeed({
            makeEnv: (member) =>
              ToolEnv.make({
                model: { renderer },
                tools: [look],
                messages: [Message.system("s"), Message.user("u")],
                grade: () => Effect.succeed({ reward: member })
              })
          })
        },
        { act: ({ key }) => Effect.succeed(key.turn === 0 ? sampled(300, 301) : sampled(310, 311)) }
      )
      const data = Signal.informative([result]).flatMap((group) =>
        TrainingData.assemble(group, Advantage.centered).data
      )
      assert.strictEqual(data.length, 2, "one for each member")
      for (const { inputs, origin } of data) {
        assert.strictEqual(origin.turns.length, 2)
        assert.deepStrictEqual([...inputs.mask], [0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1])
      }
    }))
})

describe("images at the beginning of a prompt", () => {
  const image: ModelInput.Chunk = { _tag: "Image", data: Uint8Array.of(1), format: "png", expectedTokens: 4 }
  const input = (...chunks: ReadonlyArray<string | ModelInput.Chunk>) =>
    ModelInput.fromChunks(
      chunks.map((chunk) =>
        typeof chunk === "string" ? { _tag: "EncodedText", tokens: tokenizer.encode(chunk) } : chunk
      )
    )

  it("must be equal for the prompt to continue, however the text is split into chunks", () => {
    const whole = input("xy", image, "xyz")
    assert.deepStrictEqual(ModelInput.after(whole, input("x", "y", image, "x")), input("yz"))
    assert.deepStrictEqual(ModelInput.after(whole, input("x", "y")), input(image, "xyz"))
    assert.deepStrictEqual(ModelInput.after(whole, whole), ModelInput.empty)
    assert.deepStrictEqual(ModelInput.after(whole, ModelInput.empty), whole)
    assert.isUndefined(ModelInput.after(whole, input("xy", { ...image, data: Uint8Array.of(2) })))
    assert.isUndefined(ModelInput.after(whole, input("x", image)))
    assert.isUndefined(ModelInput.after(whole, input("xyx")))
    assert.isUndefined(ModelInput.after(input("xy"), input("xyz")))
  })
})

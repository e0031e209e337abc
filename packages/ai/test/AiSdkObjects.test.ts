/** Objects and tool calls that AI SDK requests from a policy on the engine. */
import { AiSdkPolicy } from "@effect-rl/ai"
import { ChatModel, MessagePolicy, Tinker } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import { Host } from "@effect-rl/engine/runtime/Host"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { generateObject, generateText, Output, streamObject, tool } from "ai"
import { Effect, FileSystem, Layer, Stream } from "effect"
import * as Zod from "zod"

globalThis.AI_SDK_LOG_WARNINGS = false

const engine = Layer.unwrap(
  Effect.map(
    Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped()),
    (checkpoints) => Engine.layerNoDeps({ checkpoints })
  )
).pipe(Layer.provide(Host.layer({ workers: 1 })), Layer.provideMerge(NodeServices.layer))

/** A policy that samples with the given seed. */
const policy = Effect.fnUntraced(function*(seed: number) {
  const model = yield* ChatModel.resolve("effect-rl/tiny-64")
  const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model.name }))
  const sampled = MessagePolicy.fromSamplingClient(client, { model, maxTokens: 100, seed })
  return yield* AiSdkPolicy.toLanguageModel(sampled, { key: "app", model })
})

const schema = Zod.object({
  color: Zod.enum(["red", "green"]),
  isBright: Zod.boolean(),
  sizes: Zod.array(Zod.literal([1, 2])).max(2)
})

const paint = tool({ description: "Paints a wall.", inputSchema: schema, execute: ({ color }) => color })

const wash = tool({ description: "Washes a wall.", inputSchema: Zod.object({}), execute: () => "clean" })

const seeds = [1, 2]

describe("a policy on the engine as an AI SDK language model", () => {
  layer(engine)((it) => {
    it.effect("returns objects that match a schema, complete or streamed, for any seed", () =>
      Effect.gen(function*() {
        for (const seed of seeds) {
          const model = yield* policy(seed)
          const { object } = yield* Effect.promise(() => generateObject({ model, schema, prompt: "A wall?" }))
          assert.deepStrictEqual(schema.parse(object), object)
          const stream = streamObject({ model, schema, prompt: "A wall?" })
          yield* Stream.runDrain(Stream.fromAsyncIterable(stream.partialObjectStream, String))
          const streamed = yield* Effect.promise(() => stream.object)
          assert.deepStrictEqual(schema.parse(streamed), streamed)
          const { output } = yield* Effect.promise(() =>
            generateText({ model, prompt: "A wall?", output: Output.object({ schema }) })
          )
          assert.deepStrictEqual(schema.parse(output), output)
        }
      }).pipe(Effect.scoped))

    it.effect("returns forced tool calls, for any seed", () =>
      Effect.gen(function*() {
        for (const seed of seeds) {
          const model = yield* policy(seed)
          const asked = (toolChoice: "required" | { type: "tool"; toolName: "paint" }) =>
            Effect.promise(() => generateText({ model, prompt: "A wall.", tools: { paint, wash }, toolChoice }))
          const named = yield* asked({ type: "tool", toolName: "paint" })
          assert.deepStrictEqual(named.toolCalls.map(({ toolName }) => toolName), ["paint"])
          assert.isTrue(
            named.toolCalls.every(({ input, invalid }) => invalid !== true && schema.safeParse(input).success)
          )
          const any = yield* asked("required")
          assert.lengthOf(any.toolCalls, 1)
          assert.isTrue(any.toolCalls.every(({ invalid }) => invalid !== true))
        }
      }).pipe(Effect.scoped))
  })
})

import { AiTools } from "@effect-rl/ai"
import { type FunctionTool, Message, Rollout, ToolEnv } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import * as Agent from "./Agent.ts"

class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { city: Schema.String }) {
  override get message() {
    return `no city ${this.city}`
  }
}
class Stations extends Context.Service<Stations, {
  readonly degrees: (city: string) => Effect.Effect<number, NotFound>
}>()("Stations") {}

const Weather = Tool.make("weather", {
  description: "How warm it is.",
  parameters: Schema.Struct({ city: Schema.String }),
  success: Schema.Struct({ degrees: Schema.Number }),
  failure: NotFound,
  dependencies: [Stations]
})
const Say = Tool.make("say", {
  description: "Says it back.",
  parameters: Schema.Struct({ text: Schema.String }),
  success: Schema.String
})
const Forgive = Tool.make("forgive", {
  description: "Gives its failure as an answer.",
  parameters: Schema.Struct({}),
  failure: NotFound,
  failureMode: "return"
})

const kit = Toolkit.make(Weather, Say, Forgive)

const handlers = kit.toLayer({
  weather: ({ city }) => Stations.use(({ degrees }) => degrees(city)).pipe(Effect.map((degrees) => ({ degrees }))),
  say: ({ text }, { preliminary }) => Effect.as(preliminary("…"), text),
  forgive: () => Effect.fail(new NotFound({ city: "Atlantis" }))
})

const stations = Stations.of({
  degrees: (city) => city === "Lima" ? Effect.succeed(20) : Effect.fail(new NotFound({ city }))
})

const call = <E, R>(tools: ReadonlyArray<FunctionTool.FunctionTool<E, R>>, name: string, args: string) =>
  tools.find(({ spec }) => spec.name === name)?.call(args) ?? Effect.die(`no tool ${name}`)

const test = <A, E>(name: string, run: Effect.Effect<A, E, Stations | Effect.Services<typeof kit>>) =>
  it.effect(name, () => run.pipe(Effect.provide(handlers), Effect.provideService(Stations, stations)))

describe("the tools of a toolkit", () => {
  test(
    "have the declared names, descriptions and schemas",
    Effect.gen(function*() {
      const specs = AiTools.fromToolkit(yield* kit).map(({ spec }) => spec)
      assert.deepStrictEqual(specs.map(({ name }) => name), ["weather", "say", "forgive"])
      assert.deepStrictEqual(specs[0], {
        name: "weather",
        description: "How warm it is.",
        parameters: {
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
          additionalProperties: true
        }
      })
    })
  )

  test(
    "return their encoded result, and text unchanged",
    Effect.gen(function*() {
      const tools = AiTools.fromToolkit(yield* kit)
      assert.deepStrictEqual(yield* call(tools, "weather", `{"city": "Lima"}`), { content: `{"degrees": 20}` })
      assert.deepStrictEqual(yield* call(tools, "say", `{"text": "hi"}`), { content: "hi" })
    })
  )

  test(
    "report errors in the arguments, the handler and the toolkit",
    Effect.gen(function*() {
      const tools = AiTools.fromToolkit(yield* kit)
      const answers = yield* Effect.all([
        call(tools, "weather", `{"city": "Atlantis"}`),
        call(tools, "weather", `{"city": 7}`),
        call(tools, "forgive", "{}"),
        call(tools, "say", "hi")
      ])
      assert.deepStrictEqual(answers.map(({ failure }) => failure), [
        "execution_failed",
        "validation_failed",
        "execution_failed",
        "json_decode_failed"
      ])
      assert.deepStrictEqual(answers[0]?.content, `{"error": "no city Atlantis"}`)
    })
  )

  test(
    "fail the attempt on defects and on errors that isFatal selects",
    Effect.gen(function*() {
      const tools = AiTools.fromToolkit(yield* kit, { isFatal: (error) => error._tag === "NotFound" })
      const error = yield* Effect.flip(call(tools, "weather", `{"city": "Atlantis"}`))
      assert.strictEqual(error.city, "Atlantis")
    })
  )

  test(
    "can be called in an episode",
    Effect.gen(function*() {
      const env = yield* ToolEnv.make({
        model: { renderer: Agent.renderer("say", undefined) },
        tools: AiTools.fromToolkit(yield* kit),
        messages: [Message.user("go on")],
        grade: (messages) => Effect.succeed({ reward: messages.length })
      })
      const { stepReward } = yield* Rollout.episode(env, Agent.policy, Agent.key)
      assert.strictEqual(stepReward, 4)
    })
  )
})

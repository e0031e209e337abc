import { FunctionTool, Message, Rollout, ToolEnv } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import * as Ark from "arktype"
import { Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Valibot from "valibot"
import * as Zod from "zod"
import * as Talk from "../Talk.ts"

class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { path: Schema.String }) {
  override get message() {
    return `no file ${this.path}`
  }
}
class SandboxLost extends Schema.TaggedError<SandboxLost>()("SandboxLost", {}) {}

const parameters = Schema.Struct({
  path: Schema.String.annotate({ description: "Where it lies." }),
  lines: Schema.optional(Schema.Int)
})

const read = <E, R>(
  handler: (given: typeof parameters.Type) => Effect.Effect<string | FunctionTool.Answer, E, R>,
  options: { readonly timeout?: "2 seconds" } = {}
) => FunctionTool.make({ name: "read", description: "Reads a file.", parameters, handler, ...options })

const path = `{"path": "/a"}`

describe("FunctionTool.make", () => {
  it("describes its parameters as a JSON schema", () => {
    assert.deepStrictEqual(read(() => Effect.succeed("")).spec, {
      name: "read",
      description: "Reads a file.",
      parameters: {
        type: "object",
        properties: {
          path: { type: "string", description: "Where it lies." },
          lines: {
            anyOf: [
              { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
              { type: "null" }
            ]
          }
        },
        required: ["path"],
        additionalProperties: true
      }
    })
  })

  it.effect("decodes its arguments, and answers with the text or the response that its handler returns", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const tool = read((given) => Effect.sync(() => asked.push(given)).pipe(Effect.as("text")))
      assert.deepStrictEqual(yield* tool.call(path), { content: "text" })
      yield* tool.call(`{"path": "/a", "lines": 7, "more": true}`)
      yield* tool.call(`{"path": "/a", "lines": null}`)
      assert.deepStrictEqual(asked, [{ path: "/a" }, { path: "/a", lines: 7 }, { path: "/a", lines: undefined }])
      const stopping = read(() => Effect.succeed({ content: "bye", stop: true }))
      assert.deepStrictEqual(yield* stopping.call(path), { content: "bye", stop: true })
    }))
})

describe("a failed tool call is answered with the reason", () => {
  const asked = read(() => Effect.die("asked"))

  it.effect("if the arguments are invalid", () =>
    Effect.gen(function*() {
      const answers = yield* Effect.forEach(["", "{\"path\": ", "[]", "{}", `{"path": 1, "lines": 1.5}`], asked.call)
      assert.deepStrictEqual(answers.map(({ content, failure }) => [failure, content]), [
        ["json_decode_failed", `{"error": "the arguments are not JSON: expected a value at the end"}`],
        ["json_decode_failed", `{"error": "the arguments are not JSON: expected a value at the end"}`],
        ["validation_failed", `{"error": "the arguments do not fit: Expected object"}`],
        ["validation_failed", `{"error": "the arguments do not fit: Missing key\\n  at [\\"path\\"]"}`],
        [
          "validation_failed",
          `{"error": "the arguments do not fit: Expected string\\n  at [\\"path\\"]\\nExpected an integer\\n  at [\\"lines\\"]"}`
        ]
      ])
    }))

  const told = <E>(handler: Effect.Effect<string, E>) => Effect.map(read(() => handler).call(path), (answer) => answer)
  const failed = (detail: string) => ({ content: `{"error": "${detail}"}`, failure: "execution_failed" })

  it.effect("if the handler fails, dies, throws or interrupts itself", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual<unknown>(yield* told(Effect.fail(new NotFound({ path: "/a" }))), failed("no file /a"))
      assert.deepStrictEqual<unknown>(yield* told(Effect.fail("out of paper")), failed("out of paper"))
      assert.deepStrictEqual<unknown>(yield* told(Effect.die(new TypeError("no function"))), failed("no function"))
      const throwing = read((): Effect.Effect<string> => {
        throw new RangeError("too far")
      })
      assert.deepStrictEqual<unknown>(yield* throwing.call(path), failed("too far"))
      const given = yield* told(Effect.interrupt)
      assert.strictEqual(given.failure, "execution_failed")
    }))

  it.effect("if the handler takes too long", () =>
    Effect.gen(function*() {
      let isReleased = false
      const slow = read(() => Effect.onInterrupt(Effect.never, () => Effect.sync(() => isReleased = true)), {
        timeout: "2 seconds"
      })
      const answer = yield* Effect.forkChild(slow.call(path))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual<unknown>(yield* Fiber.join(answer), failed("no answer within 2s"))
      assert.isTrue(isReleased)
    }))

  it.effect("but not if the call itself is interrupted, which stays an interruption", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(read(() => Effect.never).call(path))
      yield* TestClock.adjust(0)
      assert.isTrue(Exit.hasInterrupts(yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))))
    }))
})

describe("a fatal tool failure", () => {
  const lost = FunctionTool.make({
    name: "read",
    description: "Reads a file.",
    parameters,
    handler: ({ path }) => Effect.fail(path === "/a" ? new SandboxLost() : new NotFound({ path })),
    isFatal: (error) => error._tag === "SandboxLost"
  })

  it.effect("is the tool's own error", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(lost.call(path)))._tag, "SandboxLost")
      assert.strictEqual((yield* lost.call(`{"path": "/b"}`)).content, `{"error": "no file /b"}`)
    }))

  it.effect("fails the attempt and interrupts the message's other calls", () =>
    Effect.gen(function*() {
      let isReleased = false
      const hanging = FunctionTool.make({
        name: "wait",
        description: "Waits.",
        parameters: Schema.Struct({}),
        handler: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => isReleased = true))
      })
      const call = (name: string, args: string) => ({ function: { name, arguments: args } })
      const parsed = Talk.parsed("", { toolCalls: [call("wait", "{}"), call("read", path)] })
      const env = yield* ToolEnv.make({
        model: { renderer: Talk.counting(parsed) },
        tools: [lost, hanging],
        messages: [Message.user("read")],
        grade: () => Effect.die("graded")
      })
      const error = yield* Effect.flip(Rollout.episode(env, Talk.policy(), Talk.key))
      assert.strictEqual(error._tag, "SandboxLost")
      assert.isTrue(isReleased)
    }))
})

describe("parameters of other schema libraries", () => {
  const described = {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "number" } },
    required: ["city"]
  } as const

  const answer = ({ city, days = 1 }: { readonly city: string; readonly days?: number | undefined }) =>
    Effect.succeed(`${city}, ${days + 1}`)

  const common = { name: "weather", description: "Tells the weather." }

  const tools = {
    zod: FunctionTool.make({
      ...common,
      parameters: Zod.object({ city: Zod.string(), days: Zod.number().optional() }),
      handler: answer
    }),
    arktype: FunctionTool.make({
      ...common,
      parameters: Ark.type({ city: "string", "days?": "number" }),
      handler: answer
    }),
    valibot: FunctionTool.make({
      ...common,
      parameters: Valibot.object({ city: Valibot.string(), days: Valibot.optional(Valibot.number()) }),
      jsonSchema: described,
      handler: answer
    })
  }

  it.effect.each(Object.entries(tools))(
    "of %s are described to the policy and checked",
    ([, tool]) =>
      Effect.gen(function*() {
        assert.deepInclude(tool.spec.parameters, described)
        assert.notProperty(tool.spec.parameters, "$schema")
        assert.deepStrictEqual(yield* tool.call(`{"city": "Rome", "days": 2}`), { content: "Rome, 3" })
        assert.deepStrictEqual(yield* tool.call(`{"city": "Rome"}`), { content: "Rome, 2" })
        const { content, failure } = yield* tool.call(`{"city": 1}`)
        assert.strictEqual(failure, "validation_failed")
        assert.include(content, `at [\\"city\\"]`)
      })
  )

  it.effect("may be validated and transformed asynchronously", () =>
    Effect.gen(function*() {
      const parameters = Zod.object({ city: Zod.string().transform((city) => Promise.resolve(city.toUpperCase())) })
      const tool = FunctionTool.make({ ...common, parameters, handler: ({ city }) => Effect.succeed(city) })
      assert.deepStrictEqual(yield* tool.call(`{"city": "Rome"}`), { content: "ROME" })
    }))

  it("are refused without a JSON schema", () => {
    const parameters = Valibot.object({ city: Valibot.string() })
    assert.throws(
      () => Reflect.apply(FunctionTool.make, undefined, [{ ...common, parameters, handler: answer }]),
      "parameters of valibot have no JSON schema of their own, expected jsonSchema beside them"
    )
  })
})

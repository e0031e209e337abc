import { type Env, EnvGroupBuilder, EnvMetric, FunctionTool, Message, Rollout, ToolEnv } from "@effect-rl/core"
import { Renderers } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Agent from "../Agent.ts"
import * as Talk from "../Talk.ts"

const { question, call, calls, answer, echo, play, rewards, stopReason, last } = Agent

const lastPromptOf = Effect.fnUntraced(function*(answers: ReadonlyArray<ReturnType<typeof Talk.said>>, settings = {}) {
  const policy = Talk.policy(...answers)
  const env = yield* ToolEnv.make({
    model: { renderer: yield* Talk.qwen },
    tools: echo().tools,
    messages: question,
    grade: () => Effect.succeed({ reward: 1 }),
    ...settings
  })
  yield* Rollout.episode(env, policy, Talk.key)
  return policy.requests.map(({ prompt }) => Talk.text(prompt)).at(-1) ?? ""
})

describe("ToolEnv.make", () => {
  const text = (name: string, args: string) => `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`

  it.effect("shows the model its tools and their answers", () =>
    Effect.gen(function*() {
      const called = text("echo", `{"text":"hello"}`)
      const prompt = yield* lastPromptOf([Talk.said(called), Talk.said("done")])
      assert.include(prompt, `{"type": "function", "function": {"name": "echo", "description": "says echo"`)
      assert.include(
        prompt,
        `<|im_start|>assistant\n${called}${Talk.end}\n<|im_start|>user\n<tool_response>\nhello\n</tool_response>`,
        "the call is as it was sampled, though it is read and written with other spaces"
      )
    }))

  it.effect("describes its tools in the system prompt, and adds nothing if it has none", () =>
    Effect.gen(function*() {
      const prompt = yield* lastPromptOf([Talk.said("done")], { systemPrompt: "Use your tools." })
      assert.isTrue(prompt.startsWith("<|im_start|>system\nUse your tools.\n\n# Tools"))
      const bare = yield* lastPromptOf([Talk.said("done")], { systemPrompt: "Think.", tools: [] })
      assert.isTrue(bare.startsWith(`<|im_start|>system\nThink.${Talk.end}`))
    }))

  it.effect("begins each prompt with the previous prompt and the sampled text", () =>
    Effect.gen(function*() {
      const policy = Talk.policy(Talk.said(text("echo", "{}")), Talk.said("done"))
      const options = { tools: echo().tools, messages: question, grade: () => Effect.succeed({ reward: 1 }) }
      const env = yield* ToolEnv.make({ model: { renderer: yield* Talk.qwen }, ...options })
      const { transitions } = yield* Rollout.episode(env, policy, Talk.key)
      const [first, second] = transitions.map(({ action, observation }) =>
        Talk.text(observation) + Talk.tokenizer.decode(action.tokens)
      )
      assert.isTrue(second?.startsWith(first ?? "nothing"))
    }))

  it.effect("needs a renderer that supports tools", () =>
    Effect.gen(function*() {
      const renderer = yield* Renderers.byName("role_colon", Talk.tokenizer)
      const options = { model: { renderer }, tools: echo().tools, messages: question }
      const error = yield* Effect.flip(ToolEnv.make({ ...options, grade: () => Effect.succeed({ reward: 1 }) }))
      assert.include(error.message, `renderer "role_colon": has no tools; expected a renderer that has, such as qwen3`)
    }))
})

describe("an episode with tools ends and is graded once", () => {
  it.effect("when no tool is called", () =>
    Effect.gen(function*() {
      const played = yield* play([calls(2, "first"), answer("it is 3")])
      assert.strictEqual(stopReason(played), "completed")
      assert.deepStrictEqual(rewards(played), [0, 0.9])
      assert.deepStrictEqual(played.graded, [[
        ...question,
        { role: "assistant", content: "first", toolCalls: [call(), call()] },
        { role: "tool", content: "echo", name: "echo" },
        { role: "tool", content: "echo", name: "echo" },
        Message.assistant("it is 3")
      ]])
    }))

  it.effect("when a tool's answer stops it", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.parsed("", { toolCalls: [call("halt"), call()] })], { maxTurns: 1 })
      assert.strictEqual(stopReason(played), "tool_stopped", "before max_turns")
      const cut = yield* play([Talk.parsed("", { toolCalls: [call("halt"), call()] })], { maxToolCalls: 1 })
      assert.deepStrictEqual([stopReason(cut), cut.ran], ["tool_stopped", ["halt"]], "before max_tool_calls")
      assert.deepStrictEqual(played.ran, ["halt", "echo"])
      assert.strictEqual(played.graded.length, 1)
    }))

  it.effect("when it has no turns left", () =>
    Effect.gen(function*() {
      const played = yield* play([calls(1)], { maxTurns: 1 })
      assert.strictEqual(stopReason(played), "max_turns")
      assert.deepStrictEqual(rewards(played), [0.9])
      assert.deepStrictEqual(played.ran, ["echo"])
      assert.strictEqual(played.graded.length, 1)
    }))

  it.effect("after five turns by default", () =>
    Effect.gen(function*() {
      const played = yield* play([calls(1)])
      assert.strictEqual(played.requests.length, 5)
      assert.strictEqual(stopReason(played), "max_turns")
      assert.strictEqual(played.graded.length, 1)
    }))

  it.effect("but is not graded when the caller's limits end it", () =>
    Effect.gen(function*() {
      const played = yield* play([calls(1)], { maxTurns: 99, caller: { maxTurns: 2 } })
      assert.strictEqual(played.requests.length, 2)
      assert.strictEqual(stopReason(played), "max_turns")
      assert.deepStrictEqual(played.graded, [])
    }))
})

describe("ToolEnv limits tool calls", () => {
  it.effect("makes the first calls of a message that asks for too many", () =>
    Effect.gen(function*() {
      const played = yield* play([calls(2)], { maxToolCalls: 3 })
      assert.strictEqual(played.ran.length, 3)
      assert.strictEqual(stopReason(played), "max_tool_calls")
      assert.strictEqual(last(played)?.logs["tool_calls_dropped"], 1)
      assert.strictEqual(played.graded.length, 1)
    }))

  it.effect("makes no call if none is left", () =>
    Effect.gen(function*() {
      const played = yield* play([calls(2), calls(1)], { maxToolCalls: 2 })
      assert.strictEqual(played.ran.length, 2)
      assert.strictEqual(stopReason(played), "max_tool_calls")
    }))

  it.effect("runs the last allowed call, after which the episode continues", () =>
    Effect.gen(function*() {
      const played = yield* play([calls(2), answer()], { maxToolCalls: 2 })
      assert.strictEqual(stopReason(played), "completed")
      assert.strictEqual(played.ran.length, 2)
    }))

  it.effect.each([[5, 2], [2, 5], [2, 10]] as const)(
    "by the stricter of the environment's %d and the caller's %d",
    ([own, callers]) =>
      Effect.gen(function*() {
        const played = yield* play([calls(1)], { maxToolCalls: own, caller: { maxToolCalls: callers }, maxTurns: 9 })
        assert.strictEqual(played.ran.length, 2)
        assert.strictEqual(stopReason(played), "max_tool_calls")
      })
  )

  it.effect("uses the caller's limit if the environment has none", () =>
    Effect.gen(function*() {
      const played = yield* play([calls(2)], { caller: { maxToolCalls: 1 } })
      assert.deepStrictEqual(played.ran, ["echo"])
      assert.strictEqual(played.graded.length, 1)
    }))

  it.effect("refuses an environment that does not count calls if they are limited", () =>
    Effect.gen(function*() {
      const env: Env.Env = { initialObservation: Effect.die("played"), step: () => Effect.die("played") }
      const limited = Rollout.episode(env, Talk.policy(), Talk.key, { limits: { maxToolCalls: 1 } })
      assert.strictEqual((yield* Effect.flip(limited)).reason._tag, "Unsupported")
    }))
})

describe("several calls in one message", () => {
  /** A tool pair in which `slow` answers only after `fast` has. */
  const racing = Effect.fnUntraced(function*(execution: "parallel" | "sequential") {
    const latch = yield* Latch.make()
    const log: Array<string> = []
    const tool = (name: string, handler: Effect.Effect<unknown>) =>
      FunctionTool.make({
        name,
        description: "",
        parameters: Schema.Struct({}),
        handler: () => Effect.as(Effect.andThen(handler, Effect.sync(() => log.push(name))), name)
      })
    const graded = yield* Deferred.make<ReadonlyArray<Message.Message>>()
    const env = yield* ToolEnv.make({
      model: { renderer: Talk.counting(Talk.parsed("", { toolCalls: [call("slow"), call("fast")] })) },
      tools: [tool("slow", latch.await), tool("fast", latch.open)],
      messages: question,
      maxTurns: 1,
      execution,
      grade: (messages) => Effect.as(Deferred.succeed(graded, messages), { reward: 1 })
    })
    yield* env.initialObservation
    const step = yield* Effect.forkChild(env.step({ tokens: new Int32Array(1) }))
    return { graded, log, step }
  })

  it.effect("run in parallel and are answered in order", () =>
    Effect.gen(function*() {
      const { graded, log } = yield* racing("parallel")
      const messages = yield* Deferred.await(graded)
      assert.deepStrictEqual(log, ["fast", "slow"])
      assert.deepStrictEqual(messages.slice(-2).map(({ name }) => name), ["slow", "fast"])
    }))

  it.effect("run one after the other if execution is sequential", () =>
    Effect.gen(function*() {
      const { log, step } = yield* racing("sequential")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(log, [], "the second waits for the first")
      yield* Fiber.interrupt(step)
    }))

  it.effect("add to the count of tool calls", () =>
    Effect.gen(function*() {
      const tool = FunctionTool.make({
        name: "echo",
        description: "",
        parameters: Schema.Struct({}),
        handler: () =>
          Effect.succeed({
            content: "",
            metrics: {
              pages: EnvMetric.sum(2),
              longest: EnvMetric.max(3),
              hit: EnvMetric.rate(true),
              score: EnvMetric.mean(4)
            }
          })
      })
      const played = yield* play([calls(3)], { maxTurns: 1, tools: [tool] })
      assert.deepStrictEqual(last(played)?.metrics, {
        pages: EnvMetric.sum(6),
        longest: EnvMetric.max(3),
        hit: EnvMetric.rate(true),
        score: EnvMetric.mean(4)
      })
    }))
})

describe("a call without an answer", () => {
  it.effect("is answered with an error, and the episode continues", () =>
    Effect.gen(function*() {
      const asked = [call("missing"), call("echo", "{"), call("echo", `{"text": 1}`), call()]
      const played = yield* play([Talk.parsed("", { toolCalls: asked }), answer()])
      assert.strictEqual(stopReason(played), "completed")
      const answers = played.graded[0]?.slice(3, -1).map(({ content }) => content)
      assert.deepStrictEqual(answers, [
        `{"error": "there is no tool \\"missing\\"; known are: echo, halt"}`,
        `{"error": "the arguments are not JSON: expected a key in double quotes at the end"}`,
        `{"error": "the arguments do not fit: Expected string | null\\n  at [\\"text\\"]"}`,
        "echo"
      ])
      assert.deepStrictEqual(played.trajectory.transitions[0]?.metrics, { tool_errors: EnvMetric.sum(3) })
    }))
})

describe("a tool episode that exceeds the token budget", () => {
  it.effect("ends ungraded after the tool whose answer was too long", () =>
    Effect.gen(function*() {
      const text = JSON.stringify({ text: "word ".repeat(30) })
      const long = Talk.parsed("", { toolCalls: [call("echo", text)] })
      const played = yield* play([long], { maxTrajectoryTokens: 30 })
      assert.strictEqual(stopReason(played), "context_overflow")
      assert.deepStrictEqual(rewards(played), [-0.1])
      assert.strictEqual(played.ran.length, 1)
      assert.deepStrictEqual(played.graded, [])
    }))

  it.effect("ends before the first turn if the first prompt is too long", () =>
    Effect.gen(function*() {
      const played = yield* play([answer()], { maxTrajectoryTokens: 7 })
      assert.deepStrictEqual(played.requests, [])
      assert.strictEqual(stopReason(played), "max_tokens")
      assert.strictEqual(played.trajectory.stepReward, -0.1)
      assert.include(played.trajectory.logs?.["overflow"], "a prompt of 8 tokens")
    }))

  it.effect("does not affect the other members of its group", () =>
    Effect.gen(function*() {
      const policy = Talk.policy()
      const member = (messages: ReadonlyArray<Message.Message>) =>
        ToolEnv.make({
          model: { renderer: Talk.counting(answer()) },
          tools: echo().tools,
          messages,
          maxTrajectoryTokens: 10,
          grade: () => Effect.succeed({ reward: 0.7 })
        })
      const result = yield* Rollout.group({
        key: "mixed",
        size: 2,
        tags: [],
        open: Effect.succeed({ makeEnv: (index) => member(index === 0 ? [...question, ...question] : question) })
      }, policy)
      assert.deepStrictEqual(result._tag === "Completed" && [...result.rewardsG], [-0.1, 0.7])
      assert.strictEqual(policy.requests.length, 1)
    }))
})

describe("the grader of ToolEnv", () => {
  it.effect("sees all messages, or only those after the first prompt", () =>
    Effect.gen(function*() {
      const roles = ({ graded }: Agent.Played) => graded[0]?.map(({ role }) => role)
      assert.deepStrictEqual(roles(yield* play([answer()])), ["system", "user", "assistant"])
      assert.deepStrictEqual(roles(yield* play([answer()], { graded: "new" })), ["assistant"])
    }))

  it.effect("drops the member if it takes longer than the rollout's graderTimeout", () =>
    Effect.gen(function*() {
      const slowly = EnvGroupBuilder.make({
        key: "slow",
        size: 1,
        makeEnv: () =>
          ToolEnv.make({
            model: { renderer: Talk.counting(answer()) },
            tools: [],
            messages: question,
            grade: () => Effect.delay(Effect.succeed({ reward: 1 }), "5 seconds")
          })
      })
      const group = Rollout.group(slowly, Talk.policy(), { graderTimeout: "2 seconds" })
      const rolling = yield* Effect.forkChild(group)
      yield* TestClock.adjust("2 seconds")
      const result = yield* Fiber.join(rolling)
      const { failure, message } = result._tag === "Skipped" ? result.reason : assert.fail(result._tag)
      assert.strictEqual(failure, "Ungraded")
      assert.include(message, `group "slow", member 0: not graded within 2s`)
    }))
})

describe("ToolEnv refuses invalid options", () => {
  const refusal = (settings: Agent.Setting) =>
    Effect.map(Effect.flip(play([answer()], settings)), (error) => error.message)

  it.effect("before the episode starts", () =>
    Effect.gen(function*() {
      const refused = [
        [{ maxConsecutive: -1 }, "parseErrors.maxConsecutive is -1, expected a whole number of at least 0"],
        [{ penaltyPerError: -0.1 }, "parseErrors.penaltyPerError is -0.1, expected a number of at least 0"],
        [{ retryMessage: "again!" }, "parseErrors.retryMessage is again!, expected a text that holds {details}"],
        [{ terminalReward: NaN }, "parseErrors.terminalReward is NaN, expected a finite number"]
      ] as const
      for (const [parseErrors, message] of refused) assert.strictEqual(yield* refusal({ parseErrors }), message)
      assert.strictEqual(stopReason(yield* play([answer()], { parseErrors: { terminalReward: -0.5 } })), "completed")
      assert.strictEqual(yield* refusal({ maxTurns: 0 }), "maxTurns is 0, expected a whole number of at least 1")
      assert.strictEqual(
        yield* refusal({ maxToolCalls: -1 }),
        "maxToolCalls is -1, expected a whole number of at least 0"
      )
      assert.strictEqual(
        yield* refusal({ tools: [...echo().tools, ...echo().tools] }),
        `tools is two named "echo", expected names that differ`
      )
    }))
})

import { AgentEnv } from "@effect-rl/agent"
import { EnvGroupBuilder, EnvMetric, FailurePolicy, Message, type Policy, Rollout, Score } from "@effect-rl/core"
import { AdaptiveLimiter, Metering } from "@effect-rl/core/backend"
import { GroupResult } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Ledger from "./Ledger.ts"
import * as Talk from "./Talk.ts"

type Texts = ReadonlyArray<string | ReadonlyArray<string>>

const playing = Effect.fnUntraced(function*<E>(policy: Policy.Policy, options: Omit<AgentEnv.Options<E>, "model">) {
  const model = yield* Talk.modelOf("qwen3_instruct")
  const env = yield* AgentEnv.make<E>({ model, ...options })
  return yield* Rollout.episode(env, policy, Talk.key)
}, Effect.scoped)

const played = Effect.fnUntraced(function*(
  run: AgentEnv.Options["run"],
  texts: Texts = [],
  options: Partial<AgentEnv.Options> = {}
) {
  const { log, policy } = Talk.saying(...texts)
  const trajectory = yield* playing(policy, { run, ...options })
  return { trajectory, turns: trajectory.transitions, log }
})

const text = (tokens: ArrayLike<number>) => Talk.tokenizer.decode(tokens)

describe("an agent's episode", () => {
  it.live("has a turn for each request, whose prompt begins with the previous tokens, and the verdict as its reward", () =>
    Effect.gen(function*() {
      const { log, trajectory, turns } = yield* played(async (session) => {
        const first = await Talk.ask(session, [Talk.user("one")])
        const second = await Talk.ask(session, [Talk.user("one"), first.message, Talk.user("two")])
        return second.message.content === "ab again" ? 0.75 : 0
      }, [["a", "b"], "ab again"])
      assert.strictEqual(trajectory.stepReward, 0.75)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("completed"))
      assert.deepStrictEqual(turns.map(({ action }) => action), log.map(({ sampled }) => sampled))
      assert.deepStrictEqual(turns.map(({ branch }) => branch), [undefined, undefined])
      const [first, second] = turns.map(({ action, observation }) => ({
        prompt: Ledger.tokensOf(observation),
        tokens: [...action.tokens]
      }))
      const before = [...first?.prompt ?? [], ...first?.tokens ?? []]
      assert.deepStrictEqual(second?.prompt.slice(0, before.length), before)
      assert.lengthOf(Ledger.trained(turns), 1)
    }))

  it.live("reads a body in each form in which `fetch` takes one, and refuses one that is too large", () =>
    Effect.gen(function*() {
      const body = JSON.stringify({ model: Talk.name, messages: [Talk.user("\u{1F980}")] })
      const bytes = new TextEncoder().encode(body)
      let statuses: ReadonlyArray<number> = []
      const { turns } = yield* played(async ({ baseUrl, fetch }) => {
        const url = `${baseUrl}/chat/completions`
        const ask = async (init: RequestInit) => (await fetch(url, { method: "POST", ...init })).status
        const asked = await fetch(new Request(url, { method: "POST", body }))
        statuses = [
          await ask({ body }),
          await ask({ body: bytes }),
          await ask({ body: `\uFEFF${body}` }),
          await ask({ body: new Blob([bytes]).stream(), duplex: "half" }),
          asked.status,
          await ask({ body: "{" }),
          await ask({}),
          await ask({ body: " ".repeat(2 ** 25 + 1) })
        ]
        return 0
      })
      assert.deepStrictEqual(statuses, [200, 200, 200, 200, 200, 422, 422, 413])
      const prompts = turns.map(({ observation }) => text(Ledger.tokensOf(observation)))
      assert.lengthOf(prompts, 5)
      assert.lengthOf([...new Set(prompts)], 1)
    }))

  it.live("parses each response once, and describes its tools once", () =>
    Effect.gen(function*() {
      const own = yield* Talk.modelOf("qwen3_instruct")
      const { policy } = Talk.saying("one", "two", "three")
      let [parsed, described] = [0, 0]
      const renderer: typeof own.renderer = {
        ...own.renderer,
        parse: (tokens) => {
          parsed++
          return own.renderer.parse(tokens)
        },
        toolsPrefix: (...given) => {
          described++
          return own.renderer.toolsPrefix?.(...given) ?? assert.fail("the renderer has no tools")
        }
      }
      const env = yield* AgentEnv.make({
        model: { ...own, renderer },
        run: async (session) => {
          const tools = [{ type: "function", function: { name: "look", parameters: {} } }]
          const conversation = [Talk.user("a")]
          for (let turn = 0; turn < 3; turn++) {
            const { message } = await Talk.ask(session, conversation, { tools })
            conversation.push(message, Talk.user("b"))
          }
          return 1
        }
      })
      const { transitions } = yield* Rollout.episode(env, policy, Talk.key)
      assert.lengthOf(transitions, 3)
      assert.deepStrictEqual({ parsed, described }, { parsed: 3, described: 1 })
    }).pipe(Effect.scoped))

  it.live("has turns that record the weights that sampled them, even if weights change between requests", () =>
    Effect.gen(function*() {
      const { policy } = Talk.saying("one", "two")
      let step = 4
      const changing: Policy.Policy = {
        act: (request) => Effect.map(policy.act(request), (sampled) => ({ ...sampled, samplerStep: step++ }))
      }
      const { transitions } = yield* playing(changing, {
        run: async (session) => {
          const first = await Talk.ask(session, [Talk.user("a")])
          await Talk.ask(session, [Talk.user("a"), first.message, Talk.user("b")])
          return 1
        }
      })
      assert.deepStrictEqual(transitions.map(({ action }) => action.samplerStep), [4, 5])
    }))

  it.live("has the score from a judge, and the messages of each turn", () =>
    Effect.gen(function*() {
      const { turns } = yield* played(async (session) => {
        await Talk.ask(session, [Talk.user("one")])
        return Score.correct(true, { answer: "1" })
      })
      assert.deepStrictEqual(turns.map(({ score, shown }) => ({ score, shown })), [
        { score: { value: 1, success: true, answer: "1" }, shown: { messages: [{ role: "user", content: "one" }] } }
      ])
    }))

  it.live("without a request has its verdict as reward, and no turn", () =>
    Effect.gen(function*() {
      const { trajectory } = yield* played(() => Effect.succeed(0.5))
      assert.deepInclude(trajectory, { stepReward: 0.5, transitions: [], stopReason: Option.some("completed") })
    }))

  it.live("streams a response as it was sampled, with tool calls", () =>
    Effect.gen(function*() {
      const call = `<tool_call>\n{"name": "look", "arguments": {"at": "ab"}}\n</tool_call>`
      let events: ReadonlyArray<string> = []
      yield* played(async ({ baseUrl, fetch }) => {
        const tools = [{ type: "function", function: { name: "look", parameters: {} } }]
        const response = await fetch(`${baseUrl}/chat/completions`, {
          method: "POST",
          body: JSON.stringify({ model: Talk.name, stream: true, messages: [Talk.user("one")], tools })
        })
        events = (await response.text()).split("\n\n")
        return 0
      }, [`so${call}`])
      const body = events.join()
      assert.include(body, `"content":"so"`)
      assert.include(body, `"name":"look"`)
      assert.strictEqual(events.at(-2), "data: [DONE]")
    }))

  it.live("parses tool calls in responses, and counts valid and invalid ones", () =>
    Effect.gen(function*() {
      const call = `<tool_call>\n{"name": "look", "arguments": {"at": "ab"}}\n</tool_call>`
      const tools = [{ type: "function", function: { name: "look", parameters: {} } }]
      const { turns } = yield* played(async (session) => {
        await Talk.ask(session, [Talk.user("one")], { tools })
        await Talk.ask(session, [Talk.user("two")], { tools })
        await Talk.ask(session, [Talk.user("three")])
        return 0
      }, [`so${call}`, "<tool_call>\nlook\n</tool_call>", "no tools"])
      const counts = (read: number, unread: number) => ({
        tool_calls: EnvMetric.sum(read),
        unread_calls: EnvMetric.sum(unread)
      })
      const said = turns.map(({ said }) => said)
      assert.strictEqual(said[0] === undefined ? undefined : Message.text(said[0]), "so")
      assert.deepStrictEqual(said[0]?.toolCalls?.map((call) => call.function), [{
        name: "look",
        arguments: `{"at": "ab"}`
      }])
      assert.deepStrictEqual(said.slice(1), [undefined, undefined])
      assert.deepStrictEqual(turns[0]?.logs, {})
      assert.deepStrictEqual(turns[0]?.metrics, counts(1, 0))
      assert.deepInclude(turns[1]?.metrics, counts(0, 1))
      assert.deepStrictEqual(turns[2]?.metrics, {})
    }))

  it.live("caps a turn at the client's own limit, and leaves the sampling options to the run", () =>
    Effect.gen(function*() {
      const { log, turns } = yield* played(async (session) => {
        const options = { max_tokens: 2, temperature: 0.1, top_p: 0.5, seed: 7 }
        const { finish } = await Talk.ask(session, [Talk.user("one")], options)
        return finish === "length" ? 1 : 0
      }, ["a long answer"])
      assert.strictEqual(log[0]?.sampled.tokens.length, 2)
      assert.deepStrictEqual(turns.map(({ logs }) => logs["left_to_the_run"]), ["temperature 0.1, top_p 0.5, seed 7"])
      assert.strictEqual(turns[0]?.reward, 1)
    }))

  it.live("shows no likely alternatives of the sampled tokens, and says so in the turn's logs", () =>
    Effect.gen(function*() {
      const { turns } = yield* played(async (session) => {
        await Talk.ask(session, [Talk.user("one")], { logprobs: true, top_logprobs: 3 })
        return 1
      }, ["an answer"])
      assert.deepStrictEqual(turns.map(({ logs }) => logs["not given: top_logprobs"]), [
        "top_logprobs is 3, expected 0: an agent's session shows only the sampled tokens"
      ])
    }))

  it.live("refuses sampling options if the run requires it, and unknown model names", () =>
    Effect.gen(function*() {
      const answers: Array<Talk.Answer> = []
      const { turns } = yield* played(
        async (session) => {
          answers.push(await Talk.ask(session, [Talk.user("one")], { temperature: 0 }))
          answers.push(await Talk.ask(session, [Talk.user("one")], { model: "gpt-5" }))
          answers.push(await Talk.ask(session, [Talk.user("one")], { model: "mine" }))
          return 0
        },
        [],
        { sampling: "refuse", names: ["mine"] }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status), [422, 404, 200])
      assert.strictEqual(
        answers[1]?.error,
        `no model "gpt-5" in this session, expected ${Talk.name}, mine, or a name that the run gives the model in its names`
      )
      assert.lengthOf(turns, 1)
    }))

  it.live("lists each field without effect once in its logs", () =>
    Effect.gen(function*() {
      const { turns } = yield* played(async (session) => {
        await Talk.ask(session, [Talk.user("one")], { user: "me" })
        await Talk.ask(session, [Talk.user("two")], { user: "me", presence_penalty: 1 })
        return 0
      })
      assert.deepStrictEqual(turns.map(({ logs }) => Object.keys(logs)), [
        ["no effect: user"],
        ["not given: presence_penalty"]
      ])
    }))
})

describe("repeated requests", () => {
  it.live("marked as retries get the stored answer and add no turn", () =>
    Effect.gen(function*() {
      const { turns } = yield* played(async (session) => {
        const messages = [Talk.user("one")]
        const answers = await Promise.all([
          Talk.ask(session, messages),
          Talk.ask(session, messages, { headers: { "x-stainless-retry-count": "1" } })
        ])
        answers.push(await Talk.ask(session, messages, { headers: { "x-stainless-retry-count": "2" } }))
        return new Set(answers.map(({ message }) => message.content)).size
      }, ["first", "second"])
      assert.lengthOf(turns, 1)
      assert.strictEqual(turns[0]?.reward, 1)
    }))

  it.live("without the mark of a retry get their own turn, as a retry or in parallel", () =>
    Effect.gen(function*() {
      const { turns } = yield* played(async (session) => {
        const messages = [Talk.user("one")]
        const ask = () => Talk.ask(session, messages)
        const answers = [await ask(), ...await Promise.all([ask(), ask()])]
        return new Set(answers.map(({ message }) => message.content)).size
      }, ["first", "second", "third"])
      assert.strictEqual(turns.at(-1)?.reward, 3)
      assert.deepStrictEqual(turns.map(({ branch }) => branch?.reason), [undefined, "retry", "retry"])
      assert.lengthOf(Ledger.trained(turns), 3)
    }))

  it.live("replace the original request after its client disconnects", () =>
    Effect.gen(function*() {
      const sampling = Deferred.makeUnsafe<void>()
      const { log, policy } = Talk.saying("first", "second")
      const slow: Policy.Policy = { act: (request) => Effect.andThen(Deferred.await(sampling), policy.act(request)) }
      const { transitions } = yield* playing(slow, {
        run: async (session) => {
          const controller = new AbortController()
          const lost = Talk.ask({ ...session, signal: controller.signal }, [Talk.user("one")]).catch(() => undefined)
          await new Promise((resolve) => setTimeout(resolve, 5))
          controller.abort()
          await lost
          const again = Talk.ask(session, [Talk.user("one")])
          await new Promise((resolve) => setTimeout(resolve, 5))
          Deferred.doneUnsafe(sampling, Effect.void)
          return (await again).message.content === "first" ? 1 : 0
        }
      })
      assert.lengthOf(log, 1)
      assert.deepStrictEqual(transitions.map(({ reward, trainable }) => ({ reward, trainable })), [
        { reward: 1, trainable: true }
      ])
    }))

  it.live("may never come after a client disconnects during sampling, and then the turn is not trained on", () =>
    Effect.gen(function*() {
      const sampling = Deferred.makeUnsafe<void>()
      const { policy } = Talk.saying("first", "second")
      const isAsked = Deferred.makeUnsafe<void>()
      const slow: Policy.Policy = {
        act: (request) => {
          Deferred.doneUnsafe(isAsked, Effect.void)
          return Effect.andThen(Deferred.await(sampling), policy.act(request))
        }
      }
      const { transitions } = yield* playing(slow, {
        run: async (session) => {
          const controller = new AbortController()
          const lost = Talk.ask({ ...session, signal: controller.signal }, [Talk.user("one")]).catch(() => undefined)
          await Effect.runPromise(Deferred.await(isAsked))
          controller.abort()
          await lost
          Deferred.doneUnsafe(sampling, Effect.void)
          await Talk.ask(session, [Talk.user("two")])
          return 1
        }
      })
      assert.deepStrictEqual(transitions.map(({ trainable }) => trainable), [false, true])
      assert.lengthOf(Ledger.trained(transitions), 2)
    }))
})

class Broke extends Schema.TaggedError<Broke>()("Broke", { what: Schema.String }) {}

const groupOf = Effect.fnUntraced(function*<E>(run: AgentEnv.Options<E>["run"]) {
  const model = yield* Talk.modelOf("qwen3_instruct")
  const builder = EnvGroupBuilder.make({ key: "agents", size: 1, makeEnv: () => AgentEnv.make<E>({ model, run }) })
  const onFailure = FailurePolicy.retryOnFailure({ maxRetries: 0 })
  return yield* Rollout.group(builder, Talk.saying().policy, { onFailure })
})

describe("an agent that fails", () => {
  const skipped = (result: GroupResult.GroupResult) =>
    GroupResult.isSkipped(result) && "failure" in result.reason ? result.reason : undefined

  it.live("fails its group member with a rejection", () =>
    Effect.gen(function*() {
      const result = yield* groupOf(async (session) => {
        await Talk.ask(session, [Talk.user("one")])
        throw new Error("no more money")
      })
      assert.deepInclude(skipped(result), { failure: "StepFailed" })
      assert.include(JSON.stringify(skipped(result)), "the agent failed: Error: no more money")
    }))

  it.live("fails its group member with a typed error before its first request", () =>
    Effect.gen(function*() {
      const result = yield* groupOf(() => Effect.fail(new Broke({ what: "tool" })))
      assert.deepInclude(skipped(result), { failure: "StepFailed" })
    }))
})

describe("time limits", () => {
  it.effect("an agent that neither asks nor ends makes the episode end as idle", () =>
    Effect.gen(function*() {
      const signal = Deferred.makeUnsafe<AbortSignal>()
      const fiber = yield* Effect.forkChild(played(
        (session) => Effect.andThen(Deferred.succeed(signal, session.signal), Effect.never),
        [],
        { idleTimeout: "1 minute" }
      ))
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const { trajectory } = yield* Fiber.join(fiber)
      assert.deepInclude(trajectory, { stepReward: 0, transitions: [], stopReason: Option.some("idle_timeout") })
      assert.isTrue((yield* Deferred.await(signal)).aborted)
    }))

  it.effect("an agent that sleeps beyond the episode's time limit is interrupted", () =>
    Effect.gen(function*() {
      let isInterrupted = false
      const sleeps = Effect.onInterrupt(Effect.as(Effect.sleep("1 day"), 1), () =>
        Effect.sync(() => {
          isInterrupted = true
        }))
      const fiber = yield* Effect.forkChild(played(() => sleeps, [], { limits: { rolloutTimeout: "1 hour" } }))
      yield* TestClock.adjust("1 hour")
      const { trajectory } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("rollout_timeout"))
      assert.isTrue(isInterrupted)
    }))

  it.live("an episode at its turn limit ends without a verdict, and the next request is answered with 410", () =>
    Effect.gen(function*() {
      const last = Deferred.makeUnsafe<Talk.Answer>()
      const { trajectory } = yield* played(
        async (given) => {
          const session = { ...given, signal: new AbortController().signal }
          const answer = await Talk.ask(session, [Talk.user("one")])
          const next = [Talk.user("one"), answer.message, Talk.user("two")]
          Deferred.doneUnsafe(last, Effect.succeed(await Talk.ask(session, next)))
          return 1
        },
        [],
        { limits: { maxTurns: 1 } }
      )
      assert.deepInclude(trajectory, { stepReward: 0, stopReason: Option.some("max_turns") })
      assert.deepInclude(yield* Deferred.await(last), { status: 410, error: "the episode of this session is over" })
    }))

  it.live("requests after the verdict are told that the episode is over", () =>
    Effect.gen(function*() {
      let kept: AgentEnv.Session | undefined
      yield* played((session) => {
        kept = session
        return Promise.resolve(1)
      })
      if (kept === undefined) return assert.fail("it did not run")
      const session = { ...kept, signal: new AbortController().signal }
      const late = yield* Effect.promise(() => Talk.ask(session, [Talk.user("one")]))
      assert.strictEqual(late.status, 410)
    }))

  it.live("fifty concurrent requests become fifty turns, one after another", () =>
    Effect.gen(function*() {
      const { turns } = yield* played(async (session) => {
        const asked = Array.from({ length: 50 }, (_, index) => Talk.ask(session, [Talk.user(`request ${index}`)]))
        return (await Promise.all(asked)).filter(({ status }) => status === 200).length
      })
      assert.strictEqual(turns.length, 50)
      assert.strictEqual(turns.at(-1)?.reward, 50)
    }))
})

describe("weights with other names", () => {
  it.live("answer during the episode, are not trained, and appear in the logs", () =>
    Effect.gen(function*() {
      const model = yield* Talk.modelOf("qwen3_instruct")
      const frozen = { judge: { model, client: Talk.client("well done") } }
      const { turns } = yield* played(
        async (session) => {
          const judged = await Talk.ask(session, [Talk.user("judge this")], { model: "judge" })
          await Talk.ask(session, [Talk.user("one")])
          return judged.message.content === "well done" ? 1 : 0
        },
        ["mine"],
        { frozen }
      )
      assert.deepStrictEqual(turns.map(({ action, logs, reward }) => [text(action.tokens), reward, logs]), [
        [`mine${Talk.end}`, 1, { answered_by_judge_0: `well done${Talk.end}` }]
      ])
    }))

  it.live("are metered by the episode's run, and queued in its lane", () =>
    Effect.gen(function*() {
      const model = yield* Talk.modelOf("qwen3_instruct")
      const { metering, used } = Metering.counter()
      const lanes: Array<AdaptiveLimiter.Lane> = []
      const limiter: AdaptiveLimiter.AdaptiveLimiter = {
        ...yield* AdaptiveLimiter.make,
        sampling: (client, lane) => ({
          ...client,
          sample: (request) => Effect.andThen(Effect.sync(() => lanes.push(lane)), client.sample(request))
        })
      }
      const { log } = yield* played(
        async (session) => {
          await Talk.ask(session, [Talk.user("judge this")], { model: "judge" })
          await Talk.ask(session, [Talk.user("one")])
          return 1
        },
        [],
        { frozen: { judge: { model, client: Talk.client("well done") } } }
      ).pipe(
        Effect.provideService(Metering.Metering, metering),
        Effect.provideService(AdaptiveLimiter.AdaptiveLimiter, limiter)
      )
      const counted = used().map(([name, tokens]) => [name, tokens?.sampled, tokens?.prefilled])
      const prompt = log[0]?.request.prompt.length ?? NaN
      const longer = Talk.tokenizer.encode("judge this").length - Talk.tokenizer.encode("one").length
      assert.deepStrictEqual(counted, [[
        "frozen",
        Talk.tokenizer.encode(`well done${Talk.end}`).length,
        prompt + longer
      ]])
      assert.deepStrictEqual(lanes, ["judge"])
    }).pipe(Effect.scoped))
})

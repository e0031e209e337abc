import { type AgentEnv, AgentGateway, Launcher } from "@effect-rl/agent"
import { type Policy, Rollout, Score } from "@effect-rl/core"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Layer } from "effect"
import { createServer } from "node:http"
import * as Ledger from "../episode/Ledger.ts"
import * as Talk from "../episode/Talk.ts"

const server = NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 })

const services = Layer.merge(
  AgentGateway.AgentGateway.layer.pipe(Layer.provide(server)),
  Launcher.Launcher.unsafeHost.pipe(Layer.provide(NodeServices.layer))
)

const played = Effect.fnUntraced(function*<E = never, R = never>(
  run: AgentEnv.Options<E, R>["run"],
  ...texts: ReadonlyArray<string>
) {
  const model = yield* Talk.modelOf("qwen3_instruct")
  const env = yield* AgentGateway.env<E, R>({ model, run })
  return yield* Rollout.episode(env, Talk.saying(...texts).policy, Talk.key)
}, Effect.scoped)

const post = (url: string, headers: Readonly<Record<string, string>>, body: object | string) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })

const question = { model: Talk.name, max_tokens: 50, messages: [Talk.user("one")] }

/** The root URL of the gateway. */
const rootOf = ({ baseUrl, session }: AgentEnv.Session) => baseUrl.replace(`/s/${session}/v1`, "")

describe("a gateway", () => {
  layer(services)((it) => {
    it.effect("answers at the session's address, and when the session is sent as a key", () =>
      Effect.gen(function*() {
        const { stepReward, transitions } = yield* played(
          async (session) => {
            const root = rootOf(session)
            const answers = [
              await Talk.ask(session, [Talk.user("one")]),
              await Talk.ask({ ...session, baseUrl: `${root}/v1` }, [Talk.user("two")], {
                headers: { authorization: `Bearer ${session.apiKey}` }
              })
            ]
            const key = { "x-api-key": session.apiKey, "anthropic-version": "2023-06-01" }
            const messages = await post(`${root}/v1/messages`, key, question)
            const anthropic = await post(`${session.anthropicBaseUrl}/v1/messages`, {}, question)
            return [...answers, messages, anthropic].filter(({ status }) => status === 200).length
          },
          "a",
          "b",
          "c",
          "d"
        )
        assert.strictEqual(stepReward, 4)
        assert.lengthOf(transitions, 4)
      }))

    it.effect("admits nobody without a session, with another session's path, or after the session's end", () =>
      Effect.gen(function*() {
        let past: AgentEnv.Session | undefined
        const { stepReward } = yield* played((session) => {
          past = session
          return Promise.resolve(1)
        })
        assert.strictEqual(stepReward, 1)
        yield* played(async (session) => {
          if (past === undefined) throw new Error("no session is over")
          const root = rootOf(session)
          const paths = [
            "/s/guess/v1",
            `/s/${past.session}/v1`,
            `/s/${session.session.slice(1)}/v1`,
            `/s/${past.session}/../${session.session.slice(0, 5)}/v1`,
            `/s/__proto__/v1`,
            `/s/${session.session.toUpperCase()}/v1`,
            `/s/${session.session}%00/v1`,
            `/s/%2e%2e%2fs%2f${session.session}/v1`,
            "/s//v1",
            "/v1"
          ]
          const found = await Promise.all(paths.map((path) => post(`${root}${path}/chat/completions`, {}, question)))
          assert.deepStrictEqual(found.map(({ status }) => status), [404, 410, 404, 404, 404, 404, 404, 404, 404, 401])
          return 0
        })
      }))

    it.effect("hides the agent's secrets from the model and the records", () =>
      Effect.gen(function*() {
        let handed: AgentEnv.Session | undefined
        const { transitions } = yield* played(
          async (session) => {
            handed = session
            const { apiKey, baseUrl } = session
            const first = await Talk.ask(session, [Talk.user(`use ${baseUrl} with ${apiKey}`)])
            await Talk.ask(session, [Talk.user("one"), first.message, Talk.user(apiKey)], { user: apiKey })
            return Score.correct(true, { answer: `${baseUrl} says so`, explanation: apiKey })
          },
          "a",
          "b"
        )
        const recorded = JSON.stringify(transitions.map(({ logs, observation, score, shown }) => ({
          logs,
          score,
          shown,
          prompt: Talk.tokenizer.decode(Ledger.tokensOf(observation))
        })))
        assert.include(recorded, "use http://agent.invalid/v1 with session")
        assert.include(recorded, "http://agent.invalid/v1 says so")
        const { host } = new URL(handed?.baseUrl ?? "")
        assert.lengthOf(handed?.session ?? "", 32)
        for (const secret of [handed?.session ?? "", host]) assert.notInclude(recorded, secret)
      }))

    it.effect("creates response and call ids that do not contain the session's name", () =>
      played(
        async ({ baseUrl, session }) => {
          const tools = [{ type: "function", function: { name: "look", parameters: {} } }]
          const answer = await (await post(`${baseUrl}/chat/completions`, {}, { ...question, tools, max_tokens: 500 }))
            .text()
          assert.include(answer, `"name":"look"`)
          assert.notInclude(answer, session)
          return 0
        },
        `<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>`
      ))

    it.effect("refuses bodies that are too large or not JSON", () =>
      played(async ({ baseUrl }) => {
        const large = await post(`${baseUrl}/chat/completions`, {}, "x".repeat(33 * 2 ** 20)).catch(() => undefined)
        assert.include([413, undefined], large?.status)
        const wrong = await post(`${baseUrl}/chat/completions`, {}, "{")
        assert.strictEqual(wrong.status, 422)
        return 0
      }))

    it.effect("answers the flood of one session with 429, while it serves another", () =>
      Effect.gen(function*() {
        const isFlooded = Deferred.makeUnsafe<void>()
        const hasAnswered = Deferred.makeUnsafe<void>()
        const flooding = Effect.gen(function*() {
          const model = yield* Talk.modelOf("qwen3_instruct")
          const env = yield* AgentGateway.env({
            model,
            run: async ({ baseUrl }) => {
              let refused = 0
              const statuses = await Promise.all(Array.from({ length: 300 }, async (_, n) => {
                const { headers, status } = await post(`${baseUrl}/chat/completions`, {}, {
                  ...question,
                  messages: [Talk.user(`${n}`)]
                })
                if (status === 429 && ++refused === 44) Deferred.doneUnsafe(isFlooded, Effect.void)
                return status === 429 ? `429, again after ${headers.get("retry-after")}` : status
              }))
              return statuses.filter((status) => status === "429, again after 1").length
            }
          })
          const { policy } = Talk.saying()
          const patient: Policy.Policy = {
            act: (request) => Effect.andThen(Deferred.await(hasAnswered), policy.act(request))
          }
          return yield* Rollout.episode(env, patient, Talk.key)
        }).pipe(Effect.scoped)
        const other = played(async (session) => {
          await Effect.runPromise(Deferred.await(isFlooded))
          const { status } = await Talk.ask(session, [Talk.user("one")])
          Deferred.doneUnsafe(hasAnswered, Effect.void)
          return status
        }, "a")
        const [flooded, answered] = yield* Effect.all([flooding, other], { concurrency: 2 })
        assert.deepStrictEqual([flooded.stepReward, flooded.transitions.length], [44, 256])
        assert.strictEqual(answered.stepReward, 200)
      }))

    it.effect("never gives a session another session's answers, whatever it asks and repeats", () =>
      Effect.gen(function*() {
        const asking = (...said: ReadonlyArray<string>) =>
          Effect.gen(function*() {
            let heard = ""
            yield* played(
              async ({ baseUrl }) => {
                const headers = { "idempotency-key": "same", "x-stainless-retry-count": "1" }
                heard = await (await post(`${baseUrl}/chat/completions`, headers, question)).text()
                const id = "resp_0"
                const stored = await fetch(`${baseUrl}/responses/${id}`)
                assert.strictEqual(stored.status, 404)
                return 0
              },
              ...said
            )
            return heard
          })
        assert.include(yield* asking("the first"), "the first")
        const second = yield* asking("the second")
        assert.include(second, "the second")
        assert.notInclude(second, "the first")
      }))

    it.effect("keeps two concurrent sessions apart", () =>
      Effect.gen(function*() {
        const agent = (name: string) => async (session: AgentEnv.Session) => {
          const first = await Talk.ask(session, [Talk.user(name)])
          await Talk.ask(session, [Talk.user(name), first.message, Talk.user("and?")])
          return first.message.content === name ? 1 : 0
        }
        const both = yield* Effect.all([played(agent("left"), "left"), played(agent("right"), "right")], {
          concurrency: 2
        })
        assert.deepStrictEqual(both.map(({ stepReward, transitions }) => [stepReward, transitions.length]), [
          [1, 2],
          [1, 2]
        ])
      }))

    const script = `
      const { OPENAI_API_KEY: key, OPENAI_BASE_URL: url } = process.env
      const response = await fetch(url + "/chat/completions", {
        method: "POST",
        headers: { authorization: "Bearer " + key, "content-type": "application/json" },
        body: JSON.stringify({ model: "${Talk.name}", messages: [{ role: "user", content: process.argv[1] }] })
      })
      console.log((await response.json()).choices[0].message.content)
      process.exit(3)
    `

    it.effect("runs a program as its agent, and judges its output, not its exit code", () =>
      Effect.gen(function*() {
        const { stepReward, transitions } = yield* played(
          Effect.fnUntraced(function*({ env }) {
            const { run } = yield* Launcher.Launcher
            const argv = [process.execPath, "--input-type=module", "-e", script, "what; echo $HOME?"] as const
            const { exitCode, stdout } = yield* run({ argv, env })
            assert.strictEqual(exitCode, 3)
            return stdout.trim() === "42" ? 1 : 0
          }),
          "42"
        )
        assert.strictEqual(stepReward, 1)
        assert.deepStrictEqual(transitions[0]?.shown?.messages, [{ role: "user", content: "what; echo $HOME?" }])
      }))
  })
})

const everywhere = AgentGateway.AgentGateway.layer.pipe(
  Layer.provide(NodeHttpServer.layer(() => createServer(), { host: "0.0.0.0", port: 0 }))
)

describe("a gateway that other machines reach", () => {
  layer(everywhere)((it) => {
    it.effect("requires the session as a key in addition to its address", () =>
      played(async ({ anthropicBaseUrl, apiKey, baseUrl }) => {
        const chat = `${baseUrl}/chat/completions`
        const sent = [
          await post(chat, {}, question),
          await post(chat, { authorization: `Bearer ${apiKey.slice(1)}` }, question),
          await post(chat, { authorization: `Bearer ${apiKey}` }, question),
          await post(`${anthropicBaseUrl}/v1/messages`, { "x-api-key": apiKey }, question)
        ]
        assert.deepStrictEqual(sent.map(({ status }) => status), [401, 401, 200, 200])
        return 1
      }))
  })
})

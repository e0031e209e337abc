import { Secrets, Traces } from "@effect-rl/agent/traces"
import { Draw } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { globSync, readFileSync } from "node:fs"
import * as Recording from "./Recording.ts"

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/** A random secret of this length, with a letter and three digits. */
const random = (draw: Draw.Draw, length: number, from = letters) =>
  `${Array.from({ length: length - 4 }, () => from[draw.integer(0, from.length - 1)]).join("")}A729`

/** Secrets by kind, each between texts that often precede and follow it in sessions. */
const planted = (
  draw: Draw.Draw
): ReadonlyArray<readonly [kind: string, before: string, secret: string, after: string]> => [
  ["OpenAI key", "key: ", `sk-proj-${random(draw, 40)}`, "\n"],
  ["Anthropic key", "ANTHROPIC=", `sk-ant-api03-${random(draw, 60)}`, " "],
  ["Tinker key", "", `tml-${random(draw, 30)}`, ""],
  ["Hugging Face token", "HF ", `hf_${random(draw, 34)}`, "."],
  ["GitHub token", "git clone https://x@", `ghp_${random(draw, 36)}`, " ."],
  ["GitHub token", "", `github_pat_${random(draw, 60)}`, ""],
  ["GitLab token", "'", `glpat-${random(draw, 20)}`, "'"],
  ["AWS key", "aws ", `AKIA${random(draw, 16, letters.slice(0, 26))}`, ","],
  ["Google key", "?key=", `AIza${random(draw, 35)}`, "&x"],
  ["Slack token", "", `xoxb-${random(draw, 12, letters.slice(52))}-${random(draw, 24)}`, ""],
  ["Stripe key", "", `sk_live_${random(draw, 24)}`, ""],
  ["npm token", "//registry/:_authToken=", `npm_${random(draw, 36)}`, ""],
  ["PyPI token", "", `pypi-${random(draw, 80)}`, ""],
  ["JSON web token", "cookie=", `eyJ${random(draw, 20)}.eyJ${random(draw, 30)}.${random(draw, 40)}`, ";"],
  ["credential in a header", "curl -H 'Authorization: Bearer ", random(draw, 32), "' x"],
  ["credential in a header", "Authorization: Basic ", `${random(draw, 8)}==`, "\n"],
  ["credential in a header", "{\\\"Authorization\\\": \\\"Bearer ", `ya29.${random(draw, 20)}`, "\\\"}"],
  ["password in an address", "postgres://app:", `Hunter-${random(draw, 6)}`, "@db/x"],
  ["assigned secret", "AWS_SECRET_ACCESS_KEY=", random(draw, 40), ""],
  ["assigned secret", "{\"client_secret\": \"", random(draw, 24), "\"}"],
  ["assigned secret", "my api key: ", random(draw, 18), ". Please"],
  ["assigned secret", "{\\\"api_key\\\": \\\"", random(draw, 24), "\\\"}"],
  ["assigned secret", "password:   ", random(draw, 16), ""],
  ["assigned secret", "apiKey := \"", random(draw, 20), "\""],
  ["assigned secret", "X-Api-Key: ", random(draw, 20), "' x"],
  [
    "private key",
    "cat key\n",
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${random(draw, 64)}\n${random(draw, 64)}\n-----END OPENSSH PRIVATE KEY-----`,
    "\n$"
  ]
]

describe("Secrets", () => {
  it("replaces each kind of secret and nothing beside it", () => {
    for (let seed = 0; seed < 50; seed++) {
      for (const [kind, before, secret, after] of planted(Draw.make(seed, "secrets"))) {
        const counts: Secrets.Counts = new Map()
        const redacted = Secrets.text(counts)(`${before}${secret}${after}`)
        assert.strictEqual(redacted, `${before}${Secrets.mark}${after}`, kind)
        assert.deepStrictEqual([...counts], [[kind, 1]])
      }
    }
  })

  it("leaves what follows the mere mention of a private key", () => {
    const text = "The file has to begin with `-----BEGIN PRIVATE KEY-----`. Then run the server."
    assert.strictEqual(Secrets.text(new Map())(text), text)
  })

  it("leaves long texts unchanged that only repeat the beginning of a secret", () => {
    const repeated = ["key=", "eyJaaaaaaaa-", "sk-", "tml-", "xoxb-", "a://a:", "-----BEGIN PRIVATE KEY-----"]
    for (const text of repeated) {
      const long = text.repeat(65536 / text.length)
      assert.strictEqual(Secrets.text(new Map())(long), long)
    }
  })

  it("leaves the sources and documents of this repository as they are", () => {
    const files = [...globSync("packages/*/src/**/*.ts"), ...globSync("docs/*.md"), ...globSync("examples/src/*.ts")]
    assert.isAbove(files.length, 500)
    for (const file of files) {
      const counts: Secrets.Counts = new Map()
      const text = readFileSync(file, "utf8")
      assert.strictEqual(Secrets.text(counts)(text) === text ? "" : JSON.stringify([...counts]), "", file)
    }
  })

  it.effect("replaces secrets in messages, reasoning, calls, results and tools, and reports kinds and counts", () =>
    Effect.gen(function*() {
      for (let seed = 0; seed < 5; seed++) {
        const all = planted(Draw.make(seed, "secrets"))
        const lines = all.map(([, before, secret, after], index) => {
          const text = `${before}${secret}${after}`
          return {
            request: {
              messages: [
                { role: "system", content: `${index} ${text}` },
                { role: "user", content: [{ type: "text", text }] },
                {
                  role: "assistant",
                  content: "clean text stays",
                  tool_calls: [{ id: "a", function: { name: "run", arguments: JSON.stringify({ text }) } }]
                },
                { role: "tool", tool_call_id: "a", content: text }
              ],
              tools: [{ type: "function", function: { name: "run", description: text, parameters: { title: text } } }]
            },
            response: { choices: [{ message: { role: "assistant", content: text, reasoning_content: text } }] }
          }
        })
        const file = yield* Recording.file()
        const { conversations, report } = yield* Traces.load([yield* Recording.file(...lines)])
        yield* Traces.writeConversations(file, conversations)
        const written = readFileSync(file, "utf8")
        for (const [kind, , secret] of all) assert.notInclude(written, JSON.stringify(secret).slice(1, -1), kind)
        assert.notInclude(JSON.stringify([...report.secrets]), all[0]?.[2] ?? "")
        assert.include(written, "clean text stays")
        assert.strictEqual(report.secrets.get("OpenAI key"), 8)
        assert.deepStrictEqual(
          [...report.secrets.keys()].toSorted(),
          [...new Set(all.map(([kind]) => kind))].toSorted()
        )
        for (const line of written.trimEnd().split("\n")) {
          const { messages }: {
            readonly messages: ReadonlyArray<
              { readonly tool_calls?: ReadonlyArray<{ readonly function: { readonly arguments: string } }> }
            >
          } = JSON.parse(line)
          JSON.parse(messages[2]?.tool_calls?.[0]?.function.arguments ?? "")
        }
      }
    }).pipe(Effect.provide(NodeServices.layer)))

  it("finds secrets in calls by the names of their fields, and secrets in the names themselves", () => {
    const redacted = (input: object) => {
      const toolCalls = [{ id: "a", function: { name: "run", arguments: JSON.stringify(input) } }]
      const [message] = Secrets.messages(new Map())([{ role: "assistant", content: "", toolCalls }])
      return JSON.parse(message?.toolCalls?.[0]?.function.arguments ?? "")
    }
    const secret = random(Draw.make(0, "secrets"), 24)
    assert.deepStrictEqual(redacted({ api_key: secret, path: secret }), { api_key: Secrets.mark, path: secret })
    assert.deepStrictEqual(redacted({ headers: { "X-Api-Key": secret } }), { headers: { "X-Api-Key": Secrets.mark } })
    assert.deepStrictEqual(redacted({ [`sk-${secret}`]: 1 }), { [Secrets.mark]: 1 })
  })

  it("keeps the name of a field before a secret that begins in the name", () => {
    const counts: Secrets.Counts = new Map()
    const name = "-----BEGIN PRIVATE KEY-----"
    const redact = Secrets.conversation(counts)
    const { tools: [tool] } = redact({
      messages: [],
      tools: [{
        name: "sign",
        description: "",
        parameters: { [name]: random(Draw.make(0, "secrets"), 64), title: "Signs." }
      }]
    })
    assert.deepStrictEqual(tool?.parameters, { [name]: Secrets.mark, title: "Signs." })
    assert.deepStrictEqual([...counts], [["private key", 1]])
  })

  it.effect("replaces secrets in the tools of preferences", () =>
    Effect.gen(function*() {
      const key = `sk-${random(Draw.make(0, "secrets"), 40)}`
      const tools = [{
        type: "function",
        function: { name: "run", description: key, parameters: { properties: { key: { default: key } } } }
      }]
      const user = { role: "user", content: "Run it." }
      const line = (before: ReadonlyArray<object>, content: string) => ({
        request: { messages: [...before, user], tools },
        response: { choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] }
      })
      const log = yield* Recording.file(line([], "No."), line([user, { role: "assistant", content: "Yes." }], "Done."))
      const { preferences } = yield* Traces.load([log])
      const file = yield* Recording.file()
      yield* Traces.writePreferences(file, preferences)
      const written = readFileSync(file, "utf8")
      assert.notInclude(written, key)
      assert.include(written, `"description":"${Secrets.mark}"`)
      assert.include(written, `"default":"${Secrets.mark}"`)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("are not quoted by errors", () =>
    Effect.gen(function*() {
      for (const [kind, before, secret, after] of planted(Draw.make(0, "secrets"))) {
        const text = `${before}${secret}${after}`
        const file = yield* Recording.file({
          request: { messages: [{ role: text, content: { text } }] },
          response: { choices: [] }
        })
        const { message } = yield* Effect.flip(Traces.load([file]))
        assert.include(message, "row 1")
        assert.notInclude(message, JSON.stringify(secret).slice(1, -1), kind)
      }
    }).pipe(Effect.provide(NodeServices.layer)))
})

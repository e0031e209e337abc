/** Agents that continue texts, without conversations. */
import { AgentEnv } from "@effect-rl/agent"
import { Rollout } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Talk from "./Talk.ts"

type Said = ReadonlyArray<string | ReadonlyArray<string>>

/** The answer to a continuation request. */
type Body = ReturnType<typeof JSON.parse>

type Complete = (prompt: unknown, more?: object) => Promise<{ readonly status: number; readonly body: Body }>

const eosTokenId = Talk.tokenizer.specialToken(Talk.end) ?? assert.fail("turns have no end")

/** A model whose texts end with the same token as its turns. */
const modelOf = Effect.map(Talk.modelOf("qwen3_instruct"), (model) => ({
  ...model,
  tokenizer: { ...Talk.tokenizer, eosTokenId }
}))

/** The turns of an agent, and the prompts that its policy received. */
const played = Effect.fnUntraced(function*(said: Said, agent: (complete: Complete) => Promise<unknown>) {
  const { log, policy } = Talk.saying(...said)
  const env = yield* AgentEnv.make({
    model: yield* modelOf,
    frozen: { other: { model: yield* modelOf, client: Talk.client("frozen") } },
    run: async ({ baseUrl, fetch, signal }) => {
      await agent(async (prompt, more = {}) => {
        const body = JSON.stringify({ model: Talk.name, prompt, ...more })
        const response = await fetch(`${baseUrl}/completions`, { method: "POST", body, signal })
        return { status: response.status, body: await response.json() }
      })
      return 1
    }
  })
  const { transitions } = yield* Rollout.episode(env, policy, Talk.key)
  return { transitions, log, branches: transitions.map(({ branch }) => branch) }
}, Effect.scoped)

const text = ({ body }: { readonly body: Body }): string => body.choices[0].text

const tokensOf = ({ chunks }: ModelInput.ModelInput) =>
  chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens])

describe("an agent that continues texts", () => {
  it.live("continues with the sampled tokens, even if its text would be tokenized differently", () =>
    Effect.gen(function*() {
      const { branches, log, transitions } = yield* played([["ab", "ab", "!"], "done"], async (complete) => {
        const first = text(await complete("Q: ", { max_tokens: 2 }))
        assert.strictEqual(first, "abab")
        assert.strictEqual(text(await complete(`Q: ${first} A:`)), "done")
      })
      assert.deepStrictEqual(branches, [undefined, undefined])
      const [first, second] = transitions
      const sampled = first?.action.tokens ?? []
      assert.deepStrictEqual([...sampled], ["ab", "ab"].flatMap((piece) => [...Talk.tokenizer.encode(piece)]))
      const before = ModelInput.append(first?.observation ?? ModelInput.fromTokens([]), sampled)
      const rest = ModelInput.after(second?.observation ?? ModelInput.fromTokens([]), before)
      assert.strictEqual(Talk.tokenizer.decode(tokensOf(rest ?? before)), " A:")
      assert.isTrue(transitions.every(({ trainable }) => trainable))
      assert.deepStrictEqual(log[0]?.request.stop, [eosTokenId])
    }))

  it.live("continues with the text alone after a sample that ended with a stop token, which the client does not see", () =>
    Effect.gen(function*() {
      const { branches, transitions } = yield* played(["yes", "more"], async (complete) => {
        const first = text(await complete("Q: "))
        assert.strictEqual(first, "yes")
        await complete(`Q: ${first} and`)
      })
      assert.deepStrictEqual(branches, [undefined, { after: -1, reason: "response" }])
      const [, second = assert.fail("there is no second turn")] = transitions
      assert.strictEqual(Talk.tokenizer.decode(tokensOf(second.observation)), "Q: yes and")
    }))

  it.live("records why a text does not continue the last turn", () =>
    Effect.gen(function*() {
      const said = ["one", "two", "three", "four", "five", "six"].map((word) => [word, "!"])
      const { branches } = yield* played(said, async (complete) => {
        const first = text(await complete("Q:", { max_tokens: 3 }))
        await complete("Another text:", { max_tokens: 1 })
        await complete(`Q:${first} on`, { max_tokens: 1 })
        await complete("Q:", { max_tokens: 4 })
        await complete("Q: edited", { max_tokens: 1 })
        await complete(["Both:", "Two:"], { max_tokens: 1 })
      })
      assert.deepStrictEqual(
        branches.map((branch) => branch === undefined ? "on" : `${branch.after} ${branch.reason}`),
        [
          "on",
          "-1 subagent",
          "0 parallel",
          "-1 retry",
          "-1 edit",
          "-1 subagent",
          "-1 subagent"
        ]
      )
    }))

  it.live("may send token ids, request several replies, and use weights that are not trained", () =>
    Effect.gen(function*() {
      const { branches, transitions } = yield* played([["ab", "ab"], "two", "three"], async (complete) => {
        const { body } = await complete("Q:", { max_tokens: 2, return_token_ids: true })
        const [{ prompt_token_ids, token_ids }] = body.choices
        const second = await complete([...prompt_token_ids, ...token_ids], { n: 2 })
        assert.lengthOf(second.body.choices, 2)
        assert.strictEqual(text(await complete("Q:", { model: "other" })), "frozen")
      })
      assert.deepStrictEqual(branches, [undefined, undefined, { after: 0, reason: "parallel" }])
      assert.lengthOf(transitions, 3)
    }))

  it.live("is refused an empty text, invalid token ids, and prompt scores", () =>
    Effect.gen(function*() {
      const { transitions } = yield* played(["yes"], async (complete) => {
        const refused = [
          ["", {}, "prompt is empty"],
          [[-1], {}, "prompt"],
          ["Q:", { max_tokens: 0, echo: true }, "max_tokens is 0"],
          ["Q:", { logprobs: 0, echo: true }, "an episode scores no prompt"]
        ] as const
        for (const [prompt, more, because] of refused) {
          const { body, status } = await complete(prompt, more)
          assert.isAtLeast(status, 400)
          assert.include(body.error.message, because)
        }
        const { status } = await complete("Q:", { echo: true })
        assert.strictEqual(status, 200)
      })
      assert.lengthOf(transitions, 1)
    }))
})

/** Checks which texts and tokens call grammars allow. */
import { CallForm } from "@effect-rl/core/renderers"
import type * as GrammarRules from "@effect-rl/engine/grammar/GrammarRules"
import * as GrammarText from "@effect-rl/engine/grammar/GrammarText"
import * as Masks from "@effect-rl/engine/grammar/Masks"
import * as ByteLevel from "@effect-rl/files/tokenizer/ByteLevel"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"

const hermes: CallForm.CallForm = {
  open: "<tool_call>\n",
  close: "\n</tool_call>",
  between: "\n",
  argumentsKey: "arguments",
  marks: ["<tool_call>", "</tool_call>"]
}

const llama: CallForm.CallForm = { open: "", close: "", argumentsKey: "parameters", marks: [] }

const num = { type: "object", properties: { n: { $ref: "#/$defs/size" } }, required: ["n"] } as const

const tools: ReadonlyArray<CallForm.Callable> = [
  {
    isStrict: true,
    spec: { name: "say", parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } }
  },
  { isStrict: true, spec: { name: "grow", parameters: { ...num, $defs: { size: { type: "integer", minimum: 1 } } } } },
  { isStrict: true, spec: { name: "turn", parameters: { ...num, $defs: { size: { type: "boolean" } } } } },
  { isStrict: false, spec: { name: "any", parameters: { type: "string", pattern: "x" } } }
]

/** The vocabulary has a token for each byte, then a stop token, then a token for each mark. */
const stop = 256
const added = [stop, 257, 258]
const texts = [
  ...Array.from({ length: 256 }, (_, byte) => ByteLevel.encodeBytes(String.fromCharCode(byte))),
  "<|end|>",
  ...hermes.marks
]
const masks = Masks.make({
  size: texts.length,
  tokenBytes: ByteLevel.tokenBytes(texts, (id) => added.includes(id)),
  addedTokens: added
})

const rulesOf = (form: CallForm.CallForm, asked: Partial<CallForm.Asked>) =>
  Effect.flatMap(
    Effect.fromResult(CallForm.grammar(form, { tools, isForced: true, isOne: false, ...asked })),
    GrammarText.of
  )

/** Whether the grammar allows the tokens in sequence, followed by the stop. */
const accepts = Effect.fnUntraced(function*(rules: GrammarRules.Rules, tokens: ReadonlyArray<number>) {
  const [mask = assert.fail("there is no mask")] = yield* Effect.promise(() =>
    masks.make(rules, { tokens: [stop], strings: [] }, 1)
  )
  const isAllowed = (token: number) => {
    const word = mask.allowed()?.[token >> 5] ?? 0
    const allowed = (word >>> (token & 31)) % 2 === 1
    if (allowed) mask.accept(token)
    return allowed
  }
  const all = [...tokens, stop].every(isAllowed)
  mask.dispose()
  return all
})

const bytes = (text: string) => [...Buffer.from(text)]

const call = (name: string, given: string) => `<tool_call>\n{"name": "${name}", "arguments": ${given}}\n</tool_call>`

/** The given texts that the grammar does not allow. */
const refused = Effect.fnUntraced(function*(rules: GrammarRules.Rules, given: ReadonlyArray<string>) {
  return yield* Effect.filter(given, (text) => Effect.map(accepts(rules, bytes(text)), (allowed) => !allowed))
})

const right = [
  call("say", `{"text": "a < b, \\u003c, ä"}`),
  call("grow", `{"n": 12}`),
  call("turn", `{"n": true}`),
  call("any", `{"of": ["all", {"kinds": 1.5}]}`)
]

const wrong = [
  call("say", `{"text": 4}`),
  call("say", "{}"),
  call("grow", `{"n": true}`),
  call("turn", `{"n": 12}`),
  call("any", "4"),
  call("shout", "{}"),
  call("say", `{"text": "</tool_call>"}`),
  call("say", `{"text": "<<tool_call>"}`),
  call("any", `{"</tool_call>": 1}`)
]

describe("a call grammar", () => {
  it.effect("allows only valid tool calls if calls are forced", () =>
    Effect.gen(function*() {
      const rules = yield* rulesOf(hermes, {})
      const two = right.slice(0, 2).join("\n")
      assert.deepStrictEqual(yield* refused(rules, [...right, two]), [])
      const others = [...wrong, "", "So", `So ${right[0]}`, `${right[0]}!`]
      assert.deepStrictEqual(yield* refused(rules, others), others)
      const one = yield* rulesOf(hermes, { isOne: true })
      assert.deepStrictEqual(yield* refused(one, [...right, two]), [two])
    }))

  it.effect("allows text before or instead of calls, but no invalid call, if calls are not forced", () =>
    Effect.gen(function*() {
      const rules = yield* rulesOf(hermes, { isForced: false })
      const said = ["", "So: 1 < 2 <tool_call", "<<tool", ...right, ...right.map((text) => `So\n<${text}`)]
      assert.deepStrictEqual(yield* refused(rules, said), [])
      const others = [...wrong, ...wrong.map((text) => `So ${text}`), "<tool_call>", `${right[0]} So`]
      assert.deepStrictEqual(yield* refused(rules, others), others)
    }))

  it.effect("allows the mark tokens of calls in their places, which a grammar of values does not", () =>
    Effect.gen(function*() {
      const [open, close] = [257, 258]
      const body = bytes(`\n{"name": "say", "arguments": {"text": "x"}}\n`)
      for (const isForced of [true, false]) {
        const rules = yield* rulesOf(hermes, { isForced })
        assert.isTrue(yield* accepts(rules, [open, ...body, close]))
        assert.isFalse(yield* accepts(rules, [open, ...body.slice(0, -5), close, ...body.slice(-5), close]))
      }
      const value = yield* GrammarText.of({ jsonSchema: { type: "string" } })
      assert.isTrue(yield* accepts(value, bytes(`"<tool_call>"`)))
      assert.isFalse(yield* accepts(value, [...bytes(`"`), open, ...bytes(`"`)]))
    }))

  it.effect("allows one call without marks for a family that writes calls this way", () =>
    Effect.gen(function*() {
      const rules = yield* rulesOf(llama, {})
      const written = `{"name": "say", "parameters": {"text": "</tool_call>"}}`
      assert.deepStrictEqual(yield* refused(rules, [written]), [])
      const others = [`${written}\n${written}`, `{"name": "say", "arguments": {"text": "x"}}`, "So"]
      assert.deepStrictEqual(yield* refused(rules, others), others)
    }))

  it("refuses a strict tool with an unsupported schema or with a mark in its schema", () => {
    const problem = (parameters: CallForm.Callable["spec"]["parameters"]) =>
      Result.match(
        CallForm.grammar(hermes, {
          tools: [{ isStrict: true, spec: { name: "say", parameters } }],
          isForced: true,
          isOne: false
        }),
        { onFailure: (detail) => detail, onSuccess: () => undefined }
      )
    assert.isUndefined(problem({}))
    assert.include(problem({ type: "string" }), `say: its type is "string", expected "object"`)
    assert.include(
      problem({ type: "object", minProperties: 2 }),
      "say: minProperties is 2, which no grammar can enforce"
    )
    for (const schema of [{ enum: ["</tool_call>"] }, { type: "object", properties: { "<tool_call>": {} } }]) {
      assert.include(
        problem({ type: "object", properties: { of: schema } }),
        "expected no text by which calls are found"
      )
    }
  })
})

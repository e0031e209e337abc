/** Text with every character that a model writes: a streamed answer must equal the whole answer to the letter. */
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Dialect from "../Dialect.ts"
import { RawRequests } from "../RawRequests.ts"

const { listAt, numberAt, textAt } = Dialect

const questions = ["What is 3 and 4?", "Grüße! 世界 🙂 12 + 30?", "Write two words, then a line."]

const why = "If streamed pieces lose whitespace at their ends, code loses line breaks and words run together."

/**
 * An answer so short that servers sample it in one piece, because the effect of a seed may depend on how an answer is split into pieces.
 */
const brief = 14

/** The texts of an answer's tokens, by choice. */
const tokensOf = (body: Dialect.Body) =>
  listAt(body, "choices").map((choice) => {
    const content = listAt(choice, "logprobs", "content")
    return content.length > 0
      ? content.map((one) => textAt(one, "token"))
      : listAt(choice, "logprobs", "tokens").map(String)
  })

/** Token limits at which an answer ends with a space or a newline. */
const spacedLimits = (tokens: ReadonlyArray<string>) =>
  tokens.flatMap((token, at) => /\s$/.test(token) && at > 0 ? [at + 1] : [])

const mostLimits = 10

const ofDialect = (dialect: Dialect.Dialect): Check.Check => ({
  theme: "chat",
  name: `${dialect.name}: a stream has every character of the whole answer, including whitespace at its ends`,
  why,
  run: Effect.gen(function*() {
    let left = mostLimits
    const scored = dialect === Dialect.chat ? { logprobs: true } : { logprobs: 0 }
    for (let round = 0; round < 8 && left > 0; round++) {
      const content = questions[round % questions.length] ?? ""
      const asked = { messages: [{ role: "user" as const, content }], max_tokens: brief, temperature: 1.6 }
      const more = { n: 4, seed: 100 + 10 * round }
      const tokens = tokensOf(yield* Dialect.body(dialect, { ...dialect.fields(asked), ...more, ...scored }))
      const limits = new Set([brief, ...tokens.flatMap(spacedLimits)].slice(0, left))
      left -= limits.size
      for (const max_tokens of limits) {
        const whole = yield* Dialect.ask(dialect, { ...asked, max_tokens }, more)
        const streamed = yield* Dialect.stream(dialect, { ...asked, max_tokens }, more)
        const [found, expected] = [streamed, whole].map(({ ends, sampled, texts }) =>
          JSON.stringify([texts, ends, sampled])
        )
        yield* Check.expect(found === expected, `the stream ${expected}`, found)
      }
    }
  })
})

export const sampledTexts: Check.Check = {
  theme: "chat",
  name: "the pieces of long response and message streams add up to the text of the last event",
  why,
  run: Effect.gen(function*() {
    for (const content of questions) {
      const asked = { messages: [{ role: "user" as const, content }], max_tokens: 160, temperature: 1.6 }
      const text = yield* Dialect.sent(Dialect.responses, { ...Dialect.responses.fields(asked), stream: true })
      const events = Dialect.eventsOf(text)
      const pieces = events.filter(({ type }) => type === "response.output_text.delta")
      const joined = pieces.map((event) => textAt(event, "delta")).join("")
      const last = events.at(-1)
      const whole = listAt(last, "response", "output").flatMap((item) => listAt(item, "content"))
        .map((part) => textAt(part, "text")).join("")
      yield* Check.expect(joined === whole, JSON.stringify(whole), JSON.stringify(joined))
      const used = numberAt(last, "response", "usage", "output_tokens")
      yield* Check.expect(used >= 1 && used <= 160, "1 to 160 output_tokens", used)
    }
  })
}

export const spelled: Check.Check = {
  theme: "chat",
  name: "a completion's text is the text of its tokens, including whitespace at its ends, streamed or not",
  why,
  run: Effect.gen(function*() {
    const { model } = yield* RawRequests
    for (const [at, prompt] of questions.entries()) {
      const asked = { model, prompt, max_tokens: brief, temperature: 1.6, seed: 7 + at, logprobs: 1 }
      const body = yield* Dialect.body(Dialect.completions, asked)
      const text = textAt(body, "choices", 0, "text")
      const spelt = listAt(body, "choices", 0, "logprobs", "tokens").map(String).join("")
      const isWhole = spelt.includes("\uFFFD") || spelt.startsWith(text)
      yield* Check.expect(isWhole, `the beginning of ${JSON.stringify(spelt)}`, JSON.stringify(text))
      const events = Dialect.eventsOf(yield* Dialect.sent(Dialect.completions, { ...asked, stream: true }))
      const streamed = events.flatMap((event) => listAt(event, "choices")).map((one) => textAt(one, "text")).join("")
      yield* Check.expect(streamed === text, JSON.stringify(text), JSON.stringify(streamed))
    }
  })
}

export const all = [ofDialect(Dialect.chat), ofDialect(Dialect.completions), sampledTexts, spelled]

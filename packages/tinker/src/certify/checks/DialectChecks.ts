/** Requirements for every chat endpoint, in all dialects. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Dialect from "../Dialect.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"

type Run = Check.Check["run"]

/** A check of one dialect. */
const of = (
  { name }: Dialect.Dialect,
  sentence: string,
  why: string,
  run: Run
): Check.Check => ({ theme: "chat", name: `${name}: ${sentence}`, why, run })

const saying = (content: string) => [{ role: "user" as const, content }]

const questions = [
  "What is 3 and 4?",
  "Count from one to nine, please, and then back to one.",
  "Grüße! 世界 🙂 12 + 30?",
  "7"
]

const [question = ""] = questions

const greedy = (content: string, max_tokens: number): Dialect.Asked => ({
  messages: saying(content),
  max_tokens,
  temperature: 0
})

/** The texts without surrounding whitespace, which may depend on the format. */
const textsOf = ({ texts }: Dialect.Answered) => texts.map((text) => text.trim())

const textOf = (answered: Dialect.Answered) => textsOf(answered).join("; ")

const shown = (answered: Dialect.Answered) =>
  JSON.stringify([textsOf(answered), answered.ends, answered.prompted, answered.sampled, answered.stoppedBy])

const expectEqual = (what: string, found: unknown, expected: unknown) =>
  Check.expect(found === expected, `${what}: ${JSON.stringify(expected)}`, JSON.stringify(found))

/** A stop text of the given length from the middle of an answer, and the text before it. */
const middle = (text: string, length: number) => {
  const stop = text.slice(Math.floor(text.length / 2)).trimStart().slice(0, length)
  return { stop, before: text.slice(0, text.indexOf(stop)) }
}

const streams = (dialect: Dialect.Dialect) =>
  of(
    dialect,
    "a streamed answer equals the whole answer, including its finish reason and usage",
    "Otherwise streaming clients would show and store different answers.",
    Effect.gen(function*() {
      const expectStreamed = Effect.fnUntraced(function*(asked: Dialect.Asked, more: Dialect.Body = {}) {
        const whole = yield* Dialect.ask(dialect, asked, more)
        yield* expectEqual("the stream", shown(yield* Dialect.stream(dialect, asked, more)), shown(whole))
        return whole
      })
      let longest = ""
      for (const content of questions) {
        const text = textOf(yield* expectStreamed(greedy(content, 40)))
        if (text.length > longest.length) longest = text
      }
      yield* Check.expect(longest.length > 0, "text in some answer", "none")
      for (const max_tokens of [1, 3]) yield* expectStreamed(greedy(question, max_tokens))
      if (dialect.hasChoices) {
        const hot = { messages: saying(question), max_tokens: 24, temperature: 1.5 }
        for (const more of [{ n: 1 }, { n: 3 }, { n: 2, top_k: 3 }, { n: 2, top_p: 0.6 }]) {
          yield* expectStreamed(hot, { seed: 7, ...more })
        }
      }
    })
  )

const limits = (dialect: Dialect.Dialect) =>
  of(
    dialect,
    "the finish reason tells an answer cut by its limit from one that the model ended",
    "Otherwise a client takes a truncated answer as complete, or asks for the rest of a complete one.",
    Effect.gen(function*() {
      for (const content of questions) {
        const most = 48
        const free = yield* Dialect.ask(dialect, greedy(content, most))
        const { sampled } = free
        yield* Check.expect(sampled >= 1 && sampled <= most, `1 to ${most} tokens of usage`, sampled)
        yield* expectEqual(
          `the end of ${sampled} tokens of ${most}`,
          free.ends.join() === "stop" || sampled === most,
          true
        )
        if (sampled === most) yield* expectEqual("the end of a full answer", free.ends.join(), "length")
        for (const max_tokens of new Set([1, Math.floor(sampled / 2), sampled - 1])) {
          if (max_tokens < 1 || max_tokens >= sampled) continue
          const cut = yield* Dialect.ask(dialect, greedy(content, max_tokens))
          yield* expectEqual(`the end of ${max_tokens} tokens of ${sampled}`, cut.ends.join(), "length")
          yield* expectEqual(`the usage of ${max_tokens} tokens`, cut.sampled, max_tokens)
          yield* Check.expect(
            textOf(free).startsWith(textOf(cut).replace(/\uFFFD+$/, "")),
            `the beginning of ${JSON.stringify(textOf(free))}`,
            textOf(cut)
          )
        }
      }
    })
  )

/** The longest greedy answer. */
const longest = Effect.fnUntraced(function*(dialect: Dialect.Dialect) {
  const all = yield* Effect.forEach(
    questions,
    (content) => Effect.map(Dialect.ask(dialect, greedy(content, 40)), (answered) => ({ content, answered }))
  )
  const found = all.reduce((one, other) => textOf(other.answered).length > textOf(one.answered).length ? other : one)
  return textOf(found.answered).length > 6 ? found : yield* Check.absent("no answer has more than six characters")
})

const never = "\u0001certify\u0002"

const stops = (dialect: Dialect.Dialect) =>
  of(
    dialect,
    "an answer ends before its first stop text, whatever the text's length, and reports the stop, streamed or not",
    "An answer that runs past its stop contains made-up text; one that ends earlier is truncated.",
    Effect.gen(function*() {
      const { answered: free, content } = yield* longest(dialect)
      const text = textOf(free)
      const expectStopped = Effect.fnUntraced(function*(stop: ReadonlyArray<string>, expected: string, by?: string) {
        const asked = { ...greedy(content, 40), stop }
        for (const ask of [Dialect.ask, Dialect.stream]) {
          const found = yield* ask(dialect, asked)
          yield* expectEqual(`the text up to ${JSON.stringify(stop)}`, textOf(found), expected.trim())
          yield* expectEqual(
            `the end at ${JSON.stringify(stop)}`,
            found.ends.join(),
            by === undefined ? free.ends.join() : "stop"
          )
          if (dialect.name === "messages") yield* expectEqual("stop_sequence", found.stoppedBy, by)
        }
      })
      yield* expectStopped([never], text)
      const [letter, pair, word] = [middle(text, 1), middle(text, 2), middle(text, 5)]
      for (const { before, stop } of [letter, pair, word]) yield* expectStopped([stop], before, stop)
      const early = { stop: text.slice(1, 3), before: text.slice(0, text.indexOf(text.slice(1, 3))) }
      yield* expectStopped([never, word.stop, early.stop], early.before, early.stop)
      const ending = text.slice(-1)
      yield* expectStopped([ending], text.slice(0, text.indexOf(ending)), ending)
    })
  )

const greedily = (dialect: Dialect.Dialect) =>
  of(
    dialect,
    "temperature 0, a tiny top_p and top_k 1 give the most likely answer, and a high temperature gives others",
    "If an option is lost, answers come from the wrong distribution.",
    Effect.gen(function*() {
      const likeliest = textOf(yield* Dialect.ask(dialect, greedy(question, 8)))
      const asked = { messages: saying(question), max_tokens: 8 }
      const ways: ReadonlyArray<readonly [what: string, asked: Dialect.Asked, more: Dialect.Body]> = [
        ["temperature 0", { ...asked, temperature: 0 }, {}],
        ["top_p 1e-6 at temperature 1.5", { ...asked, temperature: 1.5, top_p: 1e-6 }, {}],
        ["top_p 1e-6 alone", { ...asked, top_p: 1e-6 }, {}],
        ...dialect.hasTopK
          ? [["top_k 1 at temperature 1.5", { ...asked, temperature: 1.5 }, { top_k: 1 }] as const]
          : []
      ]
      for (const [what, one, more] of ways) {
        for (let time = 0; time < 3; time++) {
          yield* expectEqual(what, textOf(yield* Dialect.ask(dialect, one, more)), likeliest)
        }
      }
      const others = yield* Effect.forEach(
        questions.flatMap((content) => [1, 2, 3, 4].map(() => saying(content))),
        (messages) =>
          Effect.map(
            Dialect.ask(dialect, { messages, max_tokens: 24, temperature: 1.8 }),
            (answered) => `${messages[0]?.content} ${textOf(answered)}`
          ),
        { concurrency: 3 }
      )
      yield* Check.expect(
        new Set(others).size > questions.length,
        "several answers to a question at temperature 1.8",
        others.join("; ")
      )
    })
  )

/** Maximum clock difference in seconds. */
const skewSeconds = 600

const identities = (dialect: Dialect.Dialect) =>
  of(
    dialect,
    "every answer has its own id, the requested model and the current time",
    "Clients join records by these ids, and would merge two answers with the same id.",
    Effect.gen(function*() {
      const { model } = yield* RawRequests
      const asked = greedy(question, 2)
      const answers = [
        yield* Dialect.ask(dialect, asked),
        yield* Dialect.ask(dialect, asked),
        yield* Dialect.stream(dialect, asked)
      ]
      const ids = answers.map(({ id }) => id)
      yield* Check.expect(
        new Set(ids).size === 3 && ids.every((id) => id.length > 0),
        "3 different ids",
        ids.join(", ")
      )
      for (const one of answers) yield* expectEqual("the model", one.model, model)
      const body = yield* Dialect.body(dialect, dialect.fields(asked))
      const created = body["created"] ?? body["created_at"]
      if (created === undefined) return
      const now = (yield* Clock.currentTimeMillis) / 1000
      yield* Check.expect(
        typeof created === "number" && Math.abs(created - now) < skewSeconds,
        `seconds near ${Math.round(now)}`,
        created
      )
    })
  )

const apart = (dialect: Dialect.Dialect) =>
  of(
    dialect,
    "concurrent requests get the answers to their own questions",
    "Agents ask many questions at once, and would act on answers to the wrong ones.",
    Effect.gen(function*() {
      const asked = [...questions, "What is 6 and 6?", "Write 90 + 5."].map((content) => greedy(content, 6))
      const alone = yield* Effect.forEach(asked, (one) => Dialect.ask(dialect, one))
      const together = yield* Effect.forEach(asked, (one, at) =>
        (at % 2 === 0 ? Dialect.ask : Dialect.stream)(dialect, one), { concurrency: "unbounded" })
      // Other batch sizes may resolve near ties differently.
      const wrong = together.filter((found, at) =>
        shown(found) !== shown(alone[at] ?? found)
      )
      yield* Check.expect(wrong.length <= 1, "the answers to the same requests alone", wrong.map(shown).join("; "))
      const prompted = together.map((found) => found.prompted).join()
      yield* expectEqual("the tokens of each prompt", prompted, alone.map((found) => found.prompted).join())
    })
  )

/** Requests that no server can answer. */
const mistakes: ReadonlyArray<readonly [what: string, more: Dialect.Body]> = [
  ["a missing model", { model: "certify/no-such-model" }],
  ["a negative number of tokens", { max_tokens: -1, max_output_tokens: -1 }],
  ["a temperature that is a word", { temperature: "hot" }],
  ["a negative temperature", { temperature: -1 }],
  ["no conversation", { messages: [], input: [], prompt: [] }],
  ["a conversation that is a number", { messages: 7, input: 7, prompt: 7.5 }]
]

const refusals = (dialect: Dialect.Dialect) =>
  of(
    dialect,
    "an invalid request gets a client error with a message",
    "A silently corrected mistake shows up only in the results, if at all.",
    Effect.gen(function*() {
      const { post, model } = yield* RawRequests
      const fields = { model, ...dialect.fields(greedy(question, 2)) }
      yield* Dialect.body(dialect, fields)
      for (const [what, more] of mistakes) {
        const wrong = Object.fromEntries(
          Object.entries({ ...fields, ...more }).filter(([name]) => name in fields || name === "model")
        )
        const { body, status } = yield* post(dialect.path, wrong)
        yield* Check.expect(
          status >= 400 && status < 500,
          `a refusal of ${what}`,
          `HTTP ${status} ${JSON.stringify(body).slice(0, 200)}`
        )
        const message = Dialect.textAt(body, "error", "message")
        yield* Check.expect(message.length > 0, `error.message about ${what}`, JSON.stringify(body).slice(0, 200))
        if (what === "a missing model") yield* expectEqual("the status of a missing model", status, 404)
      }
      yield* Dialect.body(dialect, fields)
    })
  )

/** The weight path of a model whose answers differ from the base model's. */
const trained = Effect.gen(function*() {
  const model = yield* NumberedModel.make
  yield* model.learn([-1, 1, -1, 1, -1, 1, -1])
  yield* model.learn([-1, 1, -1, 1, -1, 1, -1])
  const save = { path: "certify-dialect", kind: "snapshot", type: "save_weights_for_sampler" }
  const { body } = yield* model.ask("/save_weights_for_sampler", save)
  return Dialect.textAt(body, "path")
})

const weights = (dialect: Dialect.Dialect) =>
  of(
    dialect,
    "requests for trained weights are answered by them, streamed or not, and requests for the base model by it",
    "These endpoints would evaluate and serve a model other than the trained one.",
    Effect.gen(function*() {
      const path = yield* trained
      const { model: base } = yield* RawRequests
      const reference = dialect === Dialect.completions ? Dialect.completions : Dialect.chat
      const seen = new Map<string, string>()
      for (const model of [path, base, path]) {
        const answers: Array<string> = []
        for (const content of questions) {
          const asked = greedy(content, 12)
          const expected = textOf(yield* Dialect.ask(reference, asked, { model }))
          const whole = yield* Dialect.ask(dialect, asked, { model })
          const streamed = yield* Dialect.stream(dialect, asked, { model })
          yield* expectEqual(`the answer of ${model}`, textOf(whole), expected)
          yield* expectEqual(`the streamed answer of ${model}`, textOf(streamed), expected)
          yield* expectEqual("the model of the answer", whole.model, model)
          answers.push(expected)
        }
        seen.set(model, answers.join("; "))
      }
      yield* Check.expect(seen.get(path) !== seen.get(base), "different answers from trained weights", seen.get(base))
    })
  )

/** Minimum answer length in tokens, above the default limits of servers. */
const wordy = 24

const unlimited = (dialect: Dialect.Dialect) =>
  of(
    dialect,
    "an answer without a limit continues to its natural end",
    "An unrequested limit truncates answers.",
    Effect.gen(function*() {
      const most = 240
      for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
        for (const content of questions) {
          const asked = { messages: saying(content), max_tokens: most, temperature: 1.6 }
          const limited = yield* Dialect.ask(dialect, asked, { seed })
          if (limited.sampled < wordy || limited.ends.join() !== "stop") continue
          const { max_tokens: _, ...fields } = dialect.fields(asked)
          const free = dialect.whole(yield* Dialect.body(dialect, { ...fields, seed }))
          return yield* expectEqual("the answer without a limit", shown(free), shown(limited))
        }
      }
      return yield* Check.absent(`no answer has ${wordy} to ${most} tokens`)
    })
  )

export const all = Dialect.all.flatMap((dialect) => [
  streams(dialect),
  limits(dialect),
  ...dialect.hasStops ? [stops(dialect)] : [],
  greedily(dialect),
  identities(dialect),
  apart(dialect),
  weights(dialect),
  ...dialect.hasChoices ? [unlimited(dialect)] : [],
  refusals(dialect)
])

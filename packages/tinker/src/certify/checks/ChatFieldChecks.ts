/** Individual fields of chat requests and answers: conversation forms, log-probabilities, choices and model lists. */
import { Tinker } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Order from "effect/Order"
import * as Answer from "../../client/Answer.ts"
import * as Check from "../Check.ts"
import * as Dialect from "../Dialect.ts"
import * as Draws from "../Draws.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

const { listAt, numberAt, textAt } = Dialect

const tolerance = 0.03

const expectEqual = (what: string, found: unknown, expected: unknown) =>
  Check.expect(found === expected, `${what}: ${JSON.stringify(expected)}`, JSON.stringify(found))

type Name = "chat completions" | "responses" | "messages"

/** One conversation in the format of each dialect. */
interface Variant {
  readonly what: string
  /** Whether the variant's prompt is longer than the prompt of the question alone; otherwise both prompts are equal. */
  readonly adds: boolean
  readonly in: Readonly<Record<Name, Dialect.Body>>
}

const question = "What is 3 and 4?"

const user = { role: "user", content: question }

const turns = [{ role: "user", content: "What is 1 and 1?" }, { role: "assistant", content: "It is 2." }, user]

const said = (what: string, messages: ReadonlyArray<object>, adds = true): Variant => ({
  what,
  adds,
  in: { "chat completions": { messages }, responses: { input: messages }, messages: { messages } }
})

const plain = said("the question alone", [user], false)

const told = (text: string): Variant => ({
  what: `the system text ${JSON.stringify(text)}`,
  adds: true,
  in: {
    "chat completions": { messages: [{ role: "system", content: text }, user] },
    responses: { input: [user], instructions: text },
    messages: { messages: [user], system: text }
  }
})

const instructions = "Answer in one word, and in French."

/** A system text in several blocks or in a developer message, as the dialect allows. */
const toldInBlocks: Variant = {
  what: "a system text in blocks",
  adds: true,
  in: {
    "chat completions": { messages: [{ role: "system", content: [{ type: "text", text: instructions }] }, user] },
    responses: { input: [{ role: "system", content: [{ type: "input_text", text: instructions }] }, user] },
    messages: { messages: [user], system: [{ type: "text", text: instructions }] }
  }
}

/** A developer message; Anthropic messages have no such role. */
const toldByDeveloper: Variant = {
  what: "a developer's text",
  adds: true,
  in: {
    messages: {},
    "chat completions": { messages: [{ role: "developer", content: instructions }, user] },
    responses: { input: [{ role: "developer", content: instructions }, user] }
  }
}

const pieces = [question.slice(0, 7), question.slice(7)]

const parts = (type: string) => pieces.map((text) => ({ type, text }))

const inParts: Variant = {
  what: "the question in two parts",
  adds: false,
  in: {
    "chat completions": { messages: [{ role: "user", content: parts("text") }] },
    responses: { input: [{ role: "user", content: parts("input_text") }] },
    messages: { messages: [{ role: "user", content: parts("text") }] }
  }
}

const parameters = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } } }

const tool = { name: "add", description: "Adds two numbers.", parameters }

const chatTools = { tools: [{ type: "function", function: tool }] }
const responseTools = { tools: [{ type: "function", ...tool }] }
const messageTools = { tools: [{ name: tool.name, description: tool.description, input_schema: parameters }] }

const withTools: Variant = {
  what: "a tool",
  adds: true,
  in: {
    "chat completions": { messages: [user], ...chatTools },
    responses: { input: [user], ...responseTools },
    messages: { messages: [user], ...messageTools }
  }
}

const called = (input: object, output: string): Variant => {
  const text = JSON.stringify(input)
  const call_id = "call_certify_1"
  return {
    what: `a tool that was called with ${text} and gave ${output}`,
    adds: true,
    in: {
      "chat completions": {
        messages: [
          user,
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: call_id, type: "function", function: { name: "add", arguments: text } }]
          },
          { role: "tool", tool_call_id: call_id, content: output }
        ],
        ...chatTools
      },
      responses: {
        input: [
          user,
          { type: "function_call", call_id, name: "add", arguments: text },
          { type: "function_call_output", call_id, output }
        ],
        ...responseTools
      },
      messages: {
        messages: [
          user,
          { role: "assistant", content: [{ type: "tool_use", id: call_id, name: "add", input }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: call_id, content: output }] }
        ],
        ...messageTools
      }
    }
  }
}

const variants = [
  told("Count in ones."),
  told(instructions),
  toldInBlocks,
  toldByDeveloper,
  inParts,
  said("a turn before", turns),
  said("two turns before", [...turns.slice(0, 2), ...turns]),
  withTools,
  called({ a: 3, b: 4 }, "17"),
  called({ a: 3, b: 5 }, "17"),
  called({ a: 3, b: 4 }, "a hundred")
]

const forms = [Dialect.chat, Dialect.responses, Dialect.messages]

const isName = (name: string): name is Name => name in plain.in

const brief = { max_tokens: 6, max_output_tokens: 6, temperature: 0 }

/** The answer to a variant in a dialect; undefined if the server does not accept it. */
const answered = (dialect: Dialect.Dialect, variant: Variant) =>
  Dialect.body(dialect, {
    ...Object.fromEntries(
      Object.entries(brief).filter(([name]) =>
        name in dialect.fields({ messages: [], max_tokens: 1 }) || name === "temperature"
      )
    ),
    ...isName(dialect.name) ? variant.in[dialect.name] : {}
  }).pipe(
    Effect.map((body) => ({ ...dialect.whole(body), body })),
    Effect.catchTag("Absent", () => Effect.succeed(undefined))
  )

const why = "A model that does not see all that its client wrote answers a different question."

export const conversations: Check.Check = {
  theme: "chat",
  name: "system texts, content parts, turns, tools and tool results are in the prompt, in every dialect",
  why,
  run: Effect.gen(function*() {
    const alone = yield* Effect.forEach(forms, (dialect) => answered(dialect, plain))
    if (alone.every((one) => one === undefined)) return yield* Check.absent("the server has no chat endpoint")
    const isOne = new Set(alone.flatMap((one) => one === undefined ? [] : [one.prompted])).size === 1
    for (const variant of variants) {
      const found = yield* Effect.forEach(forms, (dialect) => answered(dialect, variant))
      const seen = new Set<string>()
      for (const [at, one] of found.entries()) {
        const least = alone[at]
        if (one === undefined || least === undefined) continue
        yield* Check.expect(
          variant.adds ? one.prompted > least.prompted : one.prompted === least.prompted,
          `${variant.adds ? "more than" : "the"} ${least.prompted} tokens of a prompt with ${variant.what}`,
          `${one.prompted} in ${forms[at]?.name}`
        )
        seen.add(JSON.stringify([one.prompted, one.texts.map((text) => text.trim())]))
      }
      yield* Check.expect(
        !isOne || seen.size <= 1,
        `one prompt and one answer with ${variant.what} in all dialects`,
        [...seen].join(", ")
      )
    }
  })
}

export const silenced: Check.Check = {
  theme: "chat",
  name: "tools are left out of the prompt if none may be called",
  why,
  run: Effect.gen(function*() {
    for (const dialect of forms) {
      const choice = dialect.name === "messages" ? { type: "none" } : "none"
      const fields = isName(dialect.name) ? withTools.in[dialect.name] : {}
      const [alone, some, none] = yield* Effect.forEach(
        [plain.in, withTools.in, { ...withTools.in, [dialect.name]: { ...fields, tool_choice: choice } }],
        (one) => answered(dialect, { ...plain, in: one })
      )
      if (alone === undefined || some === undefined || none === undefined) continue
      yield* Check.expect(none.prompted <= some.prompted, `at most ${some.prompted} tokens of a prompt`, none.prompted)
      yield* expectEqual(
        `the number of calls in ${dialect.name}`,
        listAt(none.body, "choices", 0, "message", "tool_calls").length,
        0
      )
    }
  })
}

export const counted: Check.Check = {
  theme: "chat",
  name: "count_tokens equals the number of prompt tokens that messages report",
  why: "Agents shorten their conversations by this number.",
  run: Effect.gen(function*() {
    const counter = { name: "count_tokens", path: `${Dialect.messages.path}/count_tokens` }
    for (const variant of [plain, ...variants]) {
      const whole = yield* answered(Dialect.messages, variant)
      if (whole === undefined) continue
      const body = yield* Dialect.body(counter, variant.in.messages)
      yield* expectEqual(`input_tokens of ${variant.what}`, numberAt(body, "input_tokens"), whole.prompted)
    }
  })
}

interface Scored {
  readonly token: string
  readonly logprob: number
}

const scoredAt = (value: unknown): Scored => ({ token: textAt(value, "token"), logprob: numberAt(value, "logprob") })

const chatContent = (body: Dialect.Body, choice = 0) => listAt(body, "choices", choice, "logprobs", "content")

const utf8 = new TextEncoder()

const asking = { messages: [{ role: "user" as const, content: question }], max_tokens: 10 }

export const logprobs: Check.Check = {
  theme: "chat",
  name: "a chat's log-probabilities list its tokens with their bytes and the requested number of candidates",
  why: "Clients read confidence from these numbers. Misplaced or reordered numbers mislead them.",
  run: Effect.gen(function*() {
    const fields = { ...asking, temperature: 0 }
    const bare = yield* Dialect.body(Dialect.chat, fields)
    yield* expectEqual("no log-probabilities unless requested", chatContent(bare).length, 0)
    for (const top_logprobs of [0, 1, 4, 12]) {
      const body = yield* Dialect.body(Dialect.chat, { ...fields, logprobs: true, top_logprobs })
      const content = chatContent(body)
      yield* expectEqual("as many as tokens", content.length, numberAt(body, "usage", "completion_tokens"))
      const text = textAt(body, "choices", 0, "message", "content").trim()
      const joined = content.map((one) => textAt(one, "token")).join("")
      yield* Check.expect(joined.includes(text), `tokens of ${JSON.stringify(text)}`, JSON.stringify(joined))
      for (const one of content) {
        const { logprob, token } = scoredAt(one)
        yield* Check.expect(logprob <= 1e-6, "a log-probability", logprob)
        const bytes = listAt(one, "bytes")
        if (bytes.length > 0 && !token.includes("\uFFFD")) {
          yield* expectEqual(`the bytes of ${JSON.stringify(token)}`, bytes.join(), [...utf8.encode(token)].join())
        }
        const candidates = listAt(one, "top_logprobs").map(scoredAt)
        yield* expectEqual("the number of candidates", candidates.length, top_logprobs)
        const isSorted = candidates.every((other, rank) => other.logprob <= (candidates[rank - 1]?.logprob ?? 0) + 1e-4)
        const total = candidates.reduce((sum, other) => sum + Math.exp(other.logprob), 0)
        yield* Check.expect(isSorted && total < 1.01, "candidates in their order, together at most 1", total)
        const [best = { token, logprob }] = candidates
        yield* Check.expectClose(
          `the likeliest instead of ${JSON.stringify(token)}`,
          [best.logprob],
          [logprob],
          tolerance
        )
      }
    }
  })
}

export const sampledLogprobs: Check.Check = {
  theme: "chat",
  name: "each choice of a chat has its own log-probabilities, before temperature, streamed or not",
  why: "Clients rank choices by these numbers.",
  run: Effect.gen(function*() {
    const fields = { ...asking, temperature: 1.6, n: 3, seed: 11, logprobs: true, top_logprobs: 5 }
    const body = yield* Dialect.body(Dialect.chat, fields)
    for (const choice of listAt(body, "choices").keys()) {
      for (const one of chatContent(body, choice)) {
        const { logprob, token } = scoredAt(one)
        const same = listAt(one, "top_logprobs").map(scoredAt).filter((other) => other.token === token)
        // Two tokens may have one text.
        const isOwn = same.length === 0 || same.some((other) => Math.abs(other.logprob - logprob) < tolerance)
        yield* Check.expect(isOwn, `the log-probability of ${JSON.stringify(token)} among the candidates`, logprob)
      }
    }
    const events = Dialect.eventsOf(yield* Dialect.sent(Dialect.chat, { ...fields, stream: true }))
    const chunks = events.flatMap((event) => listAt(event, "choices"))
    for (const choice of listAt(body, "choices").keys()) {
      const found = chunks.filter((chunk) => numberAt(chunk, "index") === choice)
        .flatMap((chunk) => listAt(chunk, "logprobs", "content")).map((one) => numberAt(one, "logprob"))
      if (found.length === 0) return "streams have no log-probabilities"
      const expected = chatContent(body, choice).map((one) => numberAt(one, "logprob"))
      yield* Check.expectClose(`the streamed log-probabilities of choice ${choice}`, found, expected, tolerance)
    }
  })
}

export const responseLogprobs: Check.Check = {
  theme: "chat",
  name: "responses have the same log-probabilities as chats",
  why: "Clients read confidence from these numbers.",
  run: Effect.gen(function*() {
    const chat = yield* Dialect.body(Dialect.chat, { ...asking, temperature: 0, logprobs: true, top_logprobs: 2 })
    const body = yield* Dialect.body(Dialect.responses, {
      input: asking.messages,
      max_output_tokens: asking.max_tokens,
      temperature: 0,
      include: ["message.output_text.logprobs"],
      top_logprobs: 2
    })
    const found = listAt(body, "output", -1, "content", 0, "logprobs").map((one) => numberAt(one, "logprob"))
    const expected = chatContent(chat).map((one) => numberAt(one, "logprob"))
    if (numberAt(body, "usage", "input_tokens") !== numberAt(chat, "usage", "prompt_tokens")) {
      return yield* Check.absent("responses and chats render the prompt differently")
    }
    const length = Math.min(found.length, expected.length)
    yield* Check.expect(length > 0, "log-probabilities", "none")
    yield* Check.expectClose("logprobs", found.slice(0, length), expected.slice(0, length), tolerance)
  })
}

const prompts = [[3, 1, 4, 1, 5, 9, 2], [2, 7, 1, 8, 2, 8], [1, 6, 1, 8]]

const completionOf = (prompt: unknown, more: Dialect.Body) =>
  Dialect.body(Dialect.completions, { prompt, max_tokens: 8, temperature: 0, ...more })

const numbersAt = (value: unknown, ...path: ReadonlyArray<string | number>) => listAt(value, ...path).map(Number)

export const completionLogprobs: Check.Check = {
  theme: "chat",
  name: "a completion's log-probabilities list the text's tokens, their offsets and candidates",
  why: "Evaluations by likelihood read these lists side by side.",
  run: Effect.gen(function*() {
    for (const prompt of prompts) {
      const body = yield* completionOf(prompt, { logprobs: 3 })
      const found = Dialect.at(body, "choices", 0, "logprobs")
      const tokens = listAt(found, "tokens").map(String)
      const scores = numbersAt(found, "token_logprobs")
      yield* expectEqual("the number of tokens", tokens.length, numberAt(body, "usage", "completion_tokens"))
      yield* expectEqual("the number of log-probabilities", scores.length, tokens.length)
      const text = textAt(body, "choices", 0, "text").trim()
      yield* Check.expect(tokens.join("").includes(text), `tokens of ${JSON.stringify(text)}`, tokens.join(""))
      const offsets = numbersAt(found, "text_offset")
      const gaps = offsets.slice(1).map((offset, at) => offset - (offsets[at] ?? NaN)).join()
      if (offsets.length > 0 && !tokens.join("").includes("\uFFFD")) {
        yield* expectEqual(
          "the lengths between text_offset",
          gaps,
          tokens.slice(0, -1).map(({ length }) => length).join()
        )
      }
      for (const [at, candidates] of listAt(found, "top_logprobs").entries()) {
        const values = Object.values(typeof candidates === "object" && candidates !== null ? candidates : {}).map(
          Number
        )
        yield* Check.expect(values.length >= 1 && values.length <= 4, "1 to 4 candidates", values.length)
        yield* Check.expectClose("the likeliest candidate", [Math.max(...values)], [scores[at] ?? NaN], tolerance)
      }
    }
  })
}

export const echo: Check.Check = {
  theme: "chat",
  name: "an echoed prompt precedes its completion, with the log-probabilities of the prompt's tokens",
  why: "Multiple-choice evaluations score texts this way.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel }))
    for (const prompt of prompts) {
      const echoed = yield* completionOf(prompt, { echo: true, logprobs: 1 })
      const bare = yield* completionOf(prompt, {})
      const expected = yield* client.computeLogprobs(ModelInput.fromTokens(prompt))
      const found = numbersAt(echoed, "choices", 0, "logprobs", "token_logprobs").slice(1, prompt.length)
      yield* Check.expectClose("logprobs of the prompt", found, expected.slice(1), tolerance)
      const [text, end] = [echoed, bare].map((body) => textAt(body, "choices", 0, "text"))
      yield* Check.expect(
        (text ?? "").endsWith(end ?? "") && (text ?? "").length > (end ?? "").length,
        `the prompt and then ${JSON.stringify(end)}`,
        text
      )
    }
  })
}

export const severalPrompts: Check.Check = {
  theme: "chat",
  name: "completions of several prompts are in the order of the prompts, each with all its choices",
  why: "Clients match answers to questions by position.",
  run: Effect.gen(function*() {
    const shown = (body: Dialect.Body) => listAt(body, "choices").map((choice) => textAt(choice, "text"))
    const alone = yield* Effect.forEach(prompts, (prompt) => completionOf(prompt, {}))
    const expected = alone.flatMap((body) => [...shown(body), ...shown(body)])
    const together = yield* completionOf(prompts, { n: 2 })
    yield* expectEqual("the choices", shown(together).join("; "), expected.join("; "))
    const indices = numbersAt({ of: listAt(together, "choices").map((choice) => numberAt(choice, "index")) }, "of")
    yield* expectEqual("their numbers", indices.join(), Arr.makeBy(2 * prompts.length, (at) => at).join())
    const tokens = prompts.reduce((sum, { length }) => sum + length, 0)
    yield* expectEqual("prompt_tokens", numberAt(together, "usage", "prompt_tokens"), tokens)
  })
}

export const manyChoices: Check.Check = {
  theme: "chat",
  name: "a request gets as many numbered choices as it asks for, and only the same seed repeats them",
  why: "A majority vote over copies of one answer means nothing.",
  run: Effect.gen(function*() {
    for (const dialect of [Dialect.chat, Dialect.completions]) {
      const hot = { messages: asking.messages, max_tokens: 16, temperature: 1.8 }
      const ask = (n: number, seed: number) => Dialect.ask(dialect, hot, { n, seed })
      for (const n of [2, 64]) {
        const many = yield* Dialect.ask(dialect, hot, { n })
        yield* expectEqual(`the number of choices in ${dialect.name}`, many.texts.length, n)
        yield* Check.expect(new Set(many.texts).size > n / 20, "choices that differ", many.texts.join("; "))
        yield* Check.expect(
          many.sampled >= n && many.sampled <= 16 * n,
          `${n} to ${16 * n} tokens of all choices`,
          many.sampled
        )
      }
      const [one, again, other] = [yield* ask(3, 5), yield* ask(3, 5), yield* ask(3, 6)]
      yield* expectEqual("the choices of the same seed", again.texts.join("; "), one.texts.join("; "))
      yield* Check.expect(
        one.texts.join() !== other.texts.join(),
        "different choices with another seed",
        one.texts.join("; ")
      )
    }
  })
}

/** Draws per request. */
const perRequest = 32

/** Questions, at least one of which should have answers with varying first words. */
const openings: Arr.NonEmptyReadonlyArray<string> = ["Count.", question, "7", "What is 6 * 7? Write it.", "8 9"]

/** The first token of each of at least `count` replies. `ids` numbers tokens by their text and log-probability. */
const drawn = (
  dialect: Dialect.Dialect,
  content: string,
  count: number,
  more: Dialect.Body,
  ids: Map<string, number>
) =>
  Effect.map(
    Effect.forEach(
      Arr.range(1, Math.ceil(count / perRequest)),
      () =>
        Dialect.body(dialect, {
          ...dialect.fields({ messages: [{ role: "user", content }], max_tokens: 1 }),
          n: perRequest,
          logprobs: dialect.name === "completions" ? 0 : true,
          ...more
        }),
      { concurrency: 4 }
    ),
    (bodies) =>
      bodies.flatMap((body) => listAt(body, "choices")).flatMap((choice): ReadonlyArray<Draws.Draw> => {
        const content = Dialect.at(choice, "logprobs", "content", 0)
        const token = content === undefined ? textAt(choice, "logprobs", "tokens", 0) : textAt(content, "token")
        const logprob = content === undefined
          ? numberAt(choice, "logprobs", "token_logprobs", 0)
          : numberAt(content, "logprob")
        if (Number.isNaN(logprob)) return []
        // Tokens with the same text are distinguished by their log-probabilities.
        const name = `${token} ${logprob.toFixed(2)}`
        if (!ids.has(name)) ids.set(name, ids.size)
        return [{ token: ids.get(name) ?? -1, logprob }]
      })
  )

const temperatures = (dialect: Dialect.Dialect): Check.Check => ({
  theme: "chat",
  name: `${dialect.name}: tokens follow the requested temperature and top_p`,
  why: "Evaluations would use the wrong sampling options.",
  run: Effect.gen(function*() {
    const ids = new Map<string, number>()
    const tried = yield* Effect.forEach(
      openings,
      (content) =>
        Effect.map(drawn(dialect, content, 2 * perRequest, { temperature: 1 }, ids), (draws) => {
          const [likeliest] = Draws.distinct(draws)
          return { content, probability: Math.exp(likeliest?.logprob ?? 0) }
        })
    )
    const { content } = Arr.min(tried, Order.mapInput(Order.Number, ({ probability }) => probability))
    const pool = yield* drawn(dialect, content, 512, { temperature: 1 }, ids)
    const tokens = Draws.distinct(pool)
    if (tokens.length < 2) return yield* Check.absent("the next token is certain")
    for (const temperature of [0.5, 1, 2]) {
      const draws = yield* drawn(dialect, content, 512, temperature === 1 ? {} : { temperature }, ids)
      yield* Draws.expectDistributions(`tokens at temperature ${temperature}`, [
        Draws.counted(tokens, draws, (logprob) => Math.exp(logprob / temperature))
      ])
    }
    const [first, second] = tokens
    const least = second?.logprob ?? 0
    const top_p = Math.exp(first?.logprob ?? 0) + Math.exp(least) / 2
    const draws = yield* drawn(dialect, content, 4 * perRequest, { temperature: 1, top_p }, ids)
    const outside = draws.find(({ logprob }) => logprob < least - tolerance)
    yield* Check.expect(outside === undefined, `tokens of at least ${least} at top_p ${top_p}`, outside?.logprob)
  })
})

export const completionLimit: Check.Check = {
  theme: "chat",
  name: "max_completion_tokens limits an answer like max_tokens",
  why: "Newer clients send only this field. If it is ignored, answers continue to the end of the context.",
  run: Effect.gen(function*() {
    for (const limit of [1, 3]) {
      const body = yield* Dialect.body(Dialect.chat, {
        messages: asking.messages,
        temperature: 0,
        max_completion_tokens: limit
      })
      yield* expectEqual("completion_tokens", numberAt(body, "usage", "completion_tokens"), limit)
    }
  })
}

export const begun: Check.Check = {
  theme: "chat",
  name: "a request that ends with a partial answer is continued from there, or refused",
  why: "An answer that starts over instead of continuing the client's text is a different answer.",
  run: Effect.gen(function*() {
    for (const dialect of [Dialect.chat, Dialect.messages]) {
      const ask = (messages: ReadonlyArray<Dialect.Said>) =>
        Dialect.ask(dialect, { messages, max_tokens: 32, temperature: 0 })
      const [text = ""] = (yield* ask(asking.messages)).texts
      const head = text.slice(0, text.indexOf(" ", 3)).trim()
      if (head.length < 3) return yield* Check.absent("no answer has two words")
      const continued: ReadonlyArray<Dialect.Said> = [...asking.messages, { role: "assistant", content: head }]
      const streamed = yield* Dialect.stream(dialect, { messages: continued, max_tokens: 32, temperature: 0 })
      const rest = yield* ask(continued)
      yield* expectEqual("the same streamed", streamed.texts.join().trim(), rest.texts.join().trim())
      yield* expectEqual(
        `what follows ${JSON.stringify(head)} in ${dialect.name}`,
        rest.texts.join("").trim(),
        text.slice(head.length).trim()
      )
    }
  })
}

export const models: Check.Check = {
  theme: "chat",
  name: "chat clients can list the models and look one up by name, and an unknown name is a 404",
  why: "Clients choose from this list, and stop if their model is missing.",
  run: Effect.gen(function*() {
    const { get, model } = yield* RawRequests
    const [path = ""] = Dialect.chat.path.split("/chat")
    const list = yield* get(`${path}/models`)
    if (list.status === 404 || list.status === 405) return yield* Check.absent("models are not listed for chat clients")
    const ids = listAt(list.body, "data").map((one) => textAt(one, "id"))
    yield* Check.expect(ids.includes(model), `${model} among the models`, ids.join(", "))
    yield* Check.expect(new Set(ids).size === ids.length, "each model once", ids.join(", "))
    const one = yield* get(`${path}/models/${model}`)
    yield* expectEqual("the model looked up by name", textAt(one.body, "id"), model)
    const other = yield* get(`${path}/models/certify-no-such-model`)
    yield* expectEqual("the status of a missing model", other.status, 404)
  })
}

export const tooLong: Check.Check = {
  theme: "chat",
  name: "a conversation that exceeds the context is refused, not truncated",
  why: "An agent would continue without its first instructions.",
  run: Effect.gen(function*() {
    const { post, model } = yield* RawRequests
    const { contextLength } = yield* Tinker.Tinker.use(({ capabilities }) => capabilities(model))
    const content = `${question} `.repeat(contextLength)
    for (const dialect of forms) {
      yield* Dialect.ask(dialect, { ...asking, max_tokens: 1 })
      const { body, status } = yield* post(dialect.path, {
        model,
        ...dialect.fields({ messages: [{ role: "user", content }], max_tokens: 1 })
      })
      yield* Check.expect(
        status >= 400 && status < 500,
        `a refusal of ${content.length} characters in ${dialect.name}`,
        `HTTP ${status} ${JSON.stringify(body).slice(0, 200)}`
      )
    }
  })
}

export const given: Check.Check = {
  theme: "chat",
  name: "a response repeats the metadata, the instructions and the options of its request",
  why: "Stateless clients read their own request from the response.",
  run: Effect.gen(function*() {
    const options = { metadata: { certify: "ü" }, instructions: "Be brief.", temperature: 0.5, max_output_tokens: 3 }
    const body = yield* Dialect.body(Dialect.responses, { input: question, ...options })
    for (const [name, value] of Object.entries(options)) {
      yield* expectEqual(name, JSON.stringify(body[name]), JSON.stringify(value))
    }
    yield* expectEqual(
      "the total of the usage",
      numberAt(body, "usage", "total_tokens"),
      numberAt(body, "usage", "input_tokens") + numberAt(body, "usage", "output_tokens")
    )
  })
}

/** Texts that lose characters if spaces or special characters are ignored. */
const signs = [
  "What is",
  "What is ",
  " What is",
  "What  is",
  "What is\n",
  "what is",
  "What is\t",
  "Wh\u00e4t is",
  "What is\n\n"
]

export const spaces: Check.Check = {
  theme: "chat",
  name: "a completion's prompt keeps every space, line break and letter",
  why: "A completion of an altered prompt does not continue the client's text.",
  run: Effect.gen(function*() {
    const seen = new Map<string, string>()
    for (const prompt of signs) {
      const body = yield* completionOf(prompt, { logprobs: 1, max_tokens: 4 })
      const scores = numbersAt(body, "choices", 0, "logprobs", "token_logprobs").map((value) => value.toFixed(3)).join()
      const known = seen.get(scores)
      yield* Check.expect(
        known === undefined,
        `another continuation of ${JSON.stringify(prompt)} than of ${JSON.stringify(known)}`,
        scores
      )
      seen.set(scores, prompt)
    }
  })
}

export const shapes: Check.Check = {
  theme: "chat",
  name: "answers, chunks and errors have the type fields of their dialect",
  why: "Clients ignore answers of an unknown type, and crash on malformed errors.",
  run: Effect.gen(function*() {
    const { model, post } = yield* RawRequests
    const kinds = [
      [Dialect.chat, "object", "chat.completion"],
      [Dialect.completions, "object", "text_completion"],
      [Dialect.responses, "object", "response"],
      [Dialect.messages, "type", "message"]
    ] as const
    for (const [dialect, field, kind] of kinds) {
      const body = yield* Dialect.body(dialect, dialect.fields({ ...asking, max_tokens: 2 }))
      yield* expectEqual(`${field} of ${dialect.name}`, body[field], kind)
      const role = textAt(body, "role") || textAt(body, "choices", 0, "message", "role") ||
        textAt(body, "output", -1, "role")
      if (dialect !== Dialect.completions) yield* expectEqual(`the role of ${dialect.name}`, role, "assistant")
      const wrong = yield* post(dialect.path, { model: "certify/no-such-model", ...dialect.fields(asking) })
      const { error } = wrong.body
      const isOwn = dialect !== Dialect.messages || wrong.body["type"] === "error"
      yield* Check.expect(
        isOwn && textAt(error, "type").length > 0 && textAt(error, "message").length > 0,
        `an error of ${dialect.name} with its type and message`,
        JSON.stringify(wrong.body).slice(0, 200)
      )
    }
    const usual = Dialect.eventsOf(
      yield* Dialect.sent(Dialect.chat, { model, ...Dialect.chat.fields({ ...asking, max_tokens: 2 }), stream: true })
    )
    const objects = new Set(usual.map((event) => event["object"]))
    yield* expectEqual("object of chunks", [...objects].join(), "chat.completion.chunk")
    yield* expectEqual(
      "usage of a stream unless asked for",
      usual.some((event) => typeof event["usage"] === "object" && event["usage"] !== null),
      false
    )
    const [first] = usual
    yield* expectEqual("the role of a stream", textAt(first, "choices", 0, "delta", "role"), "assistant")
    const ids = new Set(usual.map((event) => event["id"]))
    yield* expectEqual("the number of ids of a stream", ids.size, 1)
  })
}

/** A streamed answer: its events, the names of its events in order, and its whole text. */
const streamed = Effect.fnUntraced(function*(dialect: Dialect.Dialect) {
  const { exchange, model } = yield* RawRequests
  const answer = yield* exchange(dialect.path, {
    model,
    ...dialect.fields({ ...asking, temperature: 0 }),
    stream: true
  })
  if (!Answer.isSuccess(answer)) return yield* Check.absent(`${dialect.name} are not streamed`)
  const text = Answer.textOf(answer)
  const type = answer.headers["content-type"] ?? ""
  yield* Check.expect(type.includes("text/event-stream"), `text/event-stream of ${dialect.name}`, type)
  const names = text.split(/\r?\n/).flatMap((line) => line.startsWith("event:") ? [line.slice(6).trim()] : [])
  return { events: Dialect.eventsOf(text), names, text: text.trimEnd() }
})

export const streams: Check.Check = {
  theme: "chat",
  name: "streams have all events of their dialect, in order",
  why: "Clients wait for events by name, and wait forever if the last one is missing.",
  run: Effect.gen(function*() {
    for (const dialect of [Dialect.chat, Dialect.completions]) {
      const { events, text } = yield* streamed(dialect)
      yield* Check.expect(text.endsWith("data: [DONE]"), `[DONE] at the end of ${dialect.name}`, text.slice(-40))
      const ends = events.flatMap((event) => listAt(event, "choices")).map((choice) => textAt(choice, "finish_reason"))
      const finished = ends.filter((end) => end !== "").length
      yield* expectEqual(`the number of finish_reasons of ${dialect.name}`, finished, 1)
    }
    const { events, names } = yield* streamed(Dialect.messages)
    const types = events.map((event) => textAt(event, "type"))
    yield* expectEqual("the names of events", names.join(), types.join())
    yield* expectEqual("the last event of messages", types.at(-1), "message_stop")
    const blocks = types.filter((type) => type === "content_block_start").length
    yield* expectEqual(
      "content_block_stop of each block",
      types.filter((type) => type === "content_block_stop").length,
      blocks
    )
    const response = yield* streamed(Dialect.responses)
    const numbers = response.events.map((event) => numberAt(event, "sequence_number"))
    yield* expectEqual("sequence_number of events", numbers.join(), Arr.makeBy(numbers.length, (at) => at).join())
    const deltas = response.events.filter(({ type }) => type === "response.output_text.delta")
    const text = deltas.map((event) => textAt(event, "delta")).join("")
    const done = response.events.find(({ type }) => type === "response.output_text.done")
    yield* expectEqual("the whole text in the last text event", textAt(done, "text"), text)
    const last = Dialect.at(response.events.at(-1), "response", "output", -1, "content", 0, "text")
    yield* expectEqual("the text of the last event", last, text)
  })
}

export const sameTokens: Check.Check = {
  theme: "chat",
  name: "a completion of token ids equals a sample of the Tinker API",
  why: "Otherwise the evaluated policy would differ from the trained one.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel }))
    for (const prompt of [[...Examples.tokens], ...prompts]) {
      const body = yield* completionOf(prompt, { logprobs: 0 })
      const { sequences: [one] } = yield* client.sample({
        prompt: ModelInput.fromTokens(prompt),
        params: { maxTokens: 8, temperature: 0 }
      })
      const found = numbersAt(body, "choices", 0, "logprobs", "token_logprobs")
      yield* Check.expectClose("logprobs of a completion", found, one?.logprobs ?? [], tolerance)
      yield* expectEqual("prompt_tokens", numberAt(body, "usage", "prompt_tokens"), prompt.length)
    }
  })
}

export const all = [
  conversations,
  silenced,
  counted,
  logprobs,
  sampledLogprobs,
  responseLogprobs,
  completionLogprobs,
  echo,
  severalPrompts,
  manyChoices,
  temperatures(Dialect.chat),
  temperatures(Dialect.completions),
  completionLimit,
  begun,
  models,
  tooLong,
  given,
  spaces,
  shapes,
  streams,
  sameTokens
]

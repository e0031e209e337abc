/** The OpenAI and Anthropic endpoints of servers that have them: which weights answer, and how. */
import { Tinker } from "@effect-rl/core"
import { type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests, type Reply } from "../RawRequests.ts"

/** The path prefixes of the chat endpoints, relative to `/api/v1`. */
const openAi = "/../../oai/api/v1"
const anthropic = "/../../anthropic/api/v1"

const tolerance = 0.03

const Usage = Schema.Struct({
  prompt_tokens: Schema.Number,
  completion_tokens: Schema.Number,
  total_tokens: Schema.Number
})

const Chat = Schema.Struct({
  choices: Schema.Array(Schema.Struct({
    index: Schema.Number,
    finish_reason: Schema.String,
    message: Schema.Struct({ content: Schema.NullOr(Schema.String) }),
    logprobs: Schema.Struct({ content: Schema.Array(Schema.Struct({ logprob: Schema.Number })) })
  })),
  usage: Usage
})

const Completion = Schema.Struct({
  choices: Schema.Array(Schema.Struct({
    index: Schema.Number,
    finish_reason: Schema.String,
    text: Schema.String,
    logprobs: Schema.Struct({ token_logprobs: Schema.Array(Schema.Number) })
  })),
  usage: Usage
})

const Messages = Schema.Struct({
  content: Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.String) })),
  usage: Schema.Struct({ input_tokens: Schema.Number, output_tokens: Schema.Number })
})

/** Decodes an answer. The check is absent if the endpoint does not exist or refuses the request. */
const read = <A>(what: string, schema: Schema.Decoder<A>) => (reply: Reply) => {
  if (reply.status === 404 || reply.status === 405) return Check.absent(`the server has no ${what}`)
  const { body, status } = reply
  return Schema.is(schema)(body)
    ? Effect.succeed(body)
    : Check.absent(`${what}: HTTP ${status} ${JSON.stringify(body).slice(0, 200)}`)
}

/** The paths of the saved sampler weights of two trained models. */
const trained = Effect.forEach(
  [[1, 1, 1, 1, 1, 1, 1], [-1, 1, -1, 1, -1, 1, -1]],
  (weights, at) =>
    Effect.gen(function*() {
      const model = yield* NumberedModel.make
      yield* model.learn(weights)
      const save = { path: `certify-chat-${at}`, kind: "snapshot", type: "save_weights_for_sampler" }
      const { body } = yield* model.ask("/save_weights_for_sampler", save)
      return String(body["path"])
    })
)

const post = Effect.fnUntraced(function*<A>(path: string, schema: Schema.Decoder<A>, body: object) {
  const { post } = yield* RawRequests
  return yield* Effect.flatMap(post(path, body), read(path.replace(/^[./]+/, "/"), schema))
})

const greedy: Sampling.SamplingParams = { maxTokens: 6, temperature: 0, stop: [] }

const greedily = (client: SamplingClient.SamplingClient) =>
  Effect.map(
    client.sample({ prompt: Examples.input, params: greedy }),
    ({ sequences: [one] }) => one?.logprobs ?? new Float32Array()
  )

const why = "These endpoints would evaluate and serve the base model or another user's model."

export const completions: Check.Check = {
  theme: "chat",
  name: "completions use the weights that the request names",
  why,
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const [first = "", second = ""] = yield* trained
    const ask = (model: string) =>
      post(`${openAi}/completions`, Completion, {
        model,
        prompt: [...Examples.tokens],
        max_tokens: 6,
        temperature: 0,
        logprobs: 1
      })
    for (const model of [first, baseModel, second, first]) {
      const { choices: [choice] } = yield* ask(model)
      const expected = yield* Effect.scoped(Effect.flatMap(
        tinker.createSamplingClient(model === baseModel ? { baseModel } : { modelPath: model }),
        greedily
      ))
      const found = choice?.logprobs.token_logprobs ?? []
      const length = Math.min(found.length, expected.length)
      yield* Check.expect(length > 0, "log-probabilities", "none")
      yield* Check.expectClose(
        `logprobs of a completion by ${model}`,
        found.slice(0, length),
        expected.subarray(0, length),
        tolerance + 0.006 * Math.max(...expected.map(Math.abs))
      )
    }
  })
}

const conversation = [{ role: "user", content: "What is 3 and 4?" }]

const asked = (model: string, more: object = {}) =>
  post(`${openAi}/chat/completions`, Chat, {
    model,
    messages: conversation,
    max_tokens: 6,
    temperature: 0,
    logprobs: true,
    ...more
  })

const scores = ({ choices: [choice] }: typeof Chat.Type) =>
  Float32Array.from(choice?.logprobs.content ?? [], ({ logprob }) => logprob)

const expectOther = (what: string, one: Float32Array, other: Float32Array) => {
  const length = Math.min(one.length, other.length)
  const distance = Check.distance(one.subarray(0, length), other.subarray(0, length))
  return Check.expect(length > 0 && distance > 1e-3, `other log-probabilities ${what}`, one.join(", "))
}

const textOf = ({ choices: [choice] }: typeof Chat.Type) => choice?.message.content ?? ""

export const chats: Check.Check = {
  theme: "chat",
  name: "chat completions and messages use the weights that the request names",
  why,
  run: Effect.gen(function*() {
    const { model: baseModel, post: send } = yield* RawRequests
    const [first = "", second = ""] = yield* trained
    const one = yield* asked(first)
    const base = yield* asked(baseModel)
    const other = yield* asked(second)
    const again = yield* asked(first)
    yield* expectOther("of trained weights than of the base model", scores(one), scores(base))
    yield* expectOther("of two trained models", scores(one), scores(other))
    yield* expectOther("of the second than of the base model", scores(other), scores(base))
    yield* Check.expectClose("logprobs of the first weights again", scores(again), scores(one), tolerance)
    const messages = (model: string) =>
      send(`${anthropic}/messages`, { model, messages: conversation, max_tokens: 6, temperature: 0 })
    for (const [model, expected] of [[first, one], [baseModel, base], [second, other]] as const) {
      const reply = yield* messages(model)
      if (reply.status === 404 || reply.status === 405) return "it has no messages"
      const { content } = yield* read("messages", Messages)(reply)
      const text = content.map(({ text = "" }) => text).join("")
      yield* Check.expect(
        text.trim() === textOf(expected).trim(),
        `the message ${JSON.stringify(textOf(expected))}`,
        JSON.stringify(text)
      )
    }
  })
}

export const wholly: Check.Check = {
  theme: "chat",
  name: "the model reads every message of a conversation, whatever its role",
  why: "An answer that ignores earlier messages answers a different conversation.",
  run: Effect.gen(function*() {
    const { model } = yield* RawRequests
    const last = conversation
    const told = (content: string) => ({ role: "system", content })
    const turn = (question: string, answer: string) => [{ role: "user", content: question }, {
      role: "assistant",
      content: answer
    }]
    const plain = yield* asked(model)
    const variants: ReadonlyArray<readonly [what: string, messages: ReadonlyArray<object>]> = [
      ["a system message", [told("Count in ones."), ...last]],
      ["another system message", [told("Count in tens."), ...last]],
      ["a turn before", [...turn("What is 1 and 1?", "2"), ...last]],
      ["a turn with another question", [...turn("What is 5 and 9?", "2"), ...last]],
      ["a turn with another answer", [...turn("What is 1 and 1?", "7"), ...last]]
    ]
    const seen: Array<readonly [what: string, scores: Float32Array]> = [["the question alone", scores(plain)]]
    for (const [what, messages] of variants) {
      const answer = yield* asked(model, { messages })
      for (const [before, known] of seen) yield* expectOther(`with ${what} than with ${before}`, scores(answer), known)
      const [found, least] = [answer.usage.prompt_tokens, plain.usage.prompt_tokens]
      yield* Check.expect(found > least, `more than ${least} prompt_tokens with ${what}`, found)
      seen.push([what, scores(answer)])
    }
  })
}

export const options: Check.Check = {
  theme: "chat",
  name: "a chat request's max_tokens, n, temperature and seed take effect, and its usage is counted",
  why: "Evaluations through these endpoints would use the wrong sampling options.",
  run: Effect.gen(function*() {
    const { model } = yield* RawRequests
    const brief = yield* asked(model, { max_tokens: 3 })
    const { completion_tokens, prompt_tokens, total_tokens } = brief.usage
    yield* Check.expect(completion_tokens <= 3, "at most 3 completion_tokens", completion_tokens)
    yield* Check.expect(total_tokens === prompt_tokens + completion_tokens, "a total of both", total_tokens)
    yield* Check.expectClose(
      "logprobs at temperature 0 again",
      scores(yield* asked(model, { max_tokens: 3 })),
      scores(brief),
      tolerance
    )
    const hot = { max_tokens: 12, temperature: 1.5 }
    const many = yield* asked(model, { ...hot, n: 4 })
    const indices = many.choices.map(({ index }) => index).join()
    yield* Check.expect(indices === "0,1,2,3", "choices 0,1,2,3", indices)
    const texts = new Set(many.choices.map(({ logprobs }) => logprobs.content.map(({ logprob }) => logprob).join()))
    yield* Check.expect(texts.size > 1, "choices that differ", "one text")
    const counted = many.choices.reduce((sum, { logprobs }) => sum + logprobs.content.length, 0)
    const used = many.usage.completion_tokens
    yield* Check.expect(used >= counted && used <= counted + 4, `about ${counted} completion_tokens`, used)
    const [one, again, other] = yield* Effect.forEach([1, 1, 2], (seed) => asked(model, { ...hot, seed }))
    if (one === undefined || again === undefined || other === undefined) return
    yield* Check.expectClose("logprobs of one seed again", scores(again), scores(one), tolerance)
    yield* expectOther("of another seed", scores(one), scores(other))
  })
}

export const all = [completions, chats, wholly, options]

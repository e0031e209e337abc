/** The answerer of one episode's agent: what it asks becomes the turns of an environment. */
import type { ChatModel } from "@effect-rl/core"
import { AdaptiveLimiter, Metering, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Crypto from "node:crypto"
import type { Answerer, Asked, Prompted, Settings } from "../dialect/Answerer.ts"
import type { Incoming } from "../dialect/Incoming.ts"
import type * as Kept from "../dialect/Kept.ts"
import type * as Notes from "../dialect/Notes.ts"
import * as PromptedChat from "../dialect/PromptedChat.ts"
import { fromTinkerError, invalid, Refusal } from "../dialect/Refusal.ts"
import type { Mailbox, Question, Request } from "./Mailbox.ts"
import * as Spoken from "./Spoken.ts"

/** Weights that answer requests by another model's name. They are not trained. */
export interface Frozen {
  readonly model: ChatModel.ChatModel
  readonly client: SamplingClient.SamplingClient
}

/** Options of sampling that the run decides. */
export type Overridden = "override" | "refuse"

/** What the requests of an episode may ask for. */
export interface Options {
  /** The model that is trained. */
  readonly model: ChatModel.ChatModel
  /** Further names by which the agent may ask for it, such as one that is written into its code. */
  readonly names?: ReadonlyArray<string>
  /** Weights by other names. */
  readonly frozen?: Readonly<Record<string, Frozen>>
  /**
   * What becomes of `temperature`, `top_p` and `top_k` in requests, which would change what is sampled: they are left to the run, and the turn
   * says so in its logs, or such requests are refused. Default "override".
   */
  readonly sampling?: Overridden
  /**
   * Whether fields that ask for what cannot be given, such as a penalty, are left out with a warning in the answer and in the logs of the turn.
   * If not, such requests are refused. Default true.
   */
  readonly lenient?: boolean
  /**
   * What becomes of strict tools, which some libraries send with every request, where no call is forced: calls are checked, and the answer warns
   * of those that break their schemas, or a grammar holds them, so that the turn is not trained on. Default "check".
   */
  readonly strict?: "check" | "hold"
}

/** Facts about a request besides its body. */
export interface Sent {
  /** Whether its client says that it was sent before. */
  readonly isRepeated: boolean
  /** The name under which its client repeats it. */
  readonly idempotencyKey: string | undefined
}

/** An answer of weights that are not trained. */
export interface Aside {
  readonly model: string
  readonly text: string
}

/** The part of an episode that its requests reach. */
export interface Episode {
  readonly mailbox: Mailbox
  /** What was answered, for requests that name it. */
  readonly kept: Kept.Kept
  readonly options: Options
  /** A name for a prompt that no other has. */
  readonly uniqueId: () => string
  readonly answeredAside: (aside: Aside) => void
  readonly noted: (note: Notes.Note) => Effect.Effect<void>
}

/** The options of sampling that would make what is sampled another thing than what is trained. */
export const biased = ({ temperature, topK, topP }: Settings): ReadonlyArray<string> => [
  ...(typeof temperature === "number" && temperature !== 1 ? [`temperature ${temperature}`] : []),
  ...(typeof topP === "number" && topP < 1 ? [`top_p ${topP}`] : []),
  ...(typeof topK === "number" && topK > 0 ? [`top_k ${topK}`] : [])
]

const refuseBiased = ({ sampling }: Options, settings: Settings) => {
  const found = biased(settings)
  return sampling === "refuse" && found.length > 0
    ? Effect.fail(invalid(`${found.join(" and ")}: expected none, because the run decides how its policy samples`))
    : Effect.void
}

type Wanted = Pick<Request, "asked" | "text" | "settings">

const keyOf = (model: string, { asked: { messages, tools }, settings, text }: Wanted) =>
  Crypto.hash(
    "sha256",
    JSON.stringify([model, Spoken.of(messages).map(({ digest }) => digest), tools, text, settings]),
    "base64url"
  )

/** The conversation of a text that is continued. */
const nothingAsked: Asked = { messages: [], tools: [] }

const nothing: Sampling.SampledTokens = {
  tokens: new Int32Array(0),
  logprobs: new Float32Array(0),
  stopReason: "length"
}

/**
 * The responses as a dialect samples them: all at once, or one by one, each whole in its first piece. `prompt` has as many tokens as what was
 * asked first, and its seed counts from 0.
 */
const served = (questions: ReadonlyArray<Question>, promptTokens: number): Prompted["sample"] => (request) => {
  const { numSamples = 1, params: { seed = 0 }, prompt, promptLogprobs } = request
  if (promptLogprobs === true) {
    return Effect.fail(invalid("echo with logprobs: an episode scores no prompt, expected one of them alone", "echo"))
  }
  if (prompt.length > promptTokens) return Effect.succeed({ sequences: [nothing] })
  const asked = numSamples > 1 ? questions : questions.slice(seed, seed + 1)
  return Effect.map(Effect.forEach(asked, ({ sampled }) => Deferred.await(sampled)), (sequences) => ({ sequences }))
}

const captured = Effect.fnUntraced(function*(
  { mailbox, options }: Episode,
  sent: Sent,
  model: string,
  wanted: Wanted
) {
  const { settings } = wanted
  yield* refuseBiased(options, settings)
  const key = sent.idempotencyKey ?? keyOf(model, wanted)
  const isRepeated = sent.isRepeated || sent.idempotencyKey !== undefined
  const questions = yield* mailbox.ask({ ...wanted, key, isRepeated })
  const [first] = questions
  if (first === undefined) return yield* invalid(`n is ${settings.choices}, expected at least 1`)
  const prompted = yield* Deferred.await(first.prompted)
  const { request } = prompted
  return {
    ...prompted,
    request: { ...request, numSamples: questions.length },
    sample: served(questions, request.prompt.length)
  }
})

/**
 * The options, whose frozen weights are counted, and wait for their turn, as the run says. They are asked from fibers of other runtimes, which
 * do not know the run. As an agent waits for their answers in the middle of its rollout, they take the lane of judges.
 */
export const metered = Effect.fnUntraced(function*(options: Options): Effect.fn.Return<Options> {
  const { meter } = yield* Metering.Metering
  const frozen = yield* Effect.forEach(
    Object.entries(options.frozen ?? {}),
    ([name, { client, model }]) =>
      Effect.map(
        AdaptiveLimiter.limit(client, "judge"),
        (limited) => [name, { model, client: meter(limited) }] as const
      )
  )
  return { ...options, frozen: Object.fromEntries(frozen) }
})

/** Weights that are not trained, which sample as they are asked. */
const aside = ({ answeredAside, uniqueId }: Episode, name: string, { client, model }: Frozen): PromptedChat.Source => ({
  id: uniqueId(),
  chatModel: model,
  sample: (request) =>
    client.sample(request).pipe(
      Effect.mapError(fromTinkerError),
      Effect.tap(({ sequences }) =>
        Effect.sync(() => {
          for (const { tokens } of sequences) answeredAside({ model: name, text: model.tokenizer.decode(tokens) })
        })
      )
    ),
  replied: () => Effect.void
})

const infoOf = (id: string, { capabilities: { contextLength } }: ChatModel.ChatModel) => ({ id, contextLength })

/** Whoever answers one request of the episode's agent, and how its fields are treated. */
export type Answering = Omit<Incoming, "body">

/** Answers one request of the episode's agent. */
export const make = (episode: Episode, sent: Sent): Answering => ({
  answerer: answererOf(episode, sent),
  kept: episode.kept,
  isLenient: episode.options.lenient ?? true,
  noted: episode.noted
})

const answererOf = (episode: Episode, sent: Sent): Answerer => {
  const { frozen = {}, model, names = [] } = episode.options
  const own = [model.name, ...names]
  const unknown = (name: string) => {
    const asked = [...own, ...Object.keys(frozen)].join(", ")
    const detail =
      `no model "${name}" in this session, expected ${asked}, or a name that the run gives the model in its names`
    return new Refusal({ status: 404, detail })
  }
  const other = (name: string) => Object.hasOwn(frozen, name) ? frozen[name] : undefined
  const chatModel = (name: string): Effect.Effect<ChatModel.ChatModel, Refusal> => {
    const found = own.includes(name) ? model : other(name)?.model
    return found === undefined ? Effect.fail(unknown(name)) : Effect.succeed(found)
  }
  return {
    models: Effect.succeed([
      ...own.map((name) => infoOf(name, model)),
      ...Object.entries(frozen).map(([name, { model }]) => infoOf(name, model))
    ]),
    chatModel,
    checksStrict: (name) => own.includes(name) && (episode.options.strict ?? "check") === "check",
    prompted: (name, asked, settings) => {
      if (own.includes(name)) return captured(episode, sent, name, { asked, settings })
      const weights = other(name)
      return weights === undefined
        ? Effect.fail(unknown(name))
        : PromptedChat.prompted(aside(episode, name, weights), asked, settings)
    },
    continued: (name, text, settings) => {
      if (own.includes(name)) {
        return settings.maxTokens === 0
          ? Effect.fail(
            invalid("max_tokens is 0, expected at least 1: an episode has no turn without a token", "max_tokens")
          )
          : captured(episode, sent, name, { asked: nothingAsked, text, settings })
      }
      const weights = other(name)
      return weights === undefined
        ? Effect.fail(unknown(name))
        : PromptedChat.continued(aside(episode, name, weights), text, settings)
    }
  }
}

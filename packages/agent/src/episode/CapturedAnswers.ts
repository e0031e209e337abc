/** Answers the agent of one episode; its requests become turns of an environment. */
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
import type { Answer, Mailbox, Request } from "./Mailbox.ts"
import * as Spoken from "./Spoken.ts"

/** Untrained weights that answer requests for another model name. */
export interface Frozen {
  readonly model: ChatModel.ChatModel
  readonly client: SamplingClient.SamplingClient
}

/** How to treat sampling options in requests, because the run decides how its policy samples. */
export type Overridden = "override" | "refuse"

/** The models of an episode, and how to treat its requests. */
export interface Options {
  /** The model being trained. */
  readonly model: ChatModel.ChatModel
  /** Additional model names for the trained model, such as one that is hard-coded in the agent. */
  readonly names?: ReadonlyArray<string>
  /** Untrained weights that answer requests for other model names, by name. */
  readonly frozen?: Readonly<Record<string, Frozen>>
  /**
   * How to treat `temperature`, `top_p` and `top_k` in requests, which would bias the samples. "override" ignores them and notes this in
   * the turn's logs; "refuse" refuses the request. Default "override".
   */
  readonly sampling?: Overridden
  /**
   * Whether fields that cannot take effect, such as a penalty, are dropped with a warning in the answer and in the turn's logs instead of
   * refused. Default true.
   */
  readonly lenient?: boolean
  /**
   * How to treat strict tools when no call is forced; some libraries mark every tool as strict. "check" samples freely and warns in the
   * answer about calls that violate their schemas. "hold" constrains them with a grammar, and the turn is not trained on. Default "check".
   */
  readonly strict?: "check" | "hold"
}

/** Facts about a request besides its body. */
export interface Sent {
  /** Whether the client marks the request as a retry. */
  readonly isRepeated: boolean
  /** The client's idempotency key, which its retries repeat. */
  readonly idempotencyKey: string | undefined
}

/** An answer from untrained weights. */
export interface Aside {
  readonly model: string
  readonly text: string
}

/** The parts of an episode that its requests use. */
export interface Episode {
  readonly mailbox: Mailbox
  /** The answers so far, for requests that refer to them. */
  readonly kept: Kept.Kept
  readonly options: Options
  /** Returns a new unique name for a prompt. */
  readonly uniqueId: () => string
  readonly answeredAside: (aside: Aside) => void
  readonly noted: (note: Notes.Note) => Effect.Effect<void>
}

/** The requested sampling options that would make the samples differ from the policy being trained. */
export const biased = ({ temperature, topK, topP }: Settings): ReadonlyArray<string> => [
  ...(typeof temperature === "number" && temperature !== 1 ? [`temperature ${temperature}`] : []),
  ...(typeof topP === "number" && topP < 1 ? [`top_p ${topP}`] : []),
  ...(typeof topK === "number" && topK > 0 ? [`top_k ${topK}`] : [])
]

/** The requested sampling options that the run decides instead. */
export const leftToTheRun = (settings: Settings): ReadonlyArray<string> => [
  ...biased(settings),
  ...(typeof settings.seed === "number" ? [`seed ${settings.seed}`] : [])
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

/** The empty conversation of a text continuation. */
const nothingAsked: Asked = { messages: [], tools: [] }

const nothing: Sampling.SampledTokens = {
  tokens: new Int32Array(0),
  logprobs: new Float32Array(0),
  stopReason: "length"
}

/**
 * Returns the captured responses in the way a dialect samples: all at once, or one by one, each whole in its first piece. A `prompt` longer
 * than `promptTokens` asks for more of a response, of which there is none; the request's seed selects the response, counting from 0.
 */
const served = (answers: ReadonlyArray<Answer>, promptTokens: number): Prompted["sample"] => (request) => {
  const { numSamples = 1, params: { seed = 0 }, prompt } = request
  if (prompt.length > promptTokens) return Effect.succeed({ sequences: [nothing] })
  const asked = numSamples > 1 ? answers : answers.slice(seed, seed + 1)
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
  const answers = yield* mailbox.ask({ ...wanted, key, isRepeated })
  const [first] = answers
  if (first === undefined) return yield* invalid(`n is ${settings.choices}, expected at least 1`)
  const prompted = yield* Deferred.await(first.prompted)
  const { request } = prompted
  return {
    ...prompted,
    request: { ...request, numSamples: answers.length },
    sample: served(answers, request.prompt.length)
  }
})

/**
 * The options with frozen weights that are metered by the run and use its queue. Requests arrive on fibers of other runtimes, which have no
 * access to the run's services. They take the judges' lane because an agent waits for them in the middle of its rollout.
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

/** Untrained weights, sampled with the request's own options. */
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

/** The answerer for one request of the episode's agent, and how the request's fields are treated. */
export type Answering = Omit<Incoming, "body">

/** Creates the answerer for one request of the episode's agent. */
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
    showsSampledOnly: (name) => own.includes(name),
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

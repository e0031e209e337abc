/** Decodes the tokens and parses the responses of runs whose model has a tokenizer that can be loaded. */
import { Story } from "@effect-rl/core/records"
import { Tokenizer } from "@effect-rl/core/renderers"
import * as Cache from "effect/Cache"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as ReadResponse from "./ReadResponse.ts"
import * as TokenTexts from "./TokenTexts.ts"

/** Decodes a model's tokens and parses its responses. */
export interface Language extends ReadResponse.Rendering {
  readonly texts: TokenTexts.TokenTexts
  /** Decodes tokens; undefined if the model's tokenizer is not available. */
  readonly decode: Tokenizer.Tokenizer["decode"] | undefined
}

const unknown: Language = { texts: TokenTexts.unknown, decode: undefined, ...ReadResponse.unknown }

interface Named {
  readonly model: string
  readonly renderer: string
}

const load = Effect.fnUntraced(function*({ model, renderer }: Named) {
  const tokenizers = yield* Effect.serviceOption(Tokenizer.Tokenizers)
  if (Option.isNone(tokenizers) || model === "") return unknown
  const tokenizer = yield* tokenizers.value.load(model)
  const language: Language = {
    texts: TokenTexts.make(tokenizer),
    decode: tokenizer.decode,
    ...(renderer === "" ? ReadResponse.unknown : yield* ReadResponse.make(renderer, tokenizer))
  }
  return language
})

/** Time before an unreachable hub is asked again, so not every transcript causes a request. */
const retryAfter = Duration.minutes(1)

const make = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const languages = yield* Cache.makeWith(load, {
    capacity: 16,
    timeToLive: (exit) => Exit.isSuccess(exit) ? Duration.infinity : retryAfter
  })
  const of = (story: Story.Story<null>) =>
    Effect.orElseSucceed(
      Cache.get(languages, { model: Story.model(story), renderer: Story.renderer(story) }),
      () => unknown
    )
  return Languages.of({ of, prepare: (story) => Effect.forkIn(of(story), scope) })
})

/** The languages of runs. Tokenizers come from the optional `Tokenizers` service. */
export class Languages extends Context.Service<Languages, {
  readonly of: (story: Story.Story<null>) => Effect.Effect<Language>
  /** Loads a run's tokenizer in advance, because loading may take longer than a reader wants to wait for a transcript. */
  readonly prepare: (story: Story.Story<null>) => Effect.Effect<unknown>
}>()("@effect-rl/view/Languages") {
  static readonly layer = Layer.effect(Languages, make)
}

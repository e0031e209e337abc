/** The texts of models' tokens, if their tokenizers are on this machine. */
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

/** The texts of a model's tokens, and what its renderer reads in its responses. */
export interface Language extends ReadResponse.Rendering {
  readonly texts: TokenTexts.TokenTexts
  /** Undefined where the model's tokenizer is not here. */
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

/** A hub that cannot be reached is not asked again for every transcript. */
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

/** The languages of runs. Tokenizers come from the service `Tokenizers`, where there is one. */
export class Languages extends Context.Service<Languages, {
  readonly of: (story: Story.Story<null>) => Effect.Effect<Language>
  /** Loads the tokenizer of a run whose transcripts will be asked for, as that may take longer than a person wants to wait. */
  readonly prepare: (story: Story.Story<null>) => Effect.Effect<unknown>
}>()("@effect-rl/view/Languages") {
  static readonly layer = Layer.effect(Languages, make)
}

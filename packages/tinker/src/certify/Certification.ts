/** Tests any Tinker server. */
import { Tinker, TinkerError } from "@effect-rl/core"
import { Tokenizer } from "@effect-rl/core/renderers"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TinkerHttp from "../client/TinkerHttp.ts"
import * as Attempt from "./Attempt.ts"
import type { Certificate, Result } from "./Certificate.ts"
import * as Checks from "./Checks.ts"
import * as RawRequests from "./RawRequests.ts"

export interface CertificationOptions extends Omit<TinkerHttp.TinkerHttpOptions, "allowUnmaskedLoss" | "deadline"> {
  readonly baseUrl: string
  /** The model to test. Default: the first model that the server lists. */
  readonly model?: string
}

const modelOf = Effect.fnUntraced(function*(given: string | undefined) {
  const tinker = yield* Tinker.Tinker
  const [first] = yield* tinker.models
  const model = given ?? first
  if (model !== undefined) return model
  const reason = new TinkerError.NotFound({ kind: "model", name: "", available: [] })
  return yield* new TinkerError.TinkerError({ operation: "certify", reason })
})

/**
 * The model's tokenizer; no field if the program has no `Tokenizers`, or if loading fails or takes longer than 30
 * seconds.
 */
const tokenizerOf = Effect.fnUntraced(function*(model: string) {
  const tokenizers = yield* Effect.serviceOption(Tokenizer.Tokenizers)
  const loaded = Option.isSome(tokenizers)
    ? yield* Effect.option(Effect.timeout(tokenizers.value.load(model), "30 seconds"))
    : Option.none()
  return Option.isSome(loaded) ? { tokenizer: loaded.value } : {}
})

/**
 * Runs the checks one after another and passes each result to `tell` as it completes. A check that takes longer than
 * two minutes counts as failed. Fails only if the server cannot be reached, if it lists no model and `model` is not
 * given, or if `tell` fails. Checks of text run only if `Tokenizer.Tokenizers` can load the model's tokenizer.
 *
 * @example
 * ```ts
 * const certificate = yield* Certification.run({ baseUrl: "http://127.0.0.1:8000", apiKey: Redacted.make("tml-key") }, () => Effect.void)
 * yield* Console.log(`${Certificate.counts(certificate).failed} checks failed`)
 * ```
 */
export const run = Effect.fn("Certification.run")(
  function*<E, R>(options: CertificationOptions, tell: (result: Result) => Effect.Effect<void, E, R>) {
    const model = yield* modelOf(options.model)
    const results = yield* Effect.forEach(
      Checks.all({ baseModel: model, ...(yield* tokenizerOf(model)) }),
      (check) => Effect.tap(Attempt.outcome(check), tell)
    ).pipe(
      Effect.provide(RawRequests.layer(options, model))
    )
    return { server: options.baseUrl, model, time: yield* DateTime.now, results } satisfies Certificate
  },
  (effect, options) => Effect.provide(effect, TinkerHttp.layerOptions({ ...options, deadline: Attempt.patience }))
)

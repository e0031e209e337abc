/**
 * Frozen models that an agent uses besides the trained model. Requests for a frozen model's name are answered by the base model as it was
 * before training, or by a checkpoint.
 */
import type { AgentEnv } from "@effect-rl/agent"
import { type ChatModel, InvalidOption, Tinker, type TinkerError } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

/** Opens the frozen models until the scope closes. Fails if a frozen model's tokenizer differs from the trained model's. */
export type Open = Effect.Effect<
  Required<Pick<AgentEnv.Options, "frozen">>,
  TinkerError.TinkerError | InvalidOption.InvalidOption,
  Scope.Scope
>

/** The settings that name models. */
export interface Names {
  readonly names: ReadonlyArray<string>
  /** Each entry is a name for the base model, or `name=checkpoint` for a checkpoint. */
  readonly frozen: ReadonlyArray<string>
}

interface Named {
  readonly name: string
  /** The checkpoint's path; undefined for the base model. */
  readonly modelPath: string | undefined
}

const named = (text: string): Named => {
  const [name = "", ...path] = text.split("=")
  return { name, modelPath: path.length === 0 ? undefined : path.join("=") }
}

const invalid = (found: string, expected: string) =>
  Effect.fail(new InvalidOption.InvalidOption({ field: "frozen", found: JSON.stringify(found), expected }))

/** Fails if the client's tokenizer fingerprint differs from the model's. Succeeds if either fingerprint is unknown. */
const checkTokenizer = (model: ChatModel.ChatModel, { capabilities, modelPath }: SamplingClient.SamplingClient) => {
  const own = model.capabilities.tokenizerFingerprint
  const found = capabilities?.tokenizerFingerprint
  return own === undefined || found === undefined || found === own
    ? Effect.void
    : invalid(modelPath, `a checkpoint with the tokenizer of ${model.name}`)
}

/**
 * Checks the names, and returns an effect that opens the frozen models. Fails if a name belongs to the trained model or occurs twice, if a
 * name or the checkpoint after "=" is empty, or if models are named but there is no backend.
 */
export const make = Effect.fnUntraced(function*(
  model: ChatModel.ChatModel,
  { frozen, names }: Names
): Effect.fn.Return<Open, InvalidOption.InvalidOption> {
  if (frozen.length === 0) return Effect.succeed({ frozen: {} })
  const all = frozen.map(named)
  const trained = all.find(({ name }) => name === model.name || names.includes(name))
  if (trained !== undefined) return yield* invalid(trained.name, "names other than those of the trained model")
  const twice = all.find(({ name }, index) => all.findIndex((other) => other.name === name) !== index)
  if (twice !== undefined) return yield* invalid(twice.name, "each name once")
  const incomplete = all.find(({ modelPath, name }) => name === "" || modelPath === "")
  if (incomplete !== undefined) {
    return yield* invalid(frozen.join(","), "a name, or a name and its checkpoint as in summariser=runs/x")
  }
  const backend = yield* Effect.serviceOption(Tinker.Tinker)
  if (Option.isNone(backend)) return yield* invalid(frozen.join(", "), "no names, because no model can sample here")
  const open = Effect.fnUntraced(function*({ modelPath, name }: Named) {
    const from = modelPath === undefined ? { baseModel: model.name } : { modelPath }
    const client = yield* backend.value.createSamplingClient(from)
    yield* checkTokenizer(model, client)
    return [name, { client, model }] as const
  })
  return Effect.map(Effect.forEach(all, open), (weights) => ({ frozen: Object.fromEntries(weights) }))
})

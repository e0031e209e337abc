/** Models that an agent asks for besides the one that is trained: the base model, as it was before training, answers by their names. */
import type { AgentEnv } from "@effect-rl/agent"
import { type ChatModel, InvalidOption, Tinker, type TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

/** The weights by their names, until the scope closes. */
export type Open = Effect.Effect<
  Required<Pick<AgentEnv.Options, "frozen">>,
  TinkerError.TinkerError,
  Scope.Scope
>

/** What of the settings of a recipe names models. */
export interface Names {
  readonly names: ReadonlyArray<string>
  readonly frozen: ReadonlyArray<string>
}

const invalid = (found: string, expected: string) =>
  Effect.fail(new InvalidOption.InvalidOption({ field: "frozen", found: JSON.stringify(found), expected }))

/** Fails where a name is one of the model that is trained, and where there is no backend whose base model could answer. */
export const make = Effect.fn("AgentFrozen.make")(function*(
  model: ChatModel.ChatModel,
  { frozen, names }: Names
): Effect.fn.Return<Open, InvalidOption.InvalidOption> {
  if (frozen.length === 0) return Effect.succeed({ frozen: {} })
  const trained = frozen.find((name) => name === model.name || names.includes(name))
  if (trained !== undefined) return yield* invalid(trained, "names of other models than the one that is trained")
  const backend = yield* Effect.serviceOption(Tinker.Tinker)
  if (Option.isNone(backend)) return yield* invalid(frozen.join(", "), "none where no model samples")
  return Effect.map(
    backend.value.createSamplingClient({ baseModel: model.name }),
    (client) => ({ frozen: Object.fromEntries(frozen.map((name) => [name, { client, model }])) })
  )
})

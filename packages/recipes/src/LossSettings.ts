/** The loss settings of a recipe: the loss's name and the options of each loss. */
import { type InvalidOption, type Rl, Setting } from "@effect-rl/core"
import { NamedLoss } from "@effect-rl/core/losses"
import type * as Effect from "effect/Effect"
import * as OwnOptions from "./OwnOptions.ts"

export const fields = {
  /** The policy loss; importance_sampling unless given, but required if groups are sampled ahead. */
  loss: Setting.choice({
    choices: NamedLoss.names,
    help: "The policy loss; importance_sampling unless given, but required if groups are sampled ahead"
  }),
  ...NamedLoss.options
}

type UpdateLoss = NonNullable<NonNullable<Rl.Options["update"]>["loss"]>

interface Settings extends NamedLoss.Given {
  readonly loss?: NamedLoss.Name
}

/** Fails with the first given option that the chosen loss does not accept. */
export const check = (settings: Settings): Effect.Effect<void, InvalidOption.InvalidOption> => {
  const { loss = "importance_sampling" } = settings
  return OwnOptions.check(`the loss ${loss}`, settings, {
    options: Object.keys(NamedLoss.options),
    own: NamedLoss.optionsOf(loss)
  })
}

/** The chosen loss with the given options; empty if no loss was chosen. */
export const of = (settings: Settings): { readonly loss?: UpdateLoss } =>
  settings.loss === undefined ? {} : { loss: NamedLoss.make(settings.loss, settings) }

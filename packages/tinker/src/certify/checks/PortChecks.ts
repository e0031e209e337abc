/** The port's rules that concern servers, tested through this package's client. */
import { Contract } from "@effect-rl/core/testing"
import * as Effect from "effect/Effect"
import { Absent, absent, type Check, Mismatch, type Theme } from "../Check.ts"

/** Why a server must satisfy the rules of a theme. Rules of other themes concern only the client. */
const themes = {
  models: "A run is planned by what a server says of its models, and must learn of a wrong name before it begins.",
  sampling: "A policy gradient needs samples of exactly the distribution that was asked for.",
  logprobs: "Importance ratios compare these numbers token by token: shifted by one position they are noise.",
  training: "Every algorithm is made of these calls; a wrong one trains something else without any error.",
  losses: "A loss that is off by a factor or a clip changes what is learned, and no curve shows it.",
  requests: "Clients send a step without waiting for the pass before it, which needs their order to be kept.",
  checkpoints: "A run that goes on from a checkpoint must go on as if it had not stopped."
} satisfies Partial<Record<Theme, string>>

const inapplicable =
  "this is about a feature that the server does not claim, about its absence, or about a text without its tokenizer"

const isTheme = (name: string): name is keyof typeof themes => Object.hasOwn(themes, name)

const fromCase = ({ check, name }: Contract.Case): ReadonlyArray<Check> => {
  const [theme = "", ...rest] = name.split(": ")
  if (!isTheme(theme)) return []
  return [{
    theme,
    name: rest.join(": "),
    why: themes[theme],
    run: check.pipe(
      Effect.mapError(({ expected, found, reason }) =>
        reason?._tag === "Unsupported"
          ? new Absent({ detail: reason.message })
          : new Mismatch({ expected, found })
      ),
      Effect.flatMap((outcome) => outcome === "kept" ? Effect.void : absent(inapplicable))
    )
  }]
}

export const all = (model: Contract.Options): ReadonlyArray<Check> => Contract.contract(model).flatMap(fromCase)

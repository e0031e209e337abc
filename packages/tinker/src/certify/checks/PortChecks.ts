/** The port's rules that concern servers, tested through this package's client. */
import { Contract } from "@effect-rl/core/testing"
import * as Effect from "effect/Effect"
import { Absent, absent, type Check, Mismatch, type Theme } from "../Check.ts"

/** Why a server must satisfy the rules of a theme. Rules of other themes concern only the client. */
const themes = {
  models:
    "Runs are planned with the server's description of its models, and must learn of a wrong name before they start.",
  sampling: "A policy gradient needs samples from exactly the requested distribution.",
  logprobs: "Importance ratios compare these numbers token by token. Shifted by one position, they are noise.",
  training: "Every algorithm uses these calls, and an error in one changes the training silently.",
  losses: "A loss that is scaled or clipped by mistake changes what is learned, and no curve shows it.",
  requests: "Clients submit a step without waiting for its pass, so their order must be kept.",
  checkpoints: "A resumed run must continue as if it had not stopped."
} satisfies Partial<Record<Theme, string>>

const inapplicable =
  "the rule concerns a feature that the server does not report, its absence, or text without a tokenizer"

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

/** Audit findings as text. */
import type { Audit } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as RolloutId from "../rollouts/RolloutId.ts"
import { commandName } from "../terminal/CommandName.ts"
import * as Untrusted from "../terminal/Untrusted.ts"

/** The command that shows the first suspected transcript; none if the finding concerns no group. */
const links = (command: string, run: string, { group, members }: Audit.Finding): ReadonlyArray<string> =>
  group === undefined
    ? []
    : members.slice(0, 1).map((member) =>
      `    ${command} show ${run} --rollout ${RolloutId.format({ sequence: group.sequence, member })}`
    )

/** The lines that describe a finding, with the commands and documentation to read next. */
export const lines = Effect.fnUntraced(function*(run: string, finding: Audit.Finding) {
  const { check, detail, group, iteration, members } = finding
  const place = group === undefined
    ? ""
    : `, group ${group.key}, member${members.length === 1 ? "" : "s"} ${members.join(", ")}`
  return [
    Untrusted.show(`iteration ${iteration + 1}${place}: ${check}: ${detail}`),
    ...links(yield* commandName, run, finding)
  ]
})

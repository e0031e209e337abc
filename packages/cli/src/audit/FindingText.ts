/** A finding of an audit in words. */
import type { Audit } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as RolloutId from "../rollouts/RolloutId.ts"
import { commandName } from "../terminal/CommandName.ts"
import * as Untrusted from "../terminal/Untrusted.ts"

/** The command that shows a suspected transcript. */
const links = (command: string, run: string, { group, members }: Audit.Finding): ReadonlyArray<string> =>
  group === undefined
    ? []
    : members.slice(0, 1).map((member) =>
      `    ${command} show ${run} --rollout ${RolloutId.format({ sequence: group.sequence, member })}`
    )

/** A finding, and where to read more. */
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

/** A finding of an audit in words. */
import type { Audit } from "@effect-rl/core"
import * as RolloutId from "../rollouts/RolloutId.ts"
import * as Untrusted from "../terminal/Untrusted.ts"

/** The command that shows a suspected transcript. */
const links = (run: string, { group, members }: Audit.Finding): ReadonlyArray<string> =>
  group === undefined
    ? []
    : members.slice(0, 1).map((member) =>
      `    effect-rl show ${run} --rollout ${RolloutId.format({ sequence: group.sequence, member })}`
    )

/** What was found, and where to read it. */
export const lines = (run: string, finding: Audit.Finding): ReadonlyArray<string> => {
  const { check, detail, group, iteration, members } = finding
  const place = group === undefined
    ? ""
    : `, group ${group.key}, member${members.length === 1 ? "" : "s"} ${members.join(", ")}`
  return [Untrusted.show(`iteration ${iteration}${place}: ${check}: ${detail}`), ...links(run, finding)]
}

/** `train --audit`: shows audit findings during the run. */
import { Audit } from "@effect-rl/core/records"
import type { Sink } from "@effect-rl/export"
import * as Effect from "effect/Effect"
import { Output } from "../terminal/Output.ts"
import * as FindingText from "./FindingText.ts"

/** A sink that shows each finding as a warning and does not affect the run. `hint` says how to audit records that the sink missed. */
export const make = (hint: string): Sink.Sink<Output> => ({
  name: "audit",
  hint,
  open: Effect.fnUntraced(function*(run) {
    const output = yield* Output
    const audit = Audit.make(run)
    const tell = (finding: Audit.Finding) =>
      Effect.andThen(
        Effect.flatMap(FindingText.lines(run.name, finding), (lines) => output.lines(lines.map(output.style.warn))),
        output.record({ type: "finding", ...finding })
      )
    return {
      write: (record) => Effect.flatMap(audit(record), (findings) => Effect.forEach(findings, tell, { discard: true }))
    }
  })
})

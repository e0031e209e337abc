/** `train --audit`: what an audit finds is told while the run goes on. */
import { Audit } from "@effect-rl/core/records"
import type { Sink } from "@effect-rl/export"
import * as Effect from "effect/Effect"
import { Output } from "../terminal/Output.ts"
import * as FindingText from "./FindingText.ts"

/** Tells of each finding as a warning; nothing of the run depends on it. The hint says how what it missed is audited. */
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

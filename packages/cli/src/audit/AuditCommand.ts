/** `effect-rl audit RUN`: looks for signs that a policy exploits its reward or degenerates. */
import type { RunStore } from "@effect-rl/core"
import { Audit } from "@effect-rl/core/records"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as WholeRun from "../checkpoints/WholeRun.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as FindingText from "./FindingText.ts"
import * as Quarantine from "./Quarantine.ts"

/** The audit found something. The command fails with this error, so a CI job stops. */
export class Suspicious extends Schema.TaggedError<Suspicious>()("Suspicious", {
  run: Schema.String,
  findings: Schema.Int,
  checks: Schema.Array(Schema.String)
}) {
  override get message() {
    return `${this.run}: ${this.findings} finding${this.findings === 1 ? "" : "s"} (${
      this.checks.join(", ")
    }); read the ` +
      "transcripts before you trust its rewards"
  }
}

const flags = {
  run: Argument.String("run").pipe(Argument.withDescription("Folder of the run")),
  quarantine: Flag.String("quarantine").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription("File to write the suspected rollouts to, with the findings, as JSON lines"),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Write one JSON record per finding in place of text"),
    Flag.withDefault(false)
  )
}

const audit = Effect.fnUntraced(function*(run: RunStore.RunReader, quarantine: Option.Option<string>) {
  const output = yield* Output
  const findings = yield* Stream.runCollect(
    Stream.tap(
      Audit.run(run),
      (finding) =>
        Effect.andThen(
          Effect.flatMap(FindingText.lines(run.name, finding), output.lines),
          output.record({ type: "finding", ...finding })
        )
    )
  )
  if (Option.isSome(quarantine)) {
    const count = yield* Quarantine.write(run, findings, quarantine.value)
    yield* output.lines([`${count} suspected rollouts written to ${quarantine.value}`])
  }
  if (findings.length === 0) return yield* output.lines(["nothing found"])
  const checks = [...new Set(findings.map(({ check }) => check))]
  return yield* new Suspicious({ run: run.name, findings: findings.length, checks })
})

export const auditRun = Command.make(
  "audit",
  flags,
  ({ json, quarantine, run }) =>
    Effect.flatMap(WholeRun.open(run), (reader) => audit(reader, quarantine)).pipe(
      Effect.provide(Layer.provide(Output.layer({ json }), RunLog.layerNone))
    )
).pipe(Command.withExamples([
  {
    command: "effect-rl audit runs/arithmetic-0 --quarantine suspected.jsonl",
    description: "The suspected rollouts in a file"
  }
]))

/** The outcome of a finished run: everything that must not depend on damage to its files. */
import { RunRecord, Tinker } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { RunDirectory } from "@effect-rl/files"
import { Effect, Result, Stream } from "effect"
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** Whether a metric must equal that of an undamaged run. Times and counts of spent tokens may differ. */
const isOwn = (name: string) => !name.startsWith("time/") && !name.startsWith("tokens/")

const ownOf = (metrics: Readonly<Record<string, number>>) => Object.entries(metrics).filter(([name]) => isOwn(name))

const isTimeless = (name: string) => name !== "times" && name !== "grading"

/** A payload without its turns' times, if it is JSON. */
const untimed = (payload: string) =>
  Result.getOrElse(
    Result.try(() => JSON.stringify(JSON.parse(payload, (name, value) => isTimeless(name) ? value : undefined))),
    () => payload
  )

const describe = (record: RunRecord.RunRecord): unknown => {
  switch (record._tag) {
    case "GroupRolledOut":
      return [record.iteration, record.step, record.key, record.rewards, record.members, record.outcome, record.tags]
    case "Credited":
      return [record.iteration, record.groups, record.datums]
    case "Updated":
      return [
        record.iteration,
        ownOf(record.metrics),
        record.reward,
        record.updates.map(({ learningRate, metrics, passes }) => [learningRate, metrics, passes])
      ]
    case "Saved":
      return [record.iteration, record.name, record.kind, record.optimizerSteps, record.cursor]
    case "Finished":
      return [record.iteration, record.reason]
    default:
      return undefined
  }
}

const stateFiles = ["adapter_model.safetensors", "optimizer.safetensors"]

const prompt = ModelInput.fromTokens(Array.from({ length: 24 }, (_, index) => 40 + index))

const hash = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex")

export interface Outcome {
  /** The records that count, without their times and places, and the final weights. */
  readonly lines: ReadonlyArray<string>
  /** Payloads of the groups, by iteration and key. A damaged payload is marked as such. */
  readonly payloads: ReadonlyMap<string, string>
  readonly warnings: ReadonlyArray<string>
}

export const unreadable = "unreadable"

/** Weights and optimizer state of the last checkpoint, both as the backend loads them and as they are stored. */
const weights = Effect.fnUntraced(function*({ samplerPath, statePath }: RunRecord.Saved, checkpoints: string) {
  const tinker = yield* Tinker.Tinker
  const sampler = yield* tinker.createSamplingClient({ modelPath: samplerPath ?? statePath })
  const logprobs = yield* sampler.computeLogprobs(prompt)
  const folder = join(checkpoints, statePath.replace("engine://", ""))
  const files = existsSync(folder) ? stateFiles.map((name) => hash(join(folder, name))) : []
  return JSON.stringify(["weights", Array.from(logprobs), files])
}, Effect.scoped)

export const read = Effect.fnUntraced(function*(folder: string, checkpoints: string) {
  const reader = yield* RunDirectory.open(folder)
  const records = yield* Stream.runCollect(reader.read)
  const current = RunRecord.current(records)
  const payloads = new Map<string, string>()
  for (
    const { iteration, key, payload = { offset: 0, length: 0 } } of current.filter(RunRecord.guards.GroupRolledOut)
  ) {
    const text = yield* Effect.match(reader.payload(payload), { onFailure: () => unreadable, onSuccess: untimed })
    payloads.set(`${iteration} ${key}`, text)
  }
  const lines = current.flatMap((record) => {
    const told = describe(record)
    return told === undefined ? [] : [JSON.stringify([record._tag, told])]
  })
  const last = current.findLast(RunRecord.guards.Saved)
  const outcome: Outcome = {
    lines: [...lines.toSorted(), last === undefined ? "no weights" : yield* weights(last, checkpoints)],
    payloads,
    warnings: records.filter(RunRecord.guards.Warning).map(({ message }) => message)
  }
  return outcome
})

/** The first difference from the run that was neither killed nor damaged. */
export const difference = (whole: Outcome, found: Outcome): string | undefined => {
  const line = whole.lines.findIndex((line, index) => line !== found.lines[index])
  if (line >= 0) return `${found.lines[line]} in place of ${whole.lines[line]}`
  if (found.lines.length > whole.lines.length) return `${found.lines[whole.lines.length]} was added`
  for (const [group, payload] of whole.payloads) {
    const read = found.payloads.get(group)
    if (read !== payload && read !== unreadable) return `group ${group} has ${read} in place of ${payload}`
  }
  return undefined
}

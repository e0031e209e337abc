/** The checkpoints of a run: when one is due, and its place in the run's records. */
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Checkpoints from "./Checkpoints.ts"
import * as RunState from "./RunState.ts"

/** The kind of checkpoint that is due after `done` iterations; the last one is saved when the run ends. */
export const due = <EE, ER>(
  { iterations, settings: { rollingSaveEvery, saveEvery } }: RunState.RunState<EE, ER>,
  done: number
): "periodic" | "rolling" | undefined => {
  const isEvery = (every: number) => every > 0 && done % every === 0
  if (done >= iterations) return undefined
  return isEvery(saveEvery) ? "periodic" : isEvery(rollingSaveEvery) ? "rolling" : undefined
}

/** Saves the weights where the run stands, records the checkpoint and gives its path. */
export const save = Effect.fnUntraced(function*<EE, ER>(run: RunState.RunState<EE, ER>, kind: Checkpoints.Kind) {
  const { position } = yield* Ref.get(run.status)
  const { rollingSaveTtl, saveTtl } = run.settings
  const ttl = kind === "rolling" ? rollingSaveTtl : saveTtl
  const { note, path } = yield* Checkpoints.save(run.client, position, kind, ttl)
  yield* run.ledger.append(note)
  yield* RunState.update(run, { saved: { iteration: position.iteration, path } })
  return path
})

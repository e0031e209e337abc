/** What a streamed iteration was made of, and its report. */
import type { GroupResult } from "../rollout/GroupResult.ts"
import type * as Program from "../run/Program.ts"
import * as Batch from "./Batch.ts"
import * as GroupQueue from "./GroupQueue.ts"
import * as Learning from "./Learning.ts"
import * as Minibatch from "./Minibatch.ts"
import type * as Scheduled from "./Scheduled.ts"
import * as Staleness from "./Staleness.ts"

export interface StreamedUpdate {
  readonly iteration: number
  readonly minibatches: ReadonlyArray<Minibatch.Minibatch>
  readonly aside: ReadonlyArray<GroupQueue.Aside>
  /** Groups that began while it was being made. */
  readonly wave: GroupQueue.Wave
  /** Time from the iteration's beginning until its last groups were credited. */
  readonly seconds: number
}

/** The results of those groups that have ended. */
export const resultsOf = (
  groups: ReadonlyArray<{ readonly result?: GroupQueue.Ended["result"] }>
): ReadonlyArray<GroupResult> => groups.flatMap(({ result }) => result ?? [])

const takenBy = (minibatches: ReadonlyArray<Minibatch.Minibatch>) => minibatches.flatMap(({ taken }) => taken)

/** The results of the groups that it trains on. */
export const results = ({ minibatches }: Pick<StreamedUpdate, "minibatches">) => resultsOf(takenBy(minibatches))

/** The results of the groups that were put aside meanwhile. */
export const discarded = ({ aside }: Pick<StreamedUpdate, "aside">) => resultsOf(aside.map(({ group }) => group))

/** The numbers of the iteration, and the records of what it was made of. */
export const report = <E, R, CE, CR>(
  { options, settings: { maxStepsOffPolicy } }: Pick<Scheduled.Running<E, R, CE, CR>, "options" | "settings">,
  update: StreamedUpdate,
  outputs: ReadonlyArray<Program.UpdateOutput>
): Program.Report => {
  const { aside, iteration, minibatches, seconds, wave } = update
  const groups = minibatches.flatMap(({ groups }) => groups)
  const steps = Array.from({ length: options.substeps }, (_, substep) => Minibatch.dataIn(minibatches, substep))
  const aged = { iteration, groups: takenBy(minibatches), aside }
  const learned = {
    iteration,
    results: results(update),
    aside: discarded(update),
    seconds,
    groups,
    data: steps.flat(),
    metrics: { ...Minibatch.meanMetrics(minibatches), ...Staleness.measure(aged, maxStepsOffPolicy) }
  }
  const reported = Learning.report(options, learned, outputs)
  return {
    ...reported,
    notes: [
      ...GroupQueue.begun(iteration, wave),
      { entry: Staleness.annotate(Batch.credited(iteration, groups, steps), aged) }
    ]
  }
}

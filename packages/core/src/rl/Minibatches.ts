/** The minibatches of a streamed iteration: its groups as they end, credited part by part. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type * as Pass from "../run/Pass.ts"
import type * as Program from "../run/Program.ts"
import * as Batch from "./Batch.ts"
import * as Learning from "./Learning.ts"
import * as Minibatch from "./Minibatch.ts"
import type * as Scheduled from "./Scheduled.ts"
import * as StreamedUpdate from "./StreamedUpdate.ts"
import type { Error } from "./Synchronous.ts"
import * as UpdateParts from "./UpdateParts.ts"

/** The passes of an iteration's optimizer steps, and its report when they are done. */
export const make = Effect.fnUntraced(function*<E, R, CE, CR>(
  running: Scheduled.Running<E, R, CE, CR>,
  iteration: number
) {
  const { memory, options, queue, settings: { minibatches: perStep = 1 }, weights } = running
  const startedAt = yield* Clock.currentTimeMillis
  const parts = options.substeps * perStep
  const groups = UpdateParts.make(queue, parts)
  const made: Array<Minibatch.Minibatch> = []
  let update: StreamedUpdate.StreamedUpdate = {
    iteration,
    minibatches: made,
    aside: [],
    wave: { step: 0, groups: [] },
    seconds: 0
  }

  const end = Effect.gen(function*() {
    const aside = yield* queue.aside
    const wave = yield* queue.wave
    const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
    update = { ...update, aside, wave, seconds }
    const results = [...StreamedUpdate.results(update), ...StreamedUpdate.discarded(update)]
    yield* Learning.checkResults(options, { iteration, results })
  })

  const pass = Effect.fnUntraced(function*(substep: number, part: number) {
    const taken = yield* groups.take(part)
    const assigned = yield* options.credit.assign(StreamedUpdate.resultsOf(taken), yield* Ref.get(memory))
    yield* Ref.set(memory, assigned.memory)
    const minibatch = { substep, taken, groups: Batch.trainable(assigned.groups), metrics: assigned.metrics }
    made.push(minibatch)
    if (part === parts - 1) yield* end
    const data = Minibatch.data(minibatch)
    return Arr.isReadonlyArrayNonEmpty(data) ? yield* options.loss.passes([data], weights) : []
  })

  const passes = (substep: number): Stream.Stream<Pass.Pass, E | CE | Error, R | CR> =>
    Stream.range(substep * perStep, (substep + 1) * perStep - 1).pipe(
      Stream.mapEffect((part) => pass(substep, part)),
      Stream.flattenIterable
    )

  return {
    passes,
    report: (outputs: ReadonlyArray<Program.UpdateOutput>) => StreamedUpdate.report(running, update, outputs)
  }
})

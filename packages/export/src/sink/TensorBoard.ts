/** TensorBoard event files, which W&B (`wandb sync`), Aim and SwanLab can also read. */
import type { RunRecord } from "@effect-rl/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as FileSink from "./FileSink.ts"
import * as Scalars from "./Scalars.ts"
import type { Sink } from "./Sink.ts"
import * as HParams from "./tensorboard/HParams.ts"
import * as Protobuf from "./tensorboard/Protobuf.ts"
import * as RecordFrame from "./tensorboard/RecordFrame.ts"

/** A TensorFlow `Event`. Fields: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log. */
const event = (milliseconds: number, step: number, fields: ReadonlyArray<Uint8Array>) =>
  RecordFrame.frame(Protobuf.encode([Protobuf.double(1, milliseconds / 1000), Protobuf.whole(2, step), ...fields]))

const fileVersion = (milliseconds: number) => event(milliseconds, 0, [Protobuf.text(3, "brain.Event:2")])

/** A `SessionLog` with status START. TensorBoard then drops earlier files' values for this step and later steps. */
const sessionStart = (milliseconds: number, step: number) =>
  event(milliseconds, step, [Protobuf.message(7, [Protobuf.whole(1, 1)])])

const scalar = (name: string, value: number) => Protobuf.message(1, [Protobuf.text(1, name), Protobuf.float(2, value)])

const summary = ({ at, step, values }: Scalars.Scalars) =>
  event(at, step, [Protobuf.message(5, Object.entries(values).map(([name, value]) => scalar(name, value)))])

/** An event for the HParams page, which has no step. */
const settings = (milliseconds: number, value: Uint8Array) => event(milliseconds, 0, [Protobuf.message(5, [value])])

const eventsOf = (record: RunRecord.RunRecord): ReadonlyArray<Uint8Array> => {
  switch (record._tag) {
    case "Opened": {
      const start = sessionStart(record.at, record.iteration)
      return record.iteration === 0 ? [start, settings(record.at, HParams.start(record))] : [start]
    }
    case "Finished":
    case "Failed":
      return [settings(record.at, HParams.end(record))]
    default: {
      const scalars = Scalars.of(record)
      return scalars === undefined ? [] : [summary(scalars)]
    }
  }
}

export interface Place {
  /** TensorBoard's log folder, which many runs may share. */
  readonly folder: string
  /** The run's name, and its subfolder in `folder`. */
  readonly run: string
}

/**
 * Writes metrics, rewards and evaluations as scalars into a new event file in the run's folder, with the iteration as step. Also writes the
 * run's settings for the HParams page. A resumed run retracts the steps that it abandoned.
 *
 * @example
 * const sink = Sink.layer(TensorBoard.make({ folder: "runs/tensorboard", run: "sums" }))
 *
 * @see tinker-cookbook `ml_log`
 */
export const make = ({ folder, run }: Place): Sink<FileSink.Files> => ({
  name: "tensorboard",
  open: Effect.fnUntraced(function*() {
    const path = yield* Path.Path
    const now = yield* Clock.currentTimeMillis
    const name = `events.out.tfevents.${String(Math.floor(now / 1000)).padStart(10, "0")}.effect-rl.${process.pid}.${
      now % 1000
    }`
    const append = yield* FileSink.appender("tensorboard", path.join(folder, run, name))
    yield* append(fileVersion(now))
    return {
      write: (record) => Effect.forEach(eventsOf(record), append, { discard: true })
    }
  })
})

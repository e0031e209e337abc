/** Event files of TensorBoard, which W&B (`wandb sync`), Aim and SwanLab read as well. */
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

/** An `Event` of TensorFlow: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log. */
const event = (milliseconds: number, step: number, fields: ReadonlyArray<Uint8Array>) =>
  RecordFrame.frame(Protobuf.encode([Protobuf.double(1, milliseconds / 1000), Protobuf.whole(2, step), ...fields]))

const fileVersion = (milliseconds: number) => event(milliseconds, 0, [Protobuf.text(3, "brain.Event:2")])

/** `SessionLog` with the status START: TensorBoard drops what earlier files say of this step and later ones. */
const sessionStart = (milliseconds: number, step: number) =>
  event(milliseconds, step, [Protobuf.message(7, [Protobuf.whole(1, 1)])])

const scalar = (name: string, value: number) => Protobuf.message(1, [Protobuf.text(1, name), Protobuf.float(2, value)])

const summary = ({ at, step, values }: Scalars.Scalars) =>
  event(at, step, [Protobuf.message(5, Object.entries(values).map(([name, value]) => scalar(name, value)))])

/** An event of the HParams page, which has no step. */
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
  /** The folder that TensorBoard is started on; many runs may share it. */
  readonly folder: string
  /** Name of the run, which has a folder of its own in it. */
  readonly run: string
}

/**
 * Writes metrics, rewards and evaluations as scalars into a new event file of the run's folder, with the iteration as step, and the run's
 * settings for the HParams page. A resumed run takes back the steps that it abandoned.
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

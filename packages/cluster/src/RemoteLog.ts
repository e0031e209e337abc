/** Sends a worker's log to the process that asked it to roll out a group. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Formatter from "effect/Formatter"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as Schema from "effect/Schema"

/** One log line. `at` is the worker's time in milliseconds since the epoch. */
export const Line = Schema.Struct({
  level: Schema.Literals(["Trace", "Debug", "Info", "Warn", "Error", "Fatal"]),
  message: Schema.String,
  annotations: Schema.Record(Schema.String, Schema.String),
  at: Schema.Finite
})
export type Line = typeof Line.Type

const isLevel = Schema.is(Line.fields.level)

const text = (value: unknown) => typeof value === "string" ? value : Formatter.format(value)

const line = ({ cause, date, fiber, logLevel, message }: Logger.Options<unknown>): Line => {
  const parts = Array.isArray(message) ? message.map(text) : [text(message)]
  const failure = cause.reasons.length > 0 ? [Cause.pretty(cause)] : []
  const annotations = fiber.getRef(References.CurrentLogAnnotations)
  return {
    level: isLevel(logLevel) ? logLevel : "Info",
    message: [...parts, ...failure].join(" "),
    annotations: Object.fromEntries(Object.entries(annotations).map(([name, value]) => [name, text(value)])),
    at: date.getTime()
  }
}

/** Passes the log of an effect to `take` instead of the worker's own terminal. */
export const divert = (take: (line: Line) => void) =>
  Effect.provide(Logger.layer([Logger.make((options) => take(line(options)))]))

/** Logs a worker's line in this process, with the worker's name. */
export const replay = (worker: string, { annotations, at, level, message }: Line) =>
  Effect.logWithLevel(level)(message).pipe(
    Effect.annotateLogs({ ...annotations, worker, at: new Date(at).toISOString() })
  )

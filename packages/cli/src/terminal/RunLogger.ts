/** Prints the library's log messages as lines of the run's output. */
import * as Arr from "effect/Array"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { Output } from "./Output.ts"
import * as Untrusted from "./Untrusted.ts"

const textOf = ({ logLevel, message }: Logger.Options<unknown>) => {
  const parts = Arr.ensure(message).map((part) => typeof part === "string" ? part : JSON.stringify(part))
  const name = logLevel === "Warn" ? "warning" : logLevel.toLowerCase()
  return `${logLevel === "Info" ? "" : `${name}: `}${Untrusted.showLines(parts.join(" "))}`
}

/** Loggers cannot wait, so messages are queued. The queue is drained at the end, after the last finalizers. */
const make = Effect.gen(function*() {
  const output = yield* Output
  const queue = yield* Queue.unbounded<string, Cause.Done>()
  const writing = yield* Stream.fromQueue(queue).pipe(
    Stream.runForEach((line) => output.lines([line])),
    Effect.forkScoped
  )
  yield* Effect.addFinalizer(() => Effect.andThen(Queue.end(queue), Fiber.await(writing)))
  return Logger.make<unknown, void>((options) => {
    Queue.offerUnsafe(queue, textOf(options))
  })
})

/** Replaces Effect's console logger. */
export const layer: Layer.Layer<never, never, Output> = Logger.layer([make])

/** The Python process that computes. It lives until its scope closes, and every command is answered or fails. */
import { TinkerError } from "@effect-rl/core"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Answer from "./Answer.ts"
import * as Frame from "./Frame.ts"

/** A command: its name, fields and arrays. */
export interface Command {
  readonly op: string
  readonly fields?: Readonly<Record<string, unknown>>
  readonly arrays?: Frame.Arrays
}

/** An answer, decoded by its schema, with its arrays. */
export interface Answered<A> {
  readonly header: A
  readonly arrays: Frame.Arrays
}

/** The process after it has loaded the model. */
export interface PythonProcess {
  readonly ready: Answer.Ready
  /** Sends a command and waits for its answer. Interrupting a `sample` command cancels it in the process. */
  readonly ask: <S extends Schema.Top & { readonly DecodingServices: never }>(
    schema: S,
    command: Command
  ) => Effect.Effect<Answered<S["Type"]>, TinkerError.Reason>
  /** Fails once the process has ended, has written an invalid frame, or has been closed with its scope. */
  readonly health: Effect.Effect<void, TinkerError.Unavailable>
}

/** The number of stderr lines that an error shows when the process ends. */
const shownLines = 5

/** How long the process may take to end when it is asked to, before it is killed. */
const patience = "5 seconds"

type Waiting = Deferred.Deferred<Frame.Frame, TinkerError.Reason>

/** Unanswered commands, and the failure of the process once it has ended. */
class Calls {
  readonly #waiting = new Map<number, Waiting>()
  #next = 0
  #failure: TinkerError.Unavailable | undefined

  readonly health = Effect.suspend(() => this.#failure === undefined ? Effect.void : Effect.fail(this.#failure))

  begin(): readonly [id: number, answer: Waiting] {
    const answer: Waiting = Deferred.makeUnsafe()
    const id = this.#next++
    this.#waiting.set(id, answer)
    return [id, answer]
  }

  forget(id: number) {
    return this.#waiting.delete(id)
  }

  settle(frame: Frame.Frame) {
    const id = Number(frame.header["id"])
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (waiting === undefined) return Effect.void
    return Answer.isRefusal(frame.header)
      ? Deferred.fail(waiting, Answer.reasonOf(frame.header))
      : Deferred.succeed(waiting, frame)
  }

  end(detail: string) {
    const failure = this.#failure ??= new TinkerError.Unavailable({ detail })
    const left = [...this.#waiting.values()]
    this.#waiting.clear()
    return Effect.forEach(left, (waiting) => Deferred.fail(waiting, failure), { discard: true })
  }
}

const cannotStart = (python: string) => (error: PlatformError) =>
  new TinkerError.Unavailable({
    detail: error.reason._tag === "NotFound"
      ? `there is no Python "${python}": install Python 3.11 or later, or name one, such as that of a virtual environment`
      : `Python "${python}" cannot be started: ${error.message}`
  })

/** The process wrote bytes that are not a frame. */
class NoFrame extends Data.TaggedError("NoFrame")<{ readonly detail: string }> {}

const nextFrames = (rest: Frame.Rest, piece: Uint8Array) =>
  Effect.try({
    try: () => Frame.next(rest, piece),
    catch: (cause) => new NoFrame({ detail: cause instanceof Error ? cause.message : String(cause) })
  })

const ended = (code: string, lines: ReadonlyArray<string>) =>
  `the Python process ended with ${code}${lines.length === 0 ? "" : `: ${lines.join(" | ")}`}`

/** Starts the process and waits until it has loaded its model. */
export const make = Effect.fnUntraced(function*(python: string, options: Readonly<Record<string, unknown>>) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const path = yield* Path.Path
  const script = yield* Effect.orDie(path.fromFileUrl(new URL("../../python/backend.py", import.meta.url)))
  const frames = yield* Queue.unbounded<Uint8Array>()
  const command = ChildProcess.make(python, [script, JSON.stringify(options)], {
    stdin: Stream.fromQueue(frames),
    forceKillAfter: patience
  })
  const child = yield* Effect.mapError(spawner.spawn(command), cannotStart(python))
  const calls = new Calls()
  // Clients may outlive the backend. Their calls then fail, and deleting an adapter has no effect.
  yield* Effect.addFinalizer(() => calls.end("the scope of the backend closed"))
  const lines: Array<string> = []

  const read = child.stdout.pipe(
    Stream.mapAccumEffect(() => Frame.nothing, nextFrames),
    Stream.runForEach((frame) => calls.settle(frame)),
    // The process can no longer be used; without this, it would keep the GPU's memory until the scope closes.
    Effect.catchTag(
      "NoFrame",
      ({ detail }) =>
        Effect.andThen(
          calls.end(`the Python process wrote something other than an answer: ${detail}`),
          child.kill({ forceKillAfter: patience })
        )
    )
  )
  const log = child.stderr.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.filter((line) => line.trim() !== ""),
    Stream.runForEach((line) => {
      lines.push(line)
      if (lines.length > shownLines) lines.shift()
      return Effect.logDebug(line)
    })
  )
  const code = Effect.match(child.exitCode, {
    onSuccess: (code) => `code ${code}`,
    onFailure: ({ message }) => message
  })
  yield* Effect.all([Effect.ignore(read), Effect.ignore(log)], { concurrency: 2, discard: true }).pipe(
    Effect.andThen(code),
    Effect.flatMap((code) => calls.end(ended(code, lines))),
    Effect.forkScoped
  )

  const wait = Effect.fnUntraced(
    function*<S extends Schema.Top & { readonly DecodingServices: never }>(schema: S, answer: Waiting) {
      const { arrays, header } = yield* Deferred.await(answer)
      return { arrays, header: yield* Effect.orDie(Schema.decodeUnknownEffect(schema)(header)) }
    }
  )

  const ask: PythonProcess["ask"] = Effect.fnUntraced(function*(schema, { arrays = {}, fields, op }) {
    yield* calls.health
    const [id, answer] = calls.begin()
    Queue.offerUnsafe(frames, Frame.encode({ header: { id, op, ...fields }, arrays }))
    return yield* Effect.onInterrupt(wait(schema, answer), () =>
      Effect.sync(() => {
        calls.forget(id)
        if (op === "sample") {
          Queue.offerUnsafe(frames, Frame.encode({ header: { op: "cancel", id, of: id }, arrays: {} }))
        }
      }))
  })

  const [, first] = calls.begin()
  const { header: ready } = yield* wait(Answer.Ready, first)
  return { ready, ask, health: calls.health } satisfies PythonProcess
})

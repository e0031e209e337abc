/** Runs the command line in this process, and returns what it prints and how it ends. */
import { Failure, Invocation, Root } from "@effect-rl/cli"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { type Cause, Effect, type Exit, FileSystem, Layer, Option, Path, Queue, Stdio, Stream, Terminal } from "effect"
import { TerminalCapabilities } from "effect/cli"
import { TestConsole } from "effect/testing"

export interface Ran {
  readonly exit: Exit.Exit<void, unknown>
  readonly out: ReadonlyArray<string>
  readonly errors: ReadonlyArray<string>
}

const noTerminal = Layer.succeed(
  TerminalCapabilities.TerminalCapabilities,
  { canAnimate: false, canColor: false, canPrompt: false }
)

/** A terminal that records in `displayed` what is shown outside of printed lines. */
export const displayTo = (displayed: Array<string>, columns: number) =>
  Layer.effect(
    Terminal.Terminal,
    Effect.map(Terminal.Terminal, (terminal) =>
      Terminal.make({
        ...terminal,
        columns: Effect.succeed(columns),
        display: (text) => Effect.sync(() => displayed.push(text))
      }))
  ).pipe(Layer.provide(NodeServices.layer))

const environment = Layer.mergeAll(NodeServices.layer, Invocation.layer, noTerminal)

const runAt = <A>(place: Layer.Layer<A>, args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(Failure.report(Root.run("1.2.3")(args)))
    // On a busy machine the test clock logs a warning if no test adjusts it for a second.
    const lines = (all: ReadonlyArray<unknown>) =>
      all.map(String).filter((line) => !line.includes("A test is using time"))
    const ran: Ran = {
      exit,
      out: lines(yield* TestConsole.logLines),
      errors: lines(yield* TestConsole.errorLines)
    }
    return ran
  }).pipe(
    Effect.provide(place),
    Effect.provide(environment),
    Effect.provide(TestConsole.layer)
  )

const reading = (input: string) => Stdio.layerTest({ stdin: Stream.encodeText(Stream.make(input)) })

/** Runs `effect-rl` with these arguments and this input. Live output goes to the given terminal. */
export const runOn = (terminal: Layer.Layer<Terminal.Terminal>) => (input: string, ...args: ReadonlyArray<string>) =>
  runAt(Layer.merge(reading(input), terminal), args)

/** Runs `effect-rl` with these arguments and this input. Its output is not a terminal. */
export const runWithInput = runOn(displayTo([], 80))

/** Runs `effect-rl` with these arguments and no input. Its output is not a terminal. */
export const run = (...args: ReadonlyArray<string>) => runWithInput("", ...args)

const keyboard = (keys: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const typed = yield* Queue.unbounded<Terminal.UserInput, Cause.Done>()
    for (const name of keys) {
      yield* Queue.offer(typed, { input: Option.some(name), key: { name, ctrl: false, meta: false, shift: false } })
    }
    return typed
  })

/** Runs `effect-rl` with these arguments at a terminal, where a person presses these keys. */
export const runAtTerminal = (keys: ReadonlyArray<string>, ...args: ReadonlyArray<string>) =>
  runAt(
    Layer.merge(
      Layer.succeed(TerminalCapabilities.TerminalCapabilities, { canAnimate: false, canColor: false, canPrompt: true }),
      Layer.effect(
        Terminal.Terminal,
        Effect.map(Terminal.Terminal, (terminal) =>
          Terminal.make({ ...terminal, readInput: keyboard(keys), display: () => Effect.void }))
      ).pipe(Layer.provide(NodeServices.layer))
    ),
    args
  )

/** A new, empty folder, which is removed after the test. */
export const emptyFolder = FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped()).pipe(
  Effect.provide(NodeServices.layer)
)

/** A folder for a run, deleted with the scope. */
export const runFolder = Effect.gen(function*() {
  const path = yield* Path.Path
  return path.join(yield* emptyFolder, "run")
}).pipe(Effect.provide(NodeServices.layer))

/** Flags of a short run on the mock backend: two problems per iteration and no evaluations. */
export const short = [
  "train",
  "arithmetic",
  "--backend",
  "mock",
  "--groups-per-batch",
  "2",
  "--group-size",
  "4",
  "--eval-every",
  "0"
]

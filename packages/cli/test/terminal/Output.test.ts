import * as CliOutput from "@effect-rl/cli/terminal/Output"
import * as RunLog from "@effect-rl/cli/terminal/RunLog"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TerminalCapabilities } from "effect/cli"
import { TestConsole } from "effect/testing"
import * as CommandLine from "../CommandLine.ts"

interface Session {
  readonly live?: string
  readonly json?: boolean
  readonly canAnimate?: boolean
  readonly canColor?: boolean
}

/** The live output, the printed lines and the lines of the log file of a short session. */
const tell = ({ canAnimate = false, canColor = false, json = false, live = "sampling for a while" }: Session) =>
  Effect.gen(function*() {
    const displayed: Array<string> = []
    const logged: Array<string> = []
    const log = Layer.succeed(RunLog.RunLog, {
      append: (lines) => Effect.sync(() => void logged.push(...lines))
    })
    const layer = CliOutput.Output.layer({ json }).pipe(
      Layer.provide(Layer.mergeAll(
        log,
        CommandLine.displayTo(displayed, 10),
        Layer.succeed(TerminalCapabilities.TerminalCapabilities, { canAnimate, canColor, canPrompt: false })
      ))
    )
    yield* Effect.gen(function*() {
      const output = yield* CliOutput.Output
      yield* output.live(live)
      yield* output.lines([output.style.bold("one"), "two"])
      yield* output.record({ type: "event" })
    }).pipe(Effect.provide(layer))
    return { displayed, logged, lines: yield* TestConsole.logLines }
  }).pipe(Effect.provide(TestConsole.layer))

const erased = "\r\u001b[2K"

describe("Output", () => {
  it.effect("only appends lines if the output is not a terminal", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* tell({}), { displayed: [], logged: ["one", "two"], lines: ["one", "two"] })
    }))

  it.effect("keeps the live line last on a terminal, cuts it to the width, and erases it at the end", () =>
    Effect.gen(function*() {
      const { displayed } = yield* tell({ canAnimate: true })
      assert.deepStrictEqual(displayed, [`${erased}sampling `, erased, `${erased}sampling `, erased])
    }))

  it.effect("keeps several live lines last, and erases all of them", () =>
    Effect.gen(function*() {
      const { displayed } = yield* tell({ canAnimate: true, live: "reward up\nsampling for a while" })
      const both = "\r\u001b[1A\u001b[0J"
      const shown = "reward up\nsampling "
      assert.deepStrictEqual(displayed, [`${erased}${shown}`, both, `${erased}${shown}`, both])
    }))

  it.effect("colours lines on a terminal that supports it, but never in the log", () =>
    Effect.gen(function*() {
      const { lines, logged } = yield* tell({ canColor: true })
      assert.deepStrictEqual(lines, ["\u001b[1mone\u001b[0m", "two"])
      assert.deepStrictEqual(logged, ["one", "two"])
    }))

  it.effect("writes only records in JSON mode", () =>
    Effect.gen(function*() {
      const { displayed, lines, logged } = yield* tell({ json: true, canAnimate: true, canColor: true })
      assert.deepStrictEqual(lines, ["{\"type\":\"event\"}"])
      assert.deepStrictEqual([displayed, logged], [[], ["one", "two"]])
    }))
})

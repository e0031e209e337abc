/** A person at the terminal as the policy. */
import type { ModelInput, Policy, Sampling } from "@effect-rl/core"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import { Output } from "../terminal/Output.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import { tokenizer } from "./CodePoints.ts"

/** There is nothing more to read: the person is done. */
export class Left extends Schema.TaggedError<Left>()("Left", {}) {
  override get message() {
    return "the input has ended"
  }
}

/** Lines of standard input. */
type Lines = Queue.Dequeue<string, Cause.Done>

const nextLine = (lines: Lines) => Effect.mapError(Queue.take(lines), () => new Left())

/** One line, and those after it where a line ends in a backslash. */
const answer = (lines: Lines): Effect.Effect<string, Left> =>
  Effect.flatMap(nextLine(lines), (line) =>
    line.endsWith("\\")
      ? Effect.map(answer(lines), (rest) => `${line.slice(0, -1)}\n${rest}`)
      : Effect.succeed(line))

const sampled = (text: string, [stop]: Sampling.Stop): Sampling.SampledTokens => {
  const end = stop === undefined ? [] : typeof stop === "number" ? [stop] : tokenizer.encode(stop)
  const tokens = Int32Array.of(...tokenizer.encode(text, { splitSpecialTokens: true }), ...end)
  return { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" }
}

const textOf = ({ chunks }: ModelInput.ModelInput) =>
  chunks.map((chunk) => chunk._tag === "Image" ? "[image]" : tokenizer.decode(chunk.tokens)).join("")

/** The lines after those that were on show already. */
const unseen = (before: ReadonlyArray<string>, lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const changed = lines.findIndex((line, index) => line !== before[index])
  return changed > 0 ? ["…", ...lines.slice(changed)] : lines
}

const hint = "Answer in one line; end a line with \\ to go on in the next. Ctrl-D leaves."

/** Shows each prompt, escaped, and reads what to say. Fails as `Left` at the end of standard input. */
export const make = Effect.gen(function*() {
  const { stdin, stdinIsTerminal } = yield* Stdio.Stdio
  const output = yield* Output
  const terminal = yield* Terminal.Terminal
  const isTerminal = yield* stdinIsTerminal
  const lines = yield* stdin.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.orDie,
    Stream.toQueue({ capacity: 16 })
  )
  if (isTerminal) yield* output.lines([output.style.dim(hint), ""])
  const before = new Map<number, ReadonlyArray<string>>()
  const ask = Effect.gen(function*() {
    if (isTerminal) yield* Effect.ignore(terminal.display("> "))
    const text = yield* answer(lines)
    if (!isTerminal) yield* output.lines(`> ${Untrusted.showLines(text)}`.split("\n"))
    return text
  })
  const person: Policy.Policy<Left> = {
    act: Effect.fnUntraced(function*({ key, prompt, stop }) {
      const lines = Untrusted.showLines(textOf(prompt)).split("\n")
      yield* output.lines(unseen(key.turn === 0 ? [] : before.get(key.member) ?? [], lines).map(output.style.dim))
      const text = yield* ask
      before.set(key.member, lines)
      return sampled(text, stop)
    })
  }
  return person
})

/** A person at the terminal as the policy. */
import type { Message, Policy } from "@effect-rl/core"
import type { ModelInput, Sampling } from "@effect-rl/core/backend"
import type { Renderer } from "@effect-rl/core/renderers"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import { Output } from "../terminal/Output.ts"
import * as Speech from "../terminal/Speech.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import { tokenizer } from "./CodePoints.ts"
import type { Rendered } from "./Rendered.ts"

/** Standard input has ended, so the person is done. */
export class Left extends Schema.TaggedError<Left>()("Left", {}) {
  override get message() {
    return "the input has ended"
  }
}

/** Lines of standard input. */
type Lines = Queue.Dequeue<string, Cause.Done>

const nextLine = (lines: Lines) => Effect.mapError(Queue.take(lines), () => new Left())

/** Reads one answer. A line that ends in a backslash continues on the next line. */
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

export const textOf = ({ chunks }: ModelInput.ModelInput) =>
  chunks.map((chunk) => chunk._tag === "Image" ? "[image]" : tokenizer.decode(chunk.tokens)).join("")

/** The lines that have not been shown yet. */
const unseen = (before: ReadonlyArray<string>, lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const changed = lines.findIndex((line, index) => line !== before[index])
  return changed > 0 ? ["…", ...lines.slice(changed)] : lines
}

const hint = "Answer in one line; end a line with \\ to continue on the next. Ctrl-D quits."

/** A person's policy, and each member's conversation up to the last answer. */
export interface Person {
  readonly policy: Policy.Policy<Left | Renderer.RendererError>
  readonly saidBy: (member: number) => ReadonlyArray<Message.Message>
}

/** Parses an answer as the model's renderer does, and prints the parsed parts if any of them is not text. */
const understood = Effect.fnUntraced(function*(rendered: Rendered, prompt: string, { tokens }: Sampling.SampledTokens) {
  const output = yield* Output
  const conversation = rendered.conversationOf(prompt)
  const reading = rendered.renderer.stream(conversation)
  const first = reading.push(tokens)
  const { deltas, parsed } = yield* reading.end
  const said = [...first, ...deltas]
  if (said.some(({ _tag }) => _tag !== "Text")) yield* output.lines(Speech.text(said, output.style).split("\n"))
  return [...conversation, parsed.message]
})

/** A policy that shows each prompt, escaped, and reads the answer. Fails with `Left` at the end of standard input. */
export const make = Effect.fnUntraced(function*(rendered: Rendered) {
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
  const said = new Map<number, ReadonlyArray<Message.Message>>()
  const person: Person = {
    saidBy: (member) => said.get(member) ?? [],
    policy: {
      act: Effect.fnUntraced(function*({ key, prompt, stop }) {
        const shown = textOf(prompt)
        const lines = Untrusted.showLines(shown).split("\n")
        yield* output.lines(unseen(key.turn === 0 ? [] : before.get(key.member) ?? [], lines).map(output.style.dim))
        const answer = sampled(yield* ask, stop)
        before.set(key.member, lines)
        said.set(key.member, yield* Effect.provideService(understood(rendered, shown, answer), Output, output))
        return answer
      })
    }
  }
  return person
})

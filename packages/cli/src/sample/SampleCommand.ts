/** `effect-rl sample PROMPT`: samples answers to one prompt. */
import { Message } from "@effect-rl/core"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SubjectFlags from "../eval/SubjectFlags.ts"
import * as Help from "../Help.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as RunLogger from "../terminal/RunLogger.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as SampleFlags from "./SampleFlags.ts"
import * as Talker from "./Talker.ts"

const flags = {
  prompt: Argument.String("prompt").pipe(Argument.withDescription("What a user would say")),
  n: SampleFlags.number,
  ...SampleFlags.flags
}

const cut = ({ stopReason }: Talker.Answer) => stopReason === "length" ? ", cut at --max-tokens" : ""

/** The answer's text, or the whole sampled text if the message is more than text. */
const shown = ({ message, text }: Talker.Answer): string =>
  message.toolCalls === undefined && message.unparsedToolCalls === undefined && Message.thinking(message) === ""
    ? Message.text(message)
    : text

const answer = Effect.fnUntraced(function*(talker: Talker.Talker, prompt: string, index: number) {
  const output = yield* Output
  const answer = yield* talker.answer([Message.user(prompt)], `sample/${index}`)
  yield* output.lines([
    output.style.dim(`${index + 1}: ${answer.tokens} tokens${cut(answer)}`),
    Untrusted.showLines(shown(answer))
  ])
  yield* output.record({ type: "sample", index, ...answer })
})

export const sample = Command.make(
  "sample",
  flags,
  ({ n, prompt, ...flags }) =>
    Talker.withTalker(
      flags,
      (talker) =>
        Effect.forEach(Array.from({ length: n }, (_, index) => index), (index) => answer(talker, prompt, index), {
          discard: true
        })
    ).pipe(Effect.provide(Layer.provideMerge(RunLogger.layer, Layer.provide(Output.layer(flags), RunLog.layerNone))))
).pipe(
  Help.withSections(SubjectFlags.sections),
  Command.withExamples([
    {
      command: "effect-rl sample \"What is 2 + 3?\" --checkpoint runs/arithmetic-0 --n 4",
      description: "Four answers of the newest checkpoint of a run"
    }
  ])
)

/** Prints a model's answer during sampling: plain text unchanged, reasoning and tool calls marked. */
import type { ResponseStream } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Terminal from "effect/Terminal"
import { Output } from "./Output.ts"
import type { Style } from "./Style.ts"
import * as Untrusted from "./Untrusted.ts"

/** The kind of text on the last line. */
type Last = ResponseStream.Delta["_tag"] | "nothing"

const callOf = ({ arguments: args, name }: { readonly name: string; readonly arguments: string }) => `${name}(${args})`

/** The text to print for the next delta. */
const written = (delta: ResponseStream.Delta, last: Last, { dim, warn }: Style): string => {
  const line = last === "nothing" ? "" : "\n"
  switch (delta._tag) {
    case "Text":
      return (last === "Text" ? "" : line) + Untrusted.showLines(delta.text)
    case "Thinking":
      return (last === "Thinking" ? "" : `${line}${dim("thinking: ")}`) + dim(Untrusted.showLines(delta.thinking))
    case "ToolCall":
      return line + dim("call ") + Untrusted.showLines(callOf(delta.toolCall.function))
    case "UnparsedToolCall":
      return line + warn(`unreadable call (${Untrusted.show(delta.unparsedToolCall.error)}) `) +
        Untrusted.showLines(delta.unparsedToolCall.rawText)
  }
}

/** The printed text of all deltas together. */
export const text = (deltas: ReadonlyArray<ResponseStream.Delta>, style: Style): string =>
  deltas.map((delta, index) => written(delta, deltas[index - 1]?._tag ?? "nothing", style)).join("")

/** Makes a writer for one answer. In `json` mode it writes nothing, because programs read the whole answer as JSON. */
export const make = Effect.gen(function*() {
  const { mode, style } = yield* Output
  const terminal = yield* Terminal.Terminal
  let last: Last = "nothing"
  const display = (text: string) => mode === "json" ? Effect.void : Effect.ignore(terminal.display(text))
  return {
    write: (delta: ResponseStream.Delta) =>
      Effect.suspend(() => {
        const text = written(delta, last, style)
        last = delta._tag
        return display(text)
      }),
    /** Ends the last line of the answer. */
    end: display("\n")
  }
})

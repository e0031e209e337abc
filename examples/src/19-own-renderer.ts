// A renderer of one's own, to copy for a family of models that has none yet: here the format of Phi-4-mini,
// `<|user|>2 + 2?<|end|><|assistant|>4<|end|>`. Its tests check it by the laws of every renderer.
import { ChatModel, Message } from "@effect-rl/core"
import { ChatTemplate, Renderer, TemplateRenderer, type Tokenizer } from "@effect-rl/core/renderers"
import { Effect } from "effect"

const name = "phi4_mini"

/** The id of a mark. A tokenizer of another family does not have it. */
const markOf = (tokenizer: Tokenizer.Tokenizer, mark: string) =>
  Effect.fromNullishOr(tokenizer.specialToken(mark)).pipe(
    Effect.mapError(() => new Renderer.RendererError({ renderer: name, detail: `the tokenizer has no ${mark}` }))
  )

/** Text only; a family that calls tools writes `message.toolCalls` too, and reads them in `parse`. */
export const phi4Mini = Effect.fnUntraced(function*(tokenizer: Tokenizer.Tokenizer) {
  const end = yield* markOf(tokenizer, "<|end|>")
  const headers = new Map([
    ["system", yield* markOf(tokenizer, "<|system|>")],
    ["user", yield* markOf(tokenizer, "<|user|>")],
    ["assistant", yield* markOf(tokenizer, "<|assistant|>")]
  ])
  const header = (role: string) => {
    const mark = headers.get(role)
    return mark === undefined ? Effect.fail(ChatTemplate.refuseRole(name, role)) : Effect.succeed(Int32Array.of(mark))
  }
  return TemplateRenderer.make({
    name,
    tokenizer,
    stop: [end],
    hasExtensionProperty: true, // a later prompt begins with this prompt and its answer
    disablesThinking: false, // the family does not reason
    beginning: new Int32Array(), // some families begin with a token of their own
    message: Effect.fnUntraced(function*(message) {
      const text = yield* ChatTemplate.onlyText(name, message)
      return {
        header: yield* header(message.role),
        // Text that spells a mark stays text.
        output: [tokenizer.encode(text, { splitSpecialTokens: true }), Int32Array.of(end)]
      }
    }),
    generationHeader: header,
    parse: (tokens) => {
      const at = tokens.indexOf(end)
      const text = tokenizer.decode(at < 0 ? tokens : tokens.subarray(0, at))
      return Effect.succeed({
        message: Message.assistant(text),
        termination: at < 0 ? "malformed" as const : "stop_sequence" as const
      })
    },
    // Passes the answer's text on while it is sampled.
    reader: () => (sink) => ({ write: sink.text, end: () => {} })
  })
})

/** Where a model of the family is named, its renderer comes with it. */
export const model = (folder: string) => ChatModel.resolve(folder, { renderer: phi4Mini })

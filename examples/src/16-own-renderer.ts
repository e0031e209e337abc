// A custom renderer, to copy for a model family that has none yet. It writes the format of Phi-4-mini: `<|user|>2 +
// 2?<|end|><|assistant|>4<|end|>`. Its tests check the laws that every renderer must satisfy.
import { ChatModel, Message } from "@effect-rl/core"
import { ChatTemplate, Renderer, TemplateRenderer, type Tokenizer } from "@effect-rl/core/renderers"
import { Effect } from "effect"

const name = "phi4_mini"

/** The id of a mark. Fails if the tokenizer belongs to another family and does not have the mark. */
const markOf = (tokenizer: Tokenizer.Tokenizer, mark: string) =>
  Effect.fromNullishOr(tokenizer.specialToken(mark)).pipe(
    Effect.mapError(() => new Renderer.RendererError({ renderer: name, detail: `the tokenizer has no ${mark}` }))
  )

/** Supports text only. A family with tool calls would also write `message.toolCalls` and parse them in `parse`. */
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
        // Text that spells a mark is encoded as text, not as the mark.
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

/** Loads a model of the family with its renderer. */
export const model = (folder: string) => ChatModel.resolve(folder, { renderer: phi4Mini })

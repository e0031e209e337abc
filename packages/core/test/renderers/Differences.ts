/**
 * Corrections of recorded results that are upstream defects. A correction applies to inputs with a certain property, never to the id of a
 * vector, and the corrected result is compared like any other; nothing is skipped.
 */
import { Record } from "effect"
import type * as Vectors from "./Vectors.ts"

export const prompt = ({ expect }: Vectors.Prompt) => expect

type Expected = Vectors.Parse["expect"]
type Recorded = Extract<Expected, { readonly message: unknown }>["message"]

const [think, lineEnd] = [151667, 198]

/** Whether a response opens a thinking block with other tokens than those of `<think>` and a newline. */
export const opensOtherwise = ({ ids, text, tokenizer }: Vectors.Parse["input"]): boolean =>
  tokenizer === "qwen3"
    ? ids?.[0] === think && ids[1] !== lineEnd
    : text !== null && text.startsWith("<think>") && !text.startsWith("<think>\n")

const strip = (text: string) => text.replace(/^\s+|\s+$/g, "")

/** The newlines after an empty thinking block, which belong to the text after it. */
const afterEmptyBlock = (text: string) => /^<think><\/think>(\n*)/.exec(text)?.[1] ?? ""

/** The message without a second opening tag at the beginning of its thinking. */
const openedOnce = (message: Recorded, text: string): Recorded => {
  if (typeof message.content === "string") {
    return { ...message, content: message.content.replace(/^<think>\n<think>/, "<think>") }
  }
  const [first, ...rest] = message.content
  if (first?.type !== "thinking" || !first.thinking.startsWith("<think>")) return message
  const thinking = strip(first.thinking.slice("<think>".length))
  if (thinking !== "") return { ...message, content: [{ type: "thinking", thinking }, ...rest] }
  const content = rest.map((part, index) =>
    index === 0 && part.type === "text" ? { ...part, text: afterEmptyBlock(text) + part.text } : part
  )
  return { ...message, content }
}

/**
 * Upstream checks whether a response begins with the token ids of `<think>` and a newline. If it begins otherwise, for example because the
 * vocabulary merges the newline with another one, upstream opens the thinking block a second time and parses the tag as thinking.
 */
export const parse = ({ expect, input }: Vectors.Parse): Expected => {
  const isPrefilled = /^(qwen3_5|qwen3_8|nemotron3)/.test(input.renderer)
  if ("error" in expect || !isPrefilled || !opensOtherwise(input)) return expect
  return { ...expect, message: openedOnce(expect.message, input.text ?? "") }
}

/** The vector without the last `count` tokens of its last run of weights. `tokens` are its remaining tokens. */
const shorter = (
  vector: Vectors.Supervised,
  count: number,
  tokens: Pick<Vectors.Supervised["expect"], "ids" | "chunkLengths">
): Vectors.Supervised => {
  const shorten = <A extends { readonly weights: Vectors.Weights }>(recorded: A): A => {
    const last = recorded.weights.at(-1) ?? [0, 0]
    return { ...recorded, weights: [...recorded.weights.slice(0, -1), [last[0], last[1] - count]] }
  }
  const { examples, modes } = vector.expect
  return {
    ...vector,
    expect: {
      ...tokens,
      modes: Record.map(modes, (recorded) => "error" in recorded ? recorded : shorten(recorded)),
      examples: Record.map(examples, (recorded) => "error" in recorded ? recorded : recorded.map(shorten))
    }
  }
}

const unused = [27, 95145, 29]

/** Upstream ends a last message that is not the assistant's with an invented `<UNUSED>`. These three tokens are removed. */
const withoutUnused = (vector: Vectors.Supervised): Vectors.Supervised => {
  const { chunkLengths = [], ids = [] } = vector.expect
  if (vector.input.renderer !== "role_colon" || ids.slice(-3).join() !== unused.join()) return vector
  return shorter(vector, unused.length, {
    ids: ids.slice(0, -unused.length),
    chunkLengths: chunkLengths.slice(0, -1)
  })
}

const emptyThinking = [151667, 271, 151668, 271]

/**
 * If the text of an answer closes a block that it did not open, upstream writes an empty thinking block before that block. The model's own
 * template and this library write only one block.
 */
const withOneThinkingBlock = (vector: Vectors.Supervised): Vectors.Supervised => {
  const { chunkLengths = [], ids = [] } = vector.expect
  const content = vector.input.messages.at(-1)?.content
  if (!/^qwen3(_disable_thinking)?$/.test(vector.input.renderer) || typeof content !== "string") return vector
  if (!content.includes("</think>") || content.includes("<think>")) return vector
  const at = ids.length - (chunkLengths.at(-2) ?? 0) - 1
  return shorter(vector, emptyThinking.length, {
    ids: ids.toSpliced(at, emptyThinking.length),
    chunkLengths: chunkLengths.with(-2, (chunkLengths.at(-2) ?? 0) - emptyThinking.length)
  })
}

/** Upstream crashes on the last message of an empty conversation. This library returns no example. */
const withoutMessages = (vector: Vectors.Supervised): Vectors.Supervised => {
  const { expect, input } = vector
  const recorded = expect.examples["last_assistant_message"]
  if (input.messages.length > 0 || recorded === undefined || !("error" in recorded)) return vector
  return { ...vector, expect: { ...expect, examples: { ...expect.examples, last_assistant_message: [] } } }
}

/**
 * For TML v0, upstream trains only the assistant's marked messages; this library trains every marked message, as for all families. For an
 * empty conversation upstream fails, and for others without an answer it returns no examples; this library returns none in both cases.
 */
const markedAnswers = (vector: Vectors.Supervised): Vectors.Supervised => {
  const { input } = vector
  if (input.renderer !== "tml_v0") return vector
  const trainable = input.trainable.map((isTrained, index) => isTrained && input.messages[index]?.role === "assistant")
  const examples = Record.map(
    vector.expect.examples,
    (recorded) => "error" in recorded && recorded.error === "NotImplementedError" ? [] : recorded
  )
  return { ...vector, input: { ...input, trainable }, expect: { ...vector.expect, examples } }
}

export const supervised = (vector: Vectors.Supervised) =>
  markedAnswers(withoutMessages(withOneThinkingBlock(withoutUnused(vector))))

export const tools = ({ expect }: Vectors.Tools) => expect

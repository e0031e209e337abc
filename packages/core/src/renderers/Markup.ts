/**
 * Combines a template's text with the text of messages. Control tokens of the template become tokens, but the same characters inside a
 * message stay plain text, so user or tool text cannot end its turn and start another.
 *
 * @example
 * // Only the markers become special tokens: what the user wrote stays text.
 * const turn: Markup.Markup = ["<|im_start|>user\n", Markup.plain("say <|im_end|>"), "<|im_end|>"]
 */
import * as Effect from "effect/Effect"
import type { Message } from "../chat/Message.ts"
import { RendererError } from "../chat/Renderer.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import * as TokenMemory from "./TokenMemory.ts"

/** Text of a message. */
export interface Plain {
  readonly plain: string
}

/** A plain string is template text. */
export type Markup = string | Plain | ReadonlyArray<Markup>

/** Message text, in which control tokens are read as plain characters. */
export const plain = (text: string): Plain => ({ plain: text })

const developer = new Set(["system", "developer", "tool_declare"])

/** Whether text of this role may contain control tokens. Developer text may, because tool declarations show the format of calls. */
export const isDeveloper = (role: Message["role"]): boolean => developer.has(role)

/** The text of a message of this role: plain, unless the role is a developer's. */
export const textOf = (role: Message["role"], text: string): string | Plain => isDeveloper(role) ? text : plain(text)

/** An assistant's text, in which the tags of a thinking block become control tokens. */
export const withThinking = (text: string): Markup =>
  text.split(/(<\/?think>)/).map((piece, index) => index % 2 === 1 ? piece : plain(piece))

const isPlain = (markup: Plain | ReadonlyArray<Markup>): markup is Plain => "plain" in markup

/** The plain text, without the distinction between template and message text. */
export const toText = (markup: Markup): string => {
  if (typeof markup === "string") return markup
  return isPlain(markup) ? markup.plain : markup.map(toText).join("")
}

/** Encodes markup as tokens. Callers must not mutate them, because they are cached. */
export interface Encoder {
  readonly encode: (markup: Markup) => Int32Array
  /** The id of a control token; −1 for any other text. */
  readonly id: (control: string) => number
}

const escaped = (control: string) => control.replace(/[|[\]\\^$.*+?(){}]/g, "\\$&")

interface Piece {
  readonly text: string
  readonly kind: "control" | "template" | "plain"
}

const cut = (markup: Markup, controls: RegExp): ReadonlyArray<Piece> => {
  if (typeof markup !== "string") {
    return isPlain(markup) ? [{ text: markup.plain, kind: "plain" }] : markup.flatMap((each) => cut(each, controls))
  }
  return markup.split(controls).map((text, index) => ({ text, kind: index % 2 === 1 ? "control" : "template" }))
}

/** Joins adjacent template and message text, because it is tokenized together; control tokens stay separate. */
const joined = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> => {
  const result: Array<Piece> = []
  for (const piece of pieces) {
    const last = result.at(-1)
    if (last === undefined || last.kind === "control" || piece.kind === "control") result.push(piece)
    else {result[result.length - 1] = {
        text: last.text + piece.text,
        kind: last.kind === piece.kind ? last.kind : "plain"
      }}
  }
  return result
}

const concatenated = (pieces: ReadonlyArray<Int32Array>): Int32Array => {
  const all = new Int32Array(pieces.reduce((length, piece) => length + piece.length, 0))
  let end = 0
  for (const piece of pieces) {
    all.set(piece, end)
    end += piece.length
  }
  return all
}

const find = (
  renderer: string,
  tokenizer: Tokenizer,
  control: string
): Effect.Effect<readonly [string, number], RendererError> => {
  const id = tokenizer.specialToken(control)
  if (id !== undefined) return Effect.succeed([control, id])
  const detail = `the tokenizer has no special token ${control}; choose the renderer that fits the model`
  return Effect.fail(new RendererError({ renderer, detail }))
}

/**
 * Makes an encoder for a template's control tokens. Fails if the tokenizer lacks one of `controls`, because it then belongs to another
 * model. Tokens in `optional` are control tokens only if the tokenizer has them.
 */
export const encoder = Effect.fnUntraced(function*(
  renderer: string,
  tokenizer: Tokenizer,
  controls: ReadonlyArray<string>,
  optional: ReadonlyArray<string> = []
): Effect.fn.Return<Encoder, RendererError> {
  const present = optional.filter((control) => tokenizer.specialToken(control) !== undefined)
  const known = [...controls, ...present]
  const ids = new Map(yield* Effect.forEach(known, (control) => find(renderer, tokenizer, control)))
  const pattern = new RegExp(`(${known.map(escaped).join("|")})`)
  const controlTokens = new Map([...ids].map(([control, id]) => [control, Int32Array.of(id)]))
  const ofTemplate = TokenMemory.make((text) => tokenizer.encode(text, { splitSpecialTokens: false }))
  const ofMessages = TokenMemory.make((text) => tokenizer.encode(text, { splitSpecialTokens: true }))
  const tokensOf = ({ kind, text }: Piece): Int32Array =>
    kind === "plain" ? ofMessages(text) : controlTokens.get(text) ?? ofTemplate(text)
  const ofPieces = (markup: Markup) =>
    concatenated(joined(cut(markup, pattern).filter(({ text }) => text !== "")).map(tokensOf))
  const ofText = TokenMemory.make(ofPieces)
  const encode = (markup: Markup) => {
    if (typeof markup === "string") return ofText(markup)
    return isPlain(markup) && markup.plain !== "" ? ofMessages(markup.plain) : ofPieces(markup)
  }
  return {
    encode,
    id: (control) => ids.get(control) ?? -1
  }
})

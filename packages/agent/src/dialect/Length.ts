/** Bounds the length of a chat client's request before rendering and tokenization, whose cost grows with every character. */
import type { ChatModel } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { tooLong } from "./Refusal.ts"

/** Text has about four characters per token on average; only runs of spaces and similar characters exceed this bound. */
const perToken = 32

const counted = (root: unknown, isImage: (key: string, text: string) => boolean): number => {
  const waiting: Array<unknown> = [root]
  let characters = 0
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === "string") characters += value.length
    else if (Array.isArray(value)) { for (const one of value) waiting.push(one) }
    else if (Predicate.isObject(value) && !ArrayBuffer.isView(value)) {
      for (const [key, one] of Object.entries(value)) {
        characters += key.length
        if (typeof one !== "string" || !isImage(key, one)) waiting.push(one)
      }
    }
  }
  return characters
}

/** The number of characters in all names and texts that a renderer reads, excluding images, which are bytes. */
export const of = (asked: object): number => counted(asked, () => false)

/** The number of characters in all names and texts of an undecoded body, excluding images. */
export const ofJson = (body: unknown): number =>
  counted(body, (key, text) => key === "data" || text.startsWith("data:image/"))

/** Fails if the characters of `field` cannot fit into the model's context. */
export const check = (
  { capabilities: { contextLength }, name }: ChatModel.ChatModel,
  field: string,
  characters: number
) => {
  const most = perToken * contextLength
  const detail =
    `${field}: ${characters} characters, expected at most ${most} for the ${contextLength} tokens of ${name}`
  return characters <= most
    ? Effect.void
    : Effect.fail(tooLong(detail, Math.ceil(characters / perToken), contextLength))
}

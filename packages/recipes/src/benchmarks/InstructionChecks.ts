/** Checks whether responses follow IFEval instructions, with the cookbook's rules. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** Arguments of a check, by the dataset's argument names. Null values count as absent. */
export type Arguments = Readonly<Record<string, unknown>>

type Check = (response: string, args: Arguments) => boolean

const text = (args: Arguments, name: string): string => {
  const value = args[name]
  return typeof value === "string" ? value : ""
}

const count = (args: Arguments, name: string, otherwise: number): number => {
  const value = args[name]
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : otherwise
}

const texts = (args: Arguments, name: string): ReadonlyArray<string> => {
  const value = args[name]
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : []
}

const occurrences = (haystack: string, needle: string) => needle === "" ? 0 : haystack.split(needle).length - 1

const compare = (found: number, relation: string, expected: number) =>
  relation === "at most" || relation === "less than"
    ? (relation === "at most" ? found <= expected : found < expected)
    : relation === "exactly"
    ? found === expected
    : found >= expected

const words = (response: string) => response.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []

const parts = (response: string, separator: RegExp) => response.split(separator).filter((part) => part.trim() !== "")

const pieces = (response: string) => response.split(/\s+/).filter((piece) => piece !== "")

const isUpper = (letter: string) => letter !== letter.toLowerCase()

const parsesAsJson = (value: string) => {
  const inFence = /^```(?:json)?\s*([\s\S]*?)\s*```$/i.exec(value.trim())?.[1] ?? value
  return isJson(inFence) || isJson(/\{[^{}]*\}/.exec(value)?.[0] ?? "")
}

const isJson = (value: string) =>
  Option.isSome(Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))(value))

const checks: Readonly<Record<string, Check>> = {
  "keywords:existence": (response, args) =>
    texts(args, "keywords").every((word) => response.toLowerCase().includes(word.toLowerCase())),
  "keywords:forbidden_words": (response, args) =>
    texts(args, "forbidden_words").every((word) => !response.toLowerCase().includes(word.toLowerCase())),
  "keywords:frequency": (response, args) =>
    compare(
      occurrences(response.toLowerCase(), text(args, "keyword").toLowerCase()),
      text(args, "relation"),
      count(args, "frequency", 0)
    ),
  "keywords:letter_frequency": (response, args) =>
    compare(
      occurrences(response.toLowerCase(), text(args, "letter").toLowerCase()),
      text(args, "let_relation"),
      count(args, "let_frequency", 0)
    ),
  "punctuation:no_comma": (response) => !response.includes(","),
  "length_constraints:number_words": (response, args) =>
    compare(pieces(response).length, text(args, "relation"), count(args, "num_words", 0)),
  "length_constraints:number_sentences": (response, args) =>
    compare(
      parts(response.trim(), /(?<=[.!?])\s+/).length,
      text(args, "relation"),
      count(args, "num_sentences", 0)
    ),
  "length_constraints:number_paragraphs": (response, args) =>
    parts(response, /\n\n/).length >= count(args, "num_paragraphs", 0),
  "length_constraints:nth_paragraph_first_word": (response, args) => {
    const paragraph = parts(response, /\n\n/)[count(args, "nth_paragraph", 1) - 1]
    return paragraph !== undefined && words(paragraph)[0] === text(args, "first_word").toLowerCase()
  },
  "detectable_format:title": (response) => /^\s*(?:<<|#)/.test(response),
  "detectable_format:number_bullet_lists": (response, args) =>
    (response.match(/^\s*[*\-•]\s/gm) ?? []).length >= count(args, "num_bullets", 1),
  "detectable_format:number_highlighted_sections": (response, args) =>
    (response.match(/\*[^*]+\*/g) ?? []).length >= count(args, "num_highlights", 1),
  "detectable_format:multiple_sections": (response, args) =>
    (response.match(/^#{1,6}\s/gm) ?? []).length >= count(args, "num_sections", 1),
  "detectable_format:json_format": parsesAsJson,
  "detectable_format:constrained_response": () => true,
  "detectable_content:postscript": (response) => /P\.S|PS:|p\.s\./.test(response),
  "detectable_content:number_placeholders": (response, args) =>
    (response.match(/\[[^\n]*?\]/g) ?? []).length >= count(args, "num_placeholders", 1),
  "change_case:english_capital": (response) =>
    pieces(response).every(([first = ""]) => !/\p{L}/u.test(first) || isUpper(first)),
  "change_case:english_lowercase": (response) => !/\p{Lu}/u.test(response),
  "change_case:capital_word_frequency": (response, args) =>
    compare(
      pieces(response).filter(([first = ""]) => isUpper(first)).length,
      text(args, "capital_relation"),
      count(args, "capital_frequency", 0)
    ),
  "startend:end_checker": (response, args) =>
    response.trim().toLowerCase().endsWith(text(args, "end_phrase").toLowerCase()),
  "startend:quotation": (response) => /^(?:"[\s\S]*"|'[\s\S]*')$/.test(response.trim()),
  "language:response_language": () => true,
  "combination:two_responses": (response) =>
    ["***", "---", "===", "Response 1", "Response 2"].some((separator) => response.includes(separator)),
  "combination:repeat_prompt": () => true
}

/** Every instruction name that has a check. */
export const names: ReadonlyArray<string> = Object.keys(checks)

/**
 * Whether the response follows the instruction. As in the cookbook, instructions about language, constrained answers and repeated prompts
 * are not checked and count as followed. False for unknown instructions.
 *
 * @example
 * InstructionChecks.follows("punctuation:no_comma", "No comma here", {})
 *
 * @see tinker-cookbook `eval/benchmarks/_ifeval_verify.py: verify_instruction`
 */
export const follows = (instruction: string, response: string, args: Arguments): boolean =>
  Object.hasOwn(checks, instruction) && checks[instruction]?.(response, args) === true

/** How a person phrases a request. */
import type * as Random from "../Random.ts"
import * as Values from "./Values.ts"
import type { Parameter } from "./Workshop.ts"

export const questions = [
  (what: string) => `What is the ${what}?`,
  (what: string) => `What is the ${what}?`,
  (what: string) => `What's the ${what}?`,
  (what: string) => `Tell me the ${what}.`,
  (what: string) => `Find the ${what}.`,
  (what: string) => `I need the ${what}.`,
  (what: string) => `Please give me the ${what}.`,
  (what: string) => `Can you look up the ${what}?`,
  (what: string) => `Do you know the ${what}?`,
  (what: string) => `I would like to know the ${what}, please.`,
  (what: string) => `${Values.capital(what)}?`
] as const

export const commands = [
  (what: string) => `${Values.capital(what)}.`,
  (what: string) => `Please ${what}.`,
  (what: string) => `Can you ${what}?`,
  (what: string) => `I want you to ${what}.`,
  (what: string) => `${Values.capital(what)}, please.`
] as const

/** Phrases that ask only for the fact. */
const alone = [
  "Answer with the value alone.",
  "Answer with the number alone.",
  "Reply with the answer only.",
  "Say only the result.",
  "Just the value, nothing else.",
  "Use the tools, then answer with the result alone.",
  "Use the tool and give only the answer."
] as const

/** Endings of a request that does not specify the answer's form. */
export const endings = ["", "", "", " Use the tools.", " Thank you!"] as const

/** Draws a request's ending, and whether it asks only for the fact. */
export const form = (random: Random.Random): readonly [isBare: boolean, ending: string] =>
  random.uniform() < 0.5 ? [true, ` ${random.pick(alone)}`] : [false, random.pick(endings)]

/** The arguments as a request states them. */
export const about = (
  random: Random.Random,
  parameters: ReadonlyArray<Parameter>,
  values: ReadonlyArray<Values.Value>
): string => {
  const [first, second] = values
  const spoken = parameters[0]?.spoken
  if (first === undefined) return ""
  if (second === undefined) {
    return random.pick([
      `of ${first.text}`,
      `of ${first.text}`,
      `for ${first.text}`,
      `in ${first.text}`,
      `${random.pick(["at", "on", "by", "with"])} ${first.text}`,
      `of the ${spoken} ${first.text}`,
      `for ${spoken} ${first.text}`
    ])
  }
  if (spoken === "start") {
    return random.pick([
      `from ${first.text} to ${second.text}`,
      `from ${first.text} to ${second.text}`,
      `to ${second.text} from ${first.text}`
    ])
  }
  const named = parameters.map(({ spoken }, index) => `${spoken} ${values[index]?.text ?? ""}`)
  const rest = named.slice(1)
  const inSomeOrder = random.uniform() < 0.3 ? [...named].reverse() : named
  return random.pick([
    `of ${first.text} with ${rest.join(" and ")}`,
    `for ${first.text}, ${rest.join(", ")}`,
    `with ${inSomeOrder.join(" and ")}`,
    `for ${inSomeOrder.join(", ")}`,
    `of ${values.map(({ text }) => text).join(" and ")}`,
    `for ${values.map(({ text }) => text).join(", ")}`
  ])
}

/**
 * An agent that answers questions about vessels with two tools: a loop over the `openai` client that does not know it is being trained. The
 * preset `tiny-tools` was trained with neither the tools nor the vessels.
 */
import { Seed } from "@effect-rl/core/environments"
import type OpenAI from "openai"

const names = [
  "Kestrel",
  "Marlin",
  "Bramble",
  "Cormorant",
  "Gannet",
  "Heron",
  "Juniper",
  "Larkspur",
  "Mistral",
  "Narwhal",
  "Petrel",
  "Quillon",
  "Saffron",
  "Tamarind",
  "Umber",
  "Wagtail"
] as const

/** Names that are used only for measurement, not for training. */
const heldOutNames = ["Osprey", "Sandpiper", "Thistle", "Verbena"] as const

const instruments = ["hull pressure", "cabin temperature"] as const

const toolName = (instrument: string) => instrument.replace(" ", "_")

const tools = instruments.map((instrument): OpenAI.ChatCompletionTool => ({
  type: "function",
  function: {
    name: toolName(instrument),
    description: `Reads the ${instrument} of a vessel.`,
    parameters: {
      type: "object",
      properties: { vessel: { type: "string" } },
      required: ["vessel"]
    }
  }
}))

/** The reading of an instrument: a three-digit number, derived from the names of instrument and vessel. */
const reading = (instrument: string, vessel: string) => String(100 + Seed.derive(0, instrument, vessel) % 900)

const read = (name: string, given: string): string => {
  const vessel = /"vessel": *"([^"]*)"/.exec(given)?.[1]
  if (!instruments.map(toolName).includes(name)) return "error: no such tool"
  return vessel === undefined ? "error: which vessel?" : reading(name, vessel)
}

/** One question about the given names. */
const question = (of: ReadonlyArray<string>, index: number) => {
  const instrument = instruments[index % 2] ?? instruments[0]
  const vessel = `${of[Math.floor(index / 2) % of.length]} ${10 + Math.floor(index / 2 / of.length) % 90}`
  return {
    question: `What is the ${instrument} of ${vessel}? Answer with the number alone.`,
    answer: reading(toolName(instrument), vessel)
  }
}

const trained = Array.from({ length: 2 * names.length * 90 }, (_, index) => question(names, index))

/** At most `count` training questions without repetition, chosen and ordered by the seed. */
export const train = (count: number, seed: number) =>
  Array.from(Seed.permutation(trained.length, Seed.derive(seed, "vessels")).subarray(0, count))
    .flatMap((index) => trained[index] ?? [])

export const heldOut = Array.from({ length: 128 }, (_, index) => question(heldOutNames, index))

/** The agent's final answer; undefined if it still calls tools in its third turn, or answers without text. */
export const answer = async (client: OpenAI, model: string, content: string) => {
  const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content }]
  for (let turn = 0; turn < 3; turn++) {
    const { choices: [choice] } = await client.chat.completions.create({ model, messages, tools })
    const calls = choice?.message.tool_calls ?? []
    if (choice === undefined || calls.length === 0) return choice?.message.content ?? undefined
    messages.push(choice.message)
    for (const call of calls) {
      if (call.type !== "function") continue
      const { arguments: given, name } = call.function
      messages.push({ role: "tool", tool_call_id: call.id, content: read(name, given) })
    }
  }
  return undefined
}

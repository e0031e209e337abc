/** Creates tools with consistent names, descriptions and parameters, in the style of a random library. */
import type { ToolSpec } from "@effect-rl/core/renderers"
import type * as Schema from "effect/Schema"
import type * as Random from "../Random.ts"
import * as Values from "./Values.ts"
import type { Lexicon } from "./Words.ts"

export interface Parameter {
  readonly name: string
  /** The parameter's name in a person's words. */
  readonly spoken: string
  readonly draw: () => Values.Value
  readonly schema: Schema.JsonObject
}

export interface Tool {
  readonly spec: ToolSpec.ToolSpec
  readonly parameters: ReadonlyArray<Parameter>
  /** The phrase for what the tool finds or acts on, as a person would say it. */
  readonly topic: string
  /** What the tool does to its topic; undefined for a tool that finds something. */
  readonly action?: string
}

/** The shared style of tools that are offered together, and functions that draw further tools. */
export interface Workshop {
  readonly random: Random.Random
  readonly lexicon: Lexicon
  /** Whether results in JSON have spaces. */
  readonly spaced: boolean
  /** Whether parameters have descriptions. */
  readonly described: boolean
  /** Joins words into a name in snake_case, camelCase or kebab-case. */
  readonly named: (...words: ReadonlyArray<string>) => string
  /** One of the real words with probability `share`, otherwise an invented word. */
  readonly word: (real: readonly [string, ...Array<string>], share: number) => string
  readonly parameters: (count: number, entity?: string) => ReadonlyArray<Parameter>
  readonly parameter: (name: string, said: string, kind: typeof Values.any) => Parameter
  readonly schemaOf: (parameters: ReadonlyArray<Parameter>) => Schema.JsonObject
  /** Creates a tool that finds something for the given parameters. */
  readonly finder: (topic: string, parameters: ReadonlyArray<Parameter>) => Tool
  /** Creates a tool that performs an action. */
  readonly actor: (action: string, object: string, parameters: ReadonlyArray<Parameter>) => Tool
}

export const spoken = (word: string): string => word.replaceAll("_", " ")

const finders = ["get", "find", "look_up", "check", "fetch", "show", "read", "search", "query", "lookup"] as const

const generic = ["name", "id", "query", "value", "key", "input", "text", "target"] as const

const inCase = (style: number, words: ReadonlyArray<string>): string => {
  const parts = words.flatMap((word) => word.split("_")).filter((word) => word !== "")
  if (style < 0.65) return parts.join("_")
  if (style < 0.9) return parts.map((word, index) => index === 0 ? word : Values.capital(word)).join("")
  return parts.join("-")
}

export const make = (random: Random.Random, lexicon: Lexicon): Workshop => {
  const chance = (share: number) => random.uniform() < share
  const style = random.uniform()
  const described = chance(0.5)
  const closed = chance(0.4)
  const titled = chance(0.08)
  const spaced = chance(0.5)
  const named = (...words: ReadonlyArray<string>) => inCase(style, words)

  const word: Workshop["word"] = (real, share) => {
    if (chance(share)) return random.pick(real)
    return chance(0.15) ? `${lexicon.invent(random)}_${random.pick(real)}` : lexicon.invent(random)
  }

  const parameter: Workshop["parameter"] = (name, said, kind) => {
    const first = kind(random, lexicon)
    const shape = JSON.stringify(first.schema)
    const options = first.schema["enum"]
    const draw = (): Values.Value => {
      if (Array.isArray(options)) {
        const value = String(options[random.below(options.length)])
        return { ...first, value, text: value }
      }
      for (;;) {
        const next = kind(random, lexicon)
        if (JSON.stringify(next.schema) === shape) return next
      }
    }
    const description = random.pick([
      `The ${said}`,
      `Name of the ${said}`,
      `Which ${said}`,
      `The ${said} to use`,
      Values.capital(said)
    ])
    const schema = {
      ...(titled ? { title: Values.capital(said) } : {}),
      ...first.schema,
      ...(described ? { description } : {})
    }
    return { name: named(name), spoken: said, draw, schema }
  }

  const ends = () => {
    const pair = random.pick([["from", "to"], ["origin", "destination"], ["source", "target"], ["start", "end"]])
    return pair.map((name, index) => parameter(name, index === 0 ? "start" : "end", Values.identifier))
  }

  const parameters: Workshop["parameters"] = (count, entity = word(lexicon.entities, 0.6)) => {
    if (count === 2 && chance(0.15)) return ends()
    const draw = random.uniform()
    const name = draw < 0.6 ? entity : draw < 0.75 ? `${entity}_${random.pick(["name", "id"])}` : random.pick(generic)
    const others = new Map<string, Parameter>()
    while (others.size < count - 1) {
      const other = word(lexicon.entities, 0.7)
      if (other !== entity && other !== name) others.set(other, parameter(other, spoken(other), Values.any))
    }
    return [parameter(name, spoken(entity), Values.identifier), ...others.values()]
  }

  const schemaOf: Workshop["schemaOf"] = (all) => ({
    ...(titled ? { $schema: "http://json-schema.org/draft-07/schema#" } : {}),
    type: "object",
    properties: Object.fromEntries(all.map(({ name, schema }) => [name, schema])),
    required: all.map(({ name }) => name),
    ...(closed ? { additionalProperties: false } : {})
  })

  /** A description, sometimes omitted, but never for an opaque name. */
  const describe = (opaque: boolean, text: string) => !opaque && chance(0.08) ? "" : text + (chance(0.5) ? "." : "")

  const finder: Workshop["finder"] = (topic, all) => {
    const said = spoken(topic)
    const entity = all[0]?.spoken ?? ""
    const opaque = chance(0.15)
    const name = opaque
      ? named(random.pick(["", "get", "run", "do"]), lexicon.invent(random))
      : random.pick([
        () => named(random.pick(finders), topic),
        () => named(random.pick(finders), topic),
        () => named(topic),
        () => named(topic, "of"),
        () => named(entity.replaceAll(" ", "_"), topic),
        () => named(topic, random.pick(["lookup", "tool", "search", "finder"]))
      ])()
    const text = random.pick([
      `Gets the ${said} of a ${entity}`,
      `Get the ${said} for a ${entity}`,
      `Finds the ${said} of the given ${entity}`,
      `Returns the ${said}`,
      `Look up the ${said} of a ${entity}`,
      `The ${said} of a ${entity}`,
      `Tells the ${said} of a ${entity}`,
      `Find out the ${said} by ${entity}`,
      `Use this to find the ${said} of a ${entity}`
    ])
    const spec = { name, description: describe(opaque, text), parameters: schemaOf(all) }
    return { spec, parameters: all, topic: said }
  }

  const actor: Workshop["actor"] = (action, object, all) => {
    const said = spoken(object)
    const opaque = chance(0.12)
    const name = opaque ? named(lexicon.invent(random)) : named(action, object)
    const text = random.pick([
      `${Values.capital(action)} a ${said}`,
      `${Values.capital(action)} the ${said}`,
      `Use this to ${action} a ${said}`,
      `${Values.capital(action)} a ${said} for the user`
    ])
    const spec = { name, description: describe(opaque, text), parameters: schemaOf(all) }
    return { spec, parameters: all, topic: said, action }
  }

  return { random, lexicon, spaced, described, named, word, parameter, parameters, schemaOf, finder, actor }
}

/**
 * Requests that a few tools fulfil, with a perfect assistant's behaviour: its calls, their results, and its answer. Only names,
 * descriptions and parameters tell what the tools do.
 */
import type { ToolSpec } from "@effect-rl/core/renderers"
import type * as Random from "../Random.ts"
import * as Requests from "./Requests.ts"
import * as Values from "./Values.ts"
import type { Lexicon } from "./Words.ts"
import * as Workshop from "./Workshop.ts"

export interface Call {
  readonly name: string
  readonly arguments: Readonly<Record<string, string | number>>
}

export interface Step {
  readonly call: Call
  readonly result: string
}

export interface ToolTask {
  readonly request: string
  /** The calls in order; empty if no tool fits. */
  readonly steps: ReadonlyArray<Step>
  readonly answer: string
  /** The facts that every right answer contains. */
  readonly facts: ReadonlyArray<string>
}

/** Tools that are offered together, and requests for them. */
export interface Offer {
  readonly tools: ReadonlyArray<ToolSpec.ToolSpec>
  readonly task: () => ToolTask
}

const actions = [
  "book",
  "cancel",
  "send",
  "create",
  "delete",
  "add",
  "open",
  "close",
  "start",
  "stop",
  "move",
  "update",
  "save"
] as const

/** Numbers of parameters, from which a tool's is drawn. */
const sizes = [1, 1, 1, 1, 1, 2, 2, 3] as const

/** A fact in the form in which a tool reports it. */
const told = (
  { lexicon, named, random, spaced }: Workshop.Workshop,
  topic: string,
  fact: string | number
): string => {
  const key = named(topic.replaceAll(" ", "_"))
  const entry = (name: string, value: string | number) =>
    `${JSON.stringify(name)}:${spaced ? " " : ""}${JSON.stringify(value)}`
  const other = () => entry(lexicon.invent(random), Values.result(random, lexicon))
  const comma = spaced ? ", " : ","
  return random.pick([
    () => String(fact),
    () => String(fact),
    () => `{${entry(key, fact)}}`,
    () => `{${entry("result", fact)}}`,
    () => `{${other()}${comma}${entry(key, fact)}}`,
    () => `{${entry(key, fact)}${comma}${other()}}`,
    () => `The ${topic} is ${fact}.`,
    () => `${topic}: ${fact}`
  ])()
}

const callOf = (
  { parameters, spec }: Pick<Workshop.Tool, "parameters" | "spec">,
  values: ReadonlyArray<string | number>
): Call => ({
  name: spec.name,
  arguments: Object.fromEntries(parameters.map(({ name }, index) => [name, values[index] ?? ""]))
})

const drawAll = (parameters: ReadonlyArray<Workshop.Parameter>) => parameters.map(({ draw }) => draw())

const valuesOf = (all: ReadonlyArray<Values.Value>) => all.map(({ value }) => value)

const finding = (workshop: Workshop.Workshop, tool: Workshop.Tool): ToolTask => {
  const { lexicon, random } = workshop
  const values = drawAll(tool.parameters)
  const [isBare, ending] = Requests.form(random)
  const [first, second] = values
  const owned = first !== undefined && second === undefined && random.uniform() < 0.06
  const request = owned
    ? `${random.pick(["What is", "Tell me"])} ${first.text}'s ${tool.topic}?${ending}`
    : random.pick(Requests.questions)(`${tool.topic} ${Requests.about(random, tool.parameters, values)}`) + ending
  const call = callOf(tool, valuesOf(values))
  if (random.uniform() < 0.04) {
    const result = random.pick(["error: not found", "{\"error\": \"not found\"}", "error: there is none"])
    return { request, steps: [{ call, result }], answer: "I could not find it.", facts: ["could not find"] }
  }
  const fact = Values.result(random, lexicon)
  return {
    request,
    steps: [{ call, result: told(workshop, tool.topic, fact) }],
    answer: isBare ? String(fact) : `The ${tool.topic} is ${fact}.`,
    facts: [String(fact)]
  }
}

/** Asks the same about two things, with two calls. */
const comparing = (workshop: Workshop.Workshop, tool: Workshop.Tool): ToolTask => {
  const { lexicon, random } = workshop
  const [isBare, ending] = Requests.form(random)
  const both = [drawAll(tool.parameters), drawAll(tool.parameters)]
  const facts = both.map(() => Values.result(random, lexicon))
  const [first, second] = both.map((values) => values[0]?.text ?? "")
  return {
    request: random.pick(Requests.questions)(`${tool.topic} of ${first} and of ${second}`) + ending,
    steps: both.map((values, index) => ({
      call: callOf(tool, valuesOf(values)),
      result: told(workshop, tool.topic, facts[index] ?? "")
    })),
    answer: isBare ? facts.join(" and ") : `The ${tool.topic} is ${facts.join(" and ")}.`,
    facts: facts.map(String)
  }
}

/** Passes the first tool's result to the second tool. */
const chaining = (workshop: Workshop.Workshop, inner: Workshop.Tool, outer: Workshop.Tool): ToolTask => {
  const { lexicon, random } = workshop
  const [isBare, ending] = Requests.form(random)
  const values = drawAll(inner.parameters)
  const found = Values.name(random, lexicon)
  const fact = Values.result(random, lexicon)
  const about = `${outer.topic} of the ${inner.topic} ${Requests.about(random, inner.parameters, values)}`
  return {
    request: random.pick(Requests.questions)(about) + ending,
    steps: [
      { call: callOf(inner, valuesOf(values)), result: told(workshop, inner.topic, found) },
      { call: callOf(outer, [found]), result: told(workshop, outer.topic, fact) }
    ],
    answer: isBare ? String(fact) : `The ${outer.topic} is ${fact}.`,
    facts: [String(fact)]
  }
}

const acting = ({ lexicon, random }: Workshop.Workshop, tool: Workshop.Tool, action: string): ToolTask => {
  const values = drawAll(tool.parameters)
  const article = random.pick(["a", "the"])
  const request = random.pick(Requests.commands)(
    `${action} ${article} ${tool.topic} ${Requests.about(random, tool.parameters, values)}`
  ) + random.pick(Requests.endings)
  const receipt = String(random.uniform() < 0.5 ? Values.integer(random) : lexicon.invent(random))
  const [result, answer, fact] = random.pick([
    ["ok", "Done.", "Done"],
    ["done", "Done.", "Done"],
    ["{\"status\": \"ok\"}", "Done.", "Done"],
    [receipt, `Done: ${receipt}.`, receipt],
    [JSON.stringify({ id: receipt }), `Done: ${receipt}.`, receipt]
  ])
  return { request, steps: [{ call: callOf(tool, valuesOf(values)), result }], answer, facts: [fact] }
}

/** Asks for something that no tool provides. */
const refusing = ({ lexicon, parameters, random, word }: Workshop.Workshop): ToolTask => {
  if (random.uniform() < 0.4) {
    const request = random.pick(["Hello!", "Hi.", "Good morning!", "Who are you?", "Thanks!"])
    return { request, steps: [], answer: "How can I help you?", facts: ["help"] }
  }
  const topic = Workshop.spoken(word(lexicon.topics, 0.5))
  const some = parameters(1)
  return {
    request: random.pick(Requests.questions)(`${topic} ${Requests.about(random, some, drawAll(some))}`),
    steps: [],
    answer: "I have no tool for this.",
    facts: ["no tool"]
  }
}

interface Operation {
  readonly names: readonly [string, ...Array<string>]
  readonly descriptions: readonly [string, ...Array<string>]
  readonly requests: readonly [(a: number, b: number) => string, ...Array<(a: number, b: number) => string>]
  readonly value: (a: number, b: number) => number
}

const addition: Operation = {
  names: ["add", "sum", "plus", "add_numbers", "addition"],
  descriptions: ["Adds two numbers", "The sum of two numbers", "Add a and b", "Calculates a plus b"],
  requests: [
    (a, b) => `What is ${a} + ${b}?`,
    (a, b) => `What is ${a} plus ${b}?`,
    (a, b) => `Add ${a} and ${b}.`,
    (a, b) => `What is the sum of ${a} and ${b}?`
  ],
  value: (a, b) => a + b
}

const subtraction: Operation = {
  names: ["subtract", "minus", "difference", "subtraction"],
  descriptions: ["Subtracts two numbers", "The difference of two numbers", "Subtract b from a", "Calculates a minus b"],
  requests: [
    (a, b) => `What is ${a} - ${b}?`,
    (a, b) => `What is ${a} minus ${b}?`,
    (a, b) => `What is the difference of ${a} and ${b}?`
  ],
  value: (a, b) => a - b
}

const multiplication: Operation = {
  names: ["multiply", "times", "product", "multiplication"],
  descriptions: ["Multiplies two numbers", "The product of two numbers", "Multiply a and b", "Calculates a times b"],
  requests: [
    (a, b) => `What is ${a} * ${b}?`,
    (a, b) => `What is ${a} times ${b}?`,
    (a, b) => `Multiply ${a} by ${b}.`,
    (a, b) => `What is the product of ${a} and ${b}?`
  ],
  value: (a, b) => a * b
}

/** A request for a number that a tool computes. */
const answered = (random: Random.Random, request: string, call: Call, value: number): ToolTask => {
  const [isBare, ending] = Requests.form(random)
  const steps = [{ call, result: random.uniform() < 0.7 ? String(value) : JSON.stringify({ result: value }) }]
  const answer = isBare ? String(value) : `The result is ${value}.`
  return { request: request + ending, steps, answer, facts: [String(value)] }
}

/** What a parameter of a tool that computes draws is not asked for: its tasks draw their numbers together. */
const undrawn = () => ({ schema: {}, value: "", text: "" })

/** A tool that works out an expression. */
const calculating = ({ described, lexicon, random, schemaOf }: Workshop.Workshop): Offer => {
  const parameter = random.pick(["expression", "expr", "formula", "input", "calculation"])
  const description = random.pick([
    "Works out an expression of numbers",
    "Evaluates an arithmetic expression",
    "Calculates a formula",
    "A calculator for + - * /"
  ])
  const schema = { type: "string", ...(described ? { description: `The ${parameter}` } : {}) }
  const known = random.pick(["calculator", "calculate", "evaluate", "compute", "eval_math"])
  const name = random.pick([known, lexicon.invent(random)])
  const parameters = schemaOf([{ name: parameter, spoken: parameter, draw: undrawn, schema }])
  return {
    tools: [{ name, description, parameters }],
    task: () => {
      const [a, b, c] = [Values.integer(random), Values.integer(random), 1 + random.below(20)]
      const [expression, value] = random.pick([
        [`${a} + ${b}`, a + b],
        [`${a} - ${b}`, a - b],
        [`${a} * ${b}`, a * b],
        [`${a} + ${b} * ${c}`, a + b * c],
        [`(${a} + ${b}) * ${c}`, (a + b) * c],
        [`${a} * ${c} - ${b}`, a * c - b]
      ])
      const request = random.pick([
        `What is ${expression}?`,
        `Calculate ${expression}.`,
        `How much is ${expression}?`,
        `Work out ${expression}.`
      ])
      return answered(random, request, { name, arguments: { [parameter]: expression } }, value)
    }
  }
}

/** Tools that take two numbers each. */
const computing = ({ described, named, random, schemaOf }: Workshop.Workshop): Offer => {
  const names = random.pick([["a", "b"], ["a", "b"], ["x", "y"], ["first", "second"], ["left", "right"], ["n", "m"]])
  const type = random.pick(["number", "integer"])
  const parameters = names.map((name): Workshop.Parameter => ({
    name,
    spoken: name,
    draw: undrawn,
    schema: { type, ...(described ? { description: `The ${name} number` } : {}) }
  }))
  const [first = addition, ...others] = [addition, subtraction, multiplication].filter(() => random.uniform() < 0.7)
  const tool = ({ descriptions, names, requests, value }: Operation) => ({
    spec: {
      name: named(random.pick(names)),
      description: random.pick(descriptions) + random.pick(["", "."]),
      parameters: schemaOf(parameters)
    },
    requests,
    value
  })
  const tools = [tool(first), ...others.map(tool)] as const
  return {
    tools: tools.map(({ spec }) => spec),
    task: () => {
      const { requests, spec, value } = random.pick([...tools])
      const [a, b] = [Values.integer(random), Values.integer(random)]
      const request = random.pick([...requests])(a, b)
      return answered(random, request, callOf({ spec, parameters }, [a, b]), value(a, b))
    }
  }
}

const shuffle = <A>(random: Random.Random, all: ReadonlyArray<A>): ReadonlyArray<A> =>
  all.map((one) => [random.uniform(), one] as const).sort(([a], [b]) => a - b).map(([, one]) => one)

/** One to five tools with different names, each about a different subject. */
const lookingUp = (workshop: Workshop.Workshop): Offer => {
  const { lexicon, random, word } = workshop
  const isChained = random.uniform() < 0.2
  const entity = word(lexicon.entities, 0.6)
  const topic = () => word(lexicon.topics, 0.5)
  const size = () => random.pick(sizes)
  const finder = () =>
    workshop.finder(topic(), workshop.parameters(size(), random.uniform() < 0.4 ? entity : undefined))
  const actor = () => workshop.actor(random.pick(actions), word(lexicon.objects, 0.6), workshop.parameters(size()))
  const tools = new Map<string, Workshop.Tool>()
  const put = (tool: Workshop.Tool) => {
    const isTaken = [...tools.values()].some(({ action, topic }) => action === tool.action && topic === tool.topic)
    if (!isTaken && !tools.has(tool.spec.name)) tools.set(tool.spec.name, tool)
    return tool
  }
  const inner = put(workshop.finder(topic(), workshop.parameters(isChained ? 1 : size(), entity)))
  const name = random.pick([inner.topic.replaceAll(" ", "_"), "name", "person", "place", "query"])
  const found = workshop.parameter(name, inner.topic, () => ({
    schema: { type: "string" },
    value: Values.name(random, lexicon),
    text: ""
  }))
  const outer = workshop.finder(topic(), [found])
  if (isChained) put(outer)
  const wanted = Math.max(isChained ? 2 : 1, random.pick([1, 2, 2, 3, 3, 3, 4, 5]))
  for (let tries = 0; tools.size < wanted && tries < 12; tries++) put(random.uniform() < 0.3 ? actor() : finder())
  const all = shuffle(random, [...tools.values()])
  return {
    tools: all.map(({ spec }) => spec),
    task: () => {
      if (isChained && tools.has(outer.spec.name) && random.uniform() < 0.8) return chaining(workshop, inner, outer)
      if (random.uniform() < 0.04) return refusing(workshop)
      const tool = all[random.below(all.length)] ?? inner
      if (tool === outer) return finding(workshop, inner)
      if (tool.action !== undefined) return acting(workshop, tool, tool.action)
      if (tool.parameters.length === 1 && random.uniform() < 0.12) return comparing(workshop, tool)
      return finding(workshop, tool)
    }
  }
}

/** Draws tools that are offered together, with requests for them. */
export const offer = (random: Random.Random, lexicon: Lexicon): Offer => {
  const workshop = Workshop.make(random, lexicon)
  if (random.uniform() >= 0.1) return lookingUp(workshop)
  return random.uniform() < 0.5 ? calculating(workshop) : computing(workshop)
}

/** An interpreter of Jinja with bounded work, because the template of an untrusted model may loop for ever. */
import { type Environment, Interpreter, type parse } from "@huggingface/jinja"
import * as Predicate from "effect/Predicate"

/** Units of about 100 ns. A template of 300 lines takes some hundred for each message. */
const mostWork = 20_000_000

/** The cost of an element of a list, and the number of characters that cost a unit. */
const perElement = 10
const charactersPerUnit = 32

/** How much of a value its user reads: nothing, its elements, or everything inside of them. */
type Reach = "none" | "elements" | "everything"

const elementsOf = (value: unknown): ReadonlyArray<unknown> => {
  if (value instanceof Array) return value
  return value instanceof Map ? [...value.values()] : []
}

/** The size of a value of the interpreter, or as much of it as exceeds `left`. */
const sizeOf = (wrapped: unknown, reach: Reach, left: number): number => {
  if (reach === "none" || !Predicate.hasProperty(wrapped, "value")) return 0
  const { value } = wrapped
  if (typeof value === "string") return value.length / charactersPerUnit
  const elements = elementsOf(value)
  let size = perElement * elements.length
  if (reach === "elements") return size
  for (const element of elements) {
    if (size > left) break
    size += sizeOf(element, reach, left - size)
  }
  return size
}

/** The parts of a statement whose values it does not read as a whole: `messages` in `messages[0]` and `for … in messages`. */
const partsOf = (node: unknown): ReadonlyArray<readonly [part: unknown, reach: Reach]> => {
  if (!Predicate.hasProperty(node, "type")) return []
  if (node.type === "MemberExpression" && "object" in node) return [[node.object, "none"]]
  if (node.type === "For" && "iterable" in node) return [[node.iterable, "elements"]]
  if (node.type === "CallExpression" && "args" in node && node.args instanceof Array) {
    return node.args.map((argument: unknown) => [argument, "elements"])
  }
  if (
    node.type === "Set" && Predicate.hasProperty(node, "assignee") && Predicate.hasProperty(node.assignee, "object")
  ) {
    return [[node.assignee.object, "none"]]
  }
  return []
}

/** Spends work, and throws where none is left. */
const budget = () => {
  let left = mostWork
  return {
    left: () => left,
    spend: (work: number) => {
      left -= work
      if (left < 0) throw new Error("it loops for longer than any conversation needs")
    }
  }
}

/**
 * The text that a template writes. Throws where it needs more work than any conversation does, even one of ten thousand messages. The
 * count is the same on every machine.
 */
export const run = (program: ReturnType<typeof parse>, environment: Environment): string => {
  const interpreter = new Interpreter(environment)
  const evaluate = interpreter.evaluate.bind(interpreter)
  const { left, spend } = budget()
  const reaches = new WeakMap<object, Reach>()
  interpreter.evaluate = (node: unknown, scope: unknown) => {
    for (const [part, reach] of partsOf(node)) {
      if (Predicate.isObject(part)) reaches.set(part, reach)
    }
    spend(1)
    const value = evaluate(node, scope)
    const reach = Predicate.isObject(node) ? reaches.get(node) ?? "everything" : "none"
    spend(sizeOf(value, reach, left()))
    return value
  }
  return String(interpreter.run(program).value)
}

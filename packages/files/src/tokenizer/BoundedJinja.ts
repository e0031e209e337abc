/** A Jinja interpreter with a work limit, because an untrusted model's template may loop forever. */
import { type Environment, Interpreter, type parse } from "@huggingface/jinja"
import * as Predicate from "effect/Predicate"

/** The work limit, in units of about 100 ns. A template of 300 lines takes a few hundred units per message. */
const mostWork = 20_000_000

/** The work per list element, and the number of characters per unit of work. */
const perElement = 10
const charactersPerUnit = 32

/** How much of a value a statement reads: nothing, its elements, or everything inside it. */
type Reach = "none" | "elements" | "everything"

const elementsOf = (value: unknown): ReadonlyArray<unknown> => {
  if (value instanceof Array) return value
  return value instanceof Map ? [...value.values()] : []
}

/** The size of an interpreter value in units of work. Counting stops once the size exceeds `left`. */
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

/** The parts of a statement whose values are not read completely, such as `messages` in `messages[0]` and `for … in messages`. */
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

/** A work budget; `spend` throws once it is used up. */
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
 * Renders a template. Throws if rendering exceeds the work limit, which is enough for ten thousand messages. The counted work is the same
 * on every machine.
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

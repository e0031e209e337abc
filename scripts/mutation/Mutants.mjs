// The mutants of a source file: one small change each, such as another operator, constant or condition, or a call left out.
import { readFileSync } from "node:fs"
import { parseAst } from "rolldown/parseAst"

const swapped = new Map(Object.entries({
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "??": "&&"
}))

const otherMethods = new Map(Object.entries({
  min: "max",
  max: "min",
  floor: "ceil",
  ceil: "floor",
  some: "every",
  every: "some",
  find: "findLast",
  findLast: "find",
  push: "unshift",
  slice: "concat"
}))

/** The operator between two operands. Operands with a comment between them are not mutated. */
const operatorBetween = (text, { left, operator, right }) => {
  const at = text.indexOf(operator, left.end)
  return at < right.start ? at : undefined
}

const isEffectOfCall = ({ expression }) =>
  expression.type === "CallExpression"
  || (expression.type === "YieldExpression" && expression.delegate && expression.argument?.type === "CallExpression")

/** The mutations of a node, each with the replaced range and the new text. */
const changesOf = (text, node) => {
  const source = ({ end, start }) => text.slice(start, end)
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const other = swapped.get(node.operator)
      const isText = [node.left, node.right].some(({ type, value }) =>
        type === "TemplateLiteral" || (type === "Literal" && typeof value === "string")
      )
      const at = other === undefined || (node.operator === "+" && isText) ? undefined : operatorBetween(text, node)
      return at === undefined ? [] : [{ start: at, end: at + node.operator.length, to: other }]
    }
    case "Literal":
      if (typeof node.value === "boolean") return [{ start: node.start, end: node.end, to: String(!node.value) }]
      return typeof node.value === "number"
        ? [{ start: node.start, end: node.end, to: `(${source(node)} + 1)` }]
        : []
    case "UnaryExpression":
      return node.operator === "!" || node.operator === "-"
        ? [{ start: node.start, end: node.end, to: `(${source(node.argument)})` }]
        : []
    case "ConditionalExpression":
    case "IfStatement":
      return [{ start: node.test.start, end: node.test.end, to: `!(${source(node.test)})` }]
    case "ExpressionStatement":
      return isEffectOfCall(node) ? [{ start: node.start, end: node.end, to: ";" }] : []
    case "UpdateExpression": {
      const to = source(node).replace(node.operator, node.operator === "++" ? "--" : "++")
      return [{ start: node.start, end: node.end, to }]
    }
    case "AssignmentExpression": {
      const other = { "+=": "-=", "-=": "+=" }[node.operator]
      const at = other === undefined ? -1 : text.indexOf(node.operator, node.left.end)
      return at === -1 ? [] : [{ start: at, end: at + 2, to: other }]
    }
    case "CallExpression": {
      const { callee } = node
      if (callee.type !== "MemberExpression" || callee.computed) return []
      const other = otherMethods.get(callee.property.name)
      const renamed = other === undefined ? [] : [{ ...callee.property, to: other }]
      const piped = callee.property.name === "pipe" && node.arguments.length > 1
        ? node.arguments.map(({ end, start }) => ({ start, end, to: "(self) => self" }))
        : []
      return [...renamed, ...piped].map(({ end, start, to }) => ({ start, end, to }))
    }
    default:
      return []
  }
}

/** Types, imports and the wording of errors are not mutated. */
const isSkipped = ({ id, key, type }) =>
  type.startsWith("TS")
  || type === "ImportDeclaration"
  || (type === "MethodDefinition" && key?.name === "message" && id === undefined)

const isType = new Set(["typeAnnotation", "typeParameters", "typeArguments", "returnType"])

/** Visits each node with the start of its statement. */
const walk = (node, visit, statement) => {
  if (node === null || typeof node !== "object") return
  if (Array.isArray(node)) return node.forEach((child) => walk(child, visit, statement))
  if (typeof node.type !== "string" || isSkipped(node)) return
  const within = node.type === "ExpressionStatement" ? node.start : statement
  visit(node, within)
  for (const [name, child] of Object.entries(node)) {
    if (!isType.has(name) && !(name === "key" && node.computed === false)) walk(child, visit, within)
  }
}

/** All mutants of a file; `key` is the line before and after, which stays the same where others change. */
export const of = (file) => {
  const text = readFileSync(file, "utf8")
  const mutants = []
  const seen = new Map()
  walk(parseAst(text, { lang: "ts" }), (node, statement) => {
    const { end, start } = node.type === "IfStatement" ? node.test : node
    const probe = { start, end, beginsStatement: start === statement }
    for (const { end, start, to } of changesOf(text, node)) {
      const [first, last] = [text.lastIndexOf("\n", start - 1) + 1, text.indexOf("\n", end)]
      const lines = [text.slice(first, last), text.slice(first, start) + to + text.slice(end, last)]
      const [before, after] = lines.map((line) => line.trim().replace(/\s+/g, " ").slice(0, 200))
      const line = text.slice(0, start).split("\n").length
      const key = `${file}: ${before} → ${after}`
      seen.set(key, (seen.get(key) ?? 0) + 1)
      const count = seen.get(key)
      mutants.push({ file, line, key: count === 1 ? key : `${key} (${count})`, start, end, to, probe })
    }
  })
  return mutants
}

/** The import by which threads and processes also record what they execute. */
const elsewhere = `import ${JSON.stringify(new URL("elsewhere.mjs", import.meta.url).href)};`

/** A file's text with a probe at each of its mutants, which notes the mutant's number in `globalThis.reached` when it is executed. */
export const probed = (file, numbered) => {
  const text = readFileSync(file, "utf8")
  const pieces = numbered.flatMap(([number, { probe: { beginsStatement, end, start } }]) => {
    const note = `globalThis.reached?.add(${number})`
    // A parenthesis at the start of a statement would continue the previous line.
    return beginsStatement
      ? [{ at: start, order: -1e8, text: `${note}, ` }]
      : [{ at: start, order: -end, text: `(${note}, ` }, { at: end, order: -1e9 - start, text: ")" }]
  })
  // At the same position, ends come before starts: of two ends the inner one first, of two starts the outer one.
  const inOrder = pieces.toSorted((left, right) => left.at - right.at || left.order - right.order)
  let from = 0
  return elsewhere + inOrder.map(({ at, text: piece }) => {
    const between = text.slice(from, at)
    from = at
    return between + piece
  }).join("") + text.slice(from)
}

/** The file's text with the mutation applied. */
export const applied = ({ end, file, start, to }) => {
  const text = readFileSync(file, "utf8")
  return text.slice(0, start) + to + text.slice(end)
}

const parses = (text) => {
  try {
    parseAst(text, { lang: "ts" })
    return true
  } catch {
    return false
  }
}

/** Whether the mutated file can be parsed; some operators cannot be combined. */
export const isValid = (mutant) => parses(applied(mutant))

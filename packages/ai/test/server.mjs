// A little MCP server over standard streams. What its tools do is what a test needs to see done.
import { createInterface } from "node:readline"

const object = (properties, required = []) => ({ type: "object", properties, required })

const reference = { $ref: "#/$defs/node" }

/** Stands for a schema of 10,000 levels, which is written as text: most writers of JSON do not go so deep. */
const deep = "of 10,000 levels"
const deepText = `${"{\"type\":\"object\",\"properties\":{\"a\":".repeat(10_000)}{}${"}}".repeat(10_000)}`

/** Schemas that nobody can check in reasonable time, of which a server started with its name has one. */
const hostile = {
  mutual: () => ({
    ...object({ a: reference }),
    $defs: { node: { $ref: "#/$defs/other" }, other: { not: reference } }
  }),
  escaped: () => ({ ...object({ a: { $ref: "#/$defs/a~1b" } }), $defs: { "a/b": { $ref: "#/$defs/a~1b" } } }),
  encoded: () => ({ ...object({ a: { $ref: "#/$defs/a%20b" } }), $defs: { "a b": { $ref: "#/$defs/a%20b" } } }),
  within: () => ({ ...object({ a: reference }), $defs: { node: { anyOf: [{ $ref: "#/$defs/node/anyOf/0" }] } } }),
  doubling: () => ({
    ...object({ a: { $ref: "#/$defs/40" } }),
    $defs: Object.fromEntries(
      Array.from({ length: 41 }, (_, index) => {
        const below = { $ref: `#/$defs/${index - 1}` }
        return [index, index === 0 ? { type: "string" } : { anyOf: [below, below] }]
      })
    )
  }),
  chain: () => ({
    ...object({ a: { $ref: "#/$defs/5000" } }),
    $defs: Object.fromEntries(
      Array.from({ length: 5001 }, (_, index) => [index, index === 0 ? {} : { $ref: `#/$defs/${index - 1}` }])
    )
  }),
  deep: () => object({ a: deep }),
  large: () => object({ a: { enum: Array.from({ length: 500_000 }, (_, index) => `value ${index}`) } })
}

const chosen = process.argv[2]

const tools = [
  ...(chosen === undefined
    ? []
    : [{ name: chosen, description: "Cannot be checked.", inputSchema: hostile[chosen]() }]),
  {
    name: "add",
    description: "Adds two numbers.",
    inputSchema: object({ a: { type: "integer" }, b: { type: "integer", minimum: 0 } }, ["a", "b"])
  },
  { name: "pid", description: "Says which process it is.", inputSchema: object({}) },
  { name: "die", description: "Ends the server in the middle of the call.", inputSchema: object({}) },
  { name: "hang", description: "Never answers.", inputSchema: object({}) },
  { name: "refuse", description: "Answers that it failed.", inputSchema: object({}) },
  { name: "picture", description: "Answers with more than text.", inputSchema: object({}) },
  {
    name: "odd",
    description: "Has a schema nobody can check.",
    inputSchema: { type: "object", $ref: "http://elsewhere" }
  },
  ...[
    { $ref: "#/$defs/node" },
    { anyOf: [{ type: "string" }, { $ref: "#/$defs/node" }] },
    { allOf: [{ $ref: "#/$defs/other" }] }
  ].map((node, index) => ({
    name: `endless${index}`,
    description: "Has a schema that refers to itself.",
    inputSchema: { ...object({ a: { $ref: "#/$defs/node" } }), $defs: { node, other: { $ref: "#/$defs/node" } } }
  })),
  {
    name: "tree",
    description: "Takes nodes in nodes.",
    inputSchema: {
      ...object({ root: { $ref: "#/$defs/node" } }, ["root"]),
      $defs: { node: object({ value: { type: "integer" }, child: { $ref: "#/$defs/node" } }, ["value"]) }
    }
  },
  {
    name: "choices",
    description: "Takes nodes in nodes, which are of two kinds that look alike.",
    inputSchema: {
      ...object({ root: reference }, ["root"]),
      $defs: { node: { anyOf: ["string", "integer"].map((type) => object({ child: reference, leaf: { type } })) } }
    }
  },
  {
    name: "kinds",
    description: "Takes nodes in nodes, which say of which kind they are.",
    inputSchema: {
      ...object({ root: reference }, ["root"]),
      $defs: {
        node: { anyOf: ["a", "b"].map((kind) => object({ kind: { const: kind }, child: reference }, ["kind"])) }
      }
    }
  },
  { name: "secret", description: "Not for policies.", inputSchema: object({}) }
]

const text = (value, isError = false) => ({ content: [{ type: "text", text: String(value) }], isError })

const call = ({ arguments: given = {}, name }) => {
  switch (name) {
    case "add":
      return text(given.a + given.b)
    case "pid":
      return text(process.pid)
    case "tree":
    case "choices":
    case "kinds":
      return text(name)
    case "refuse":
      return text("out of order", true)
    case "picture":
      return {
        content: [
          { type: "text", text: "look:" },
          { type: "image", data: "AAAA", mimeType: "image/png" },
          { type: "resource_link", name: "notes", uri: "file:///notes" }
        ]
      }
    case "die":
      return process.kill(process.pid, "SIGKILL")
    default:
      return undefined
  }
}

const answer = ({ method, params }) => {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "little", version: "1" }
      }
    case "tools/list":
      return { tools }
    case "tools/call":
      return call(params)
    default:
      return {}
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line)
  if (message.id === undefined) return
  const result = answer(message)
  if (typeof result === "object") {
    const text = JSON.stringify({ jsonrpc: "2.0", id: message.id, result })
    process.stdout.write(`${text.replace(`"${deep}"`, deepText)}\n`)
  }
})

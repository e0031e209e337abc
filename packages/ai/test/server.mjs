// A little MCP server over standard streams. What its tools do is what a test needs to see done.
import { createInterface } from "node:readline"

const object = (properties, required = []) => ({ type: "object", properties, required })

const tools = [
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
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n`)
  }
})

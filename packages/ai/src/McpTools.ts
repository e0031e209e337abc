/** Tools of an MCP server. The server's connection or process lives until its scope closes, such as the scope of a group member. */
import { GivenSchema } from "@effect-rl/agent"
import { FunctionTool } from "@effect-rl/core"
import * as McpClient from "effect/ai/McpClient"
import type { McpClientError } from "effect/ai/McpClientError"
import * as McpProtocol from "effect/ai/McpProtocol"
import type * as McpSchema from "effect/ai/McpSchema"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import type * as ChildProcess from "effect/process/ChildProcess"
import type { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/** The server cannot be started or reached, or does not list its tools. */
export class NotConnected extends Schema.TaggedError<NotConnected>()("NotConnected", { detail: Schema.String }) {
  override get message() {
    return `not connected: ${this.detail}`
  }
}

/** The server does not offer a tool that `allow` names. */
export class NotOffered extends Schema.TaggedError<NotOffered>()("NotOffered", {
  tool: Schema.String,
  offered: Schema.Array(Schema.String)
}) {
  override get message() {
    return `allow has "${this.tool}", expected one of: ${this.offered.join(", ")}`
  }
}

/** Arguments cannot be checked against the server's schema for a tool. */
export class Uncheckable extends Schema.TaggedError<Uncheckable>()("Uncheckable", {
  tool: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `arguments of "${this.tool}" cannot be checked, leave it out of allow: ${this.detail}`
  }
}

export class McpToolsError extends Schema.TaggedError<McpToolsError>()("McpToolsError", {
  server: Schema.String,
  reason: Schema.Union([NotConnected, NotOffered, Uncheckable])
}) {
  override get message() {
    return `MCP server "${this.server}": ${this.reason.message}`
  }
}

export interface Options<F extends McpClientError = never> {
  /** Names the server in errors. */
  readonly name: string
  /** The tools that the policy sees and may call: "all", or a list of names. The server's other tools are hidden. */
  readonly allow: ReadonlyArray<string> | "all"
  /** Time limit for connecting. Default: 60 seconds. */
  readonly connectTimeout?: Duration.Input
  /** Time limit of each call. When it is exceeded, the policy sees an error. Default: 60 seconds. */
  readonly callTimeout?: Duration.Input
  /** Selects the failures that fail the episode attempt. All other failures are shown to the policy. */
  readonly isFatal?: (error: McpClientError) => error is F
}

const failed = (server: string, reason: McpToolsError["reason"]) => new McpToolsError({ server, reason })

const blockText = (block: McpSchema.CallToolResult["content"][number]): string => {
  if (block.type === "text") return block.text
  if (block.type === "resource_link") return `${block.name}: ${block.uri}`
  if (block.type === "resource" && "text" in block.resource) return block.resource.text
  return `[${block.type} that cannot be shown]`
}

const toAnswer = ({ content, isError, structuredContent }: McpSchema.CallToolResult): FunctionTool.Answer => {
  const text = content.map(blockText).join("\n")
  if (isError === true) return FunctionTool.failed("execution_failed", text)
  return { content: text === "" && structuredContent !== undefined ? JSON.stringify(structuredContent) : text }
}

const toJsonObject = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Json))
const decodeArguments = Schema.decodeUnknownEffect(Schema.Record(Schema.String, Schema.Unknown))

const toTool = <F extends McpClientError>(
  client: McpClient.McpClient,
  tool: McpSchema.Tool,
  { callTimeout = "60 seconds", isFatal, ...options }: Options<F>
): Effect.Effect<FunctionTool.FunctionTool<F>, McpToolsError> =>
  Effect.try({
    try: () =>
      FunctionTool.make<unknown, McpClientError, never, F>({
        name: tool.name,
        description: tool.description ?? "",
        parameters: Result.getOrThrowWith(GivenSchema.make(tool.inputSchema), (problem) => new Error(problem)),
        jsonSchema: toJsonObject(tool.inputSchema),
        timeout: callTimeout,
        handler: (given) =>
          Effect.orDie(decodeArguments(given)).pipe(
            Effect.flatMap((args) => client.callTool({ tool, arguments: args })),
            Effect.map(toAnswer)
          ),
        ...(isFatal !== undefined && { isFatal })
      }),
    catch: (error) => failed(options.name, new Uncheckable({ tool: tool.name, detail: String(error) }))
  })

const notConnected = (server: string) => ({ message }: McpClientError) =>
  failed(server, new NotConnected({ detail: message }))

/**
 * The allowed tools of a connected client. Fails if the server does not list its tools, does not offer an allowed tool,
 * or has a schema for such a tool against which arguments cannot be checked.
 */
export const fromClient = Effect.fnUntraced(function*<F extends McpClientError = never>(
  client: McpClient.McpClient,
  options: Options<F>
): Effect.fn.Return<ReadonlyArray<FunctionTool.FunctionTool<F>>, McpToolsError> {
  const offered = yield* Effect.mapError(client.listTools(), notConnected(options.name))
  const allowed = options.allow === "all" ? offered.map(({ name }) => name) : options.allow
  return yield* Effect.forEach(allowed, (name) => {
    const tool = offered.find((tool) => tool.name === name)
    if (tool !== undefined) return toTool(client, tool, options)
    return Effect.fail(
      failed(options.name, new NotOffered({ tool: name, offered: offered.map((tool) => tool.name) }))
    )
  })
})

const connected = <F extends McpClientError, R>(
  transport: Effect.Effect<McpClient.Transport, McpClientError, R>,
  options: Options<F>
): Effect.Effect<ReadonlyArray<FunctionTool.FunctionTool<F>>, McpToolsError, R | Scope.Scope> =>
  Effect.provideServiceEffect(
    McpClient.make({ name: "effect-rl", version: "0", timeout: options.connectTimeout ?? "60 seconds" }),
    McpClient.Transport,
    transport
  ).pipe(
    Effect.mapError(notConnected(options.name)),
    Effect.flatMap((client) => fromClient(client, options))
  )

/**
 * Starts a server as a process and talks to it over stdin and stdout. The `ChildProcessSpawner` decides where the process runs, for example
 * in a sandbox with `SandboxSpawner`. When the scope closes, the server's stdin ends; a server that does not exit is terminated, then
 * killed. If the server dies, or sends a message of more than 16 MiB, the policy sees an error.
 */
export const stdio = <F extends McpClientError = never>(
  command: ChildProcess.Command,
  options: Options<F>
): Effect.Effect<ReadonlyArray<FunctionTool.FunctionTool<F>>, McpToolsError, ChildProcessSpawner | Scope.Scope> =>
  connected(McpClient.stdio({ command, protocol: McpProtocol.v2025_11_25 }), options)

/**
 * Talks to a server over HTTP. Pass secret headers as `Redacted`.
 *
 * @example
 * const tools = McpTools.http("https://mcp.example.com/mcp", { name: "search", allow: ["query"], callTimeout: "20 seconds" })
 */
export const http = <F extends McpClientError = never>(
  url: string,
  options: Options<F> & { readonly headers?: Readonly<Record<string, string | Redacted.Redacted>> }
): Effect.Effect<ReadonlyArray<FunctionTool.FunctionTool<F>>, McpToolsError, HttpClient | Scope.Scope> =>
  connected(
    McpClient.http({
      url,
      protocol: McpProtocol.v2025_11_25,
      headers: Record.map(options.headers ?? {}, (value) => Redacted.isRedacted(value) ? Redacted.value(value) : value)
    }),
    options
  )

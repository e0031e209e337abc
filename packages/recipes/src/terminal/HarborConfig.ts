/** The settings of a Harbor task, from `task.toml`. Unknown fields are ignored. */
import * as Schema from "effect/Schema"

const Positive = Schema.Finite.check(Schema.isGreaterThan(0))

const Variables = Schema.Record(Schema.String, Schema.String)

/** A size in the older notation, such as `4G`. */
const Size = Schema.String.check(Schema.isPattern(/^\d+(\.\d+)?[MG]i?B?$/))

/** An MCP server whose tools the agent can call. */
const McpServer = Schema.Struct({
  name: Schema.String,
  transport: Schema.optionalKey(Schema.String),
  command: Schema.optionalKey(Schema.NonEmptyString),
  args: Schema.optionalKey(Schema.Array(Schema.String))
})

const Environment = Schema.Struct({
  docker_image: Schema.optionalKey(Schema.String),
  workdir: Schema.optionalKey(Schema.String),
  memory_mb: Schema.optionalKey(Positive),
  memory: Schema.optionalKey(Size),
  gpus: Schema.optionalKey(Schema.Finite),
  os: Schema.optionalKey(Schema.String),
  env: Schema.optionalKey(Variables),
  mcp_servers: Schema.optionalKey(Schema.Array(McpServer))
})

export const HarborConfig = Schema.Struct({
  environment: Schema.optionalKey(Environment),
  agent: Schema.optionalKey(Schema.Struct({ timeout_sec: Schema.optionalKey(Positive) })),
  verifier: Schema.optionalKey(Schema.Struct({
    timeout_sec: Schema.optionalKey(Positive),
    env: Schema.optionalKey(Variables),
    environment: Schema.optionalKey(Schema.Struct({ docker_image: Schema.optionalKey(Schema.String) }))
  })),
  steps: Schema.optionalKey(Schema.Array(Schema.Unknown))
})

export type HarborConfig = typeof HarborConfig.Type

const mebibyte = 1024 * 1024

/** Default memory of a task, in bytes. */
const defaultMemory = 2048 * mebibyte

/** The memory that the task requests, in bytes. Default: 2 GiB. */
export const memory = ({ environment: { memory, memory_mb } = {} }: HarborConfig): number => {
  if (memory_mb !== undefined) return Math.ceil(memory_mb) * mebibyte
  if (memory === undefined) return defaultMemory
  return Math.ceil(Number.parseFloat(memory) * (memory.includes("G") ? 1024 : 1)) * mebibyte
}

/** Default time limit of the tests, in seconds. */
const defaultTestSeconds = 600

/** The time limit of the tests, in seconds. Default: 600. */
export const testSeconds = ({ verifier }: HarborConfig): number => verifier?.timeout_sec ?? defaultTestSeconds

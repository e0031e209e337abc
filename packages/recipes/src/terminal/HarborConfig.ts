/** The settings of a task in Harbor's format, as `task.toml` has them. Fields that are not named here do not matter. */
import * as Schema from "effect/Schema"

const Positive = Schema.Finite.check(Schema.isGreaterThan(0))

const Variables = Schema.Record(Schema.String, Schema.String)

/** A size as it used to be written, such as `4G`. */
const Size = Schema.String.check(Schema.isPattern(/^\d+(\.\d+)?[MG]i?B?$/))

/** A server of tools, as the agent is told of it. */
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

/** Bytes of memory where the task does not say. */
const defaultMemory = 2048 * mebibyte

/** Bytes of memory that the task asks for. */
export const memory = ({ environment: { memory, memory_mb } = {} }: HarborConfig): number => {
  if (memory_mb !== undefined) return Math.ceil(memory_mb) * mebibyte
  if (memory === undefined) return defaultMemory
  return Math.ceil(Number.parseFloat(memory) * (memory.includes("G") ? 1024 : 1)) * mebibyte
}

/** Seconds that the tests have where the task does not say. */
const defaultTestSeconds = 600

export const testSeconds = ({ verifier }: HarborConfig): number => verifier?.timeout_sec ?? defaultTestSeconds

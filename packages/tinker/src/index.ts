/** The Tinker API: client, server and cassettes. Stable. */

/** Events and metrics for a client's requests. */
export * as Activity from "./client/Activity.ts"
/** The path of a checkpoint: `tinker://<run>/<kind>/<name>`. */
export * as CheckpointPath from "./client/CheckpointPath.ts"
/** Runs the command that prints a credential (`TINKER_CREDENTIAL_CMD`). */
export * as CredentialCommand from "./client/CredentialCommand.ts"
/** Administers a service's runs, checkpoints and sessions. */
export * as RestClient from "./client/RestClient.ts"
/** Handles with which other processes use the same sampler. */
export * as SamplerHandles from "./client/SamplerHandles.ts"
/** The Tinker port over HTTP, for the hosted service and any server that speaks its API. */
export * as TinkerHttp from "./client/TinkerHttp.ts"
/** Failures of requests in transit or at the service; they are the causes of the `TinkerError`s that callers get. */
export * as WireError from "./client/WireError.ts"

/** Identifies callers by the server's API keys. A server without keys answers only programs on its machine. */
export * as ApiKeys from "./server/ApiKeys.ts"
/** Serves any backend through the Tinker API over HTTP. */
export * as TinkerServer from "./server/TinkerServer.ts"

/** Records a backend once and replays it later without an API key or network. */
export * as Cassette from "./cassette/Cassette.ts"

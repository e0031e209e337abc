/** The Tinker API: client, server and cassettes. Stable. */

/** Events and metrics of a client's requests. */
export * as Activity from "./client/Activity.ts"
/** The path of a checkpoint: `tinker://<run>/<kind>/<name>`. */
export * as CheckpointPath from "./client/CheckpointPath.ts"
/** Runs the command that prints a credential (`TINKER_CREDENTIAL_CMD`). */
export * as CredentialCommand from "./client/CredentialCommand.ts"
/** Everything about a service's runs, checkpoints and sessions that is not training or sampling. */
export * as RestClient from "./client/RestClient.ts"
/** Samplers that other processes sample from as well. */
export * as SamplerHandles from "./client/SamplerHandles.ts"
/** The Tinker port over HTTP: the hosted service, and any server that speaks its API. */
export * as TinkerHttp from "./client/TinkerHttp.ts"
/** Failures of requests on the wire and at the service: the causes of the `TinkerError`s that callers see. */
export * as WireError from "./client/WireError.ts"

/** Identifies callers by the server's API keys; a server without keys answers its own machine alone. */
export * as ApiKeys from "./server/ApiKeys.ts"
/** The Tinker API over HTTP in front of any backend. */
export * as TinkerServer from "./server/TinkerServer.ts"

/** A backend recorded once and replayed afterwards, without key or network. */
export * as Cassette from "./cassette/Cassette.ts"

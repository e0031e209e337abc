export * as Activity from "./client/Activity.ts"
export * as CheckpointPath from "./client/CheckpointPath.ts"
export * as CredentialCommand from "./client/CredentialCommand.ts"
export * as RestClient from "./client/RestClient.ts"
export * as SamplerHandles from "./client/SamplerHandles.ts"
export * as TinkerHttp from "./client/TinkerHttp.ts"
export * as WireError from "./client/WireError.ts"

export * as ApiKeys from "./server/ApiKeys.ts"
export * as TinkerServer from "./server/TinkerServer.ts"

export * as Cassette from "./cassette/Cassette.ts"

export * as Badge from "./certify/Badge.ts"
export * as Certificate from "./certify/Certificate.ts"
export * as Certification from "./certify/Certification.ts"

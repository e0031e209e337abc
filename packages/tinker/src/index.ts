export * as TinkerHttp from "./client/TinkerHttp.ts"
export * as TinkerServer from "./server/TinkerServer.ts"

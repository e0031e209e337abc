export * as TinkerServer from "./server/TinkerServer.ts"

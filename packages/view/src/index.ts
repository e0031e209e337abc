export type * as Entry from "./story/Entry.ts"
export * as Spending from "./story/Spending.ts"
export * as Status from "./story/Status.ts"
export * as Timeline from "./story/Timeline.ts"

export * as ExportedPage from "./server/ExportedPage.ts"
export * as RunCache from "./server/RunCache.ts"
export * as Runs from "./server/Runs.ts"
export * as ViewServer from "./server/ViewServer.ts"

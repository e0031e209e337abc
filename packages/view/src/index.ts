export type * as Entry from "./story/Entry.ts"
export * as GroupVerdict from "./story/GroupVerdict.ts"
export * as Story from "./story/Story.ts"

export * as Runs from "./server/Runs.ts"
export * as ViewServer from "./server/ViewServer.ts"

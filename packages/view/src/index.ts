/** The page that shows runs, and its server. Advanced. */

/** Records and transcripts as the page receives them: JSON, with null in place of NaN and the infinities. */
export type * as Entry from "./story/Entry.ts"
/** What a run has cost, what it will cost, and its caps, as its records tell it. */
export * as Spending from "./story/Spending.ts"
/** The activity of a run, in words. */
export * as Status from "./story/Status.ts"
/** The timeline of a run: lanes of spans, and its bottleneck in words. */
export * as Timeline from "./story/Timeline.ts"

/** A run as one self-contained page, to send to somebody or to keep: the same page, with the run in it and no server. */
export * as ExportedPage from "./server/ExportedPage.ts"
/** Runs as read from their records, kept until the files change. */
export * as RunCache from "./server/RunCache.ts"
/** The run directories that the page may show: the given folders, and the folders in them. */
export * as Runs from "./server/Runs.ts"
/** The page over HTTP, with the runs that it shows. */
export * as ViewServer from "./server/ViewServer.ts"

/** The web page that shows runs, and its server. Advanced. */

/** Records and transcripts as the page receives them: JSON in which NaN and the infinities are null. */
export type * as Entry from "./story/Entry.ts"
/** A run's cost so far, its forecast and its caps, computed from its records. */
export * as Spending from "./story/Spending.ts"
/** A run's current activity, as text. */
export * as Status from "./story/Status.ts"
/** A run's timeline: lanes of spans, and a description of its bottleneck. */
export * as Timeline from "./story/Timeline.ts"

/** A run as one self-contained HTML file, to share or archive. It is the same page with the run embedded, and needs no server. */
export * as ExportedPage from "./server/ExportedPage.ts"
/** Runs read from their records, and cached until the files change. */
export * as RunCache from "./server/RunCache.ts"
/** The run directories that the page may show: the given folders and their subfolders. */
export * as Runs from "./server/Runs.ts"
/** The HTTP server of the page and its runs. */
export * as ViewServer from "./server/ViewServer.ts"

/** The page's data: fetches what a route needs, and requests a redraw when data arrives. */
import * as Story from "@effect-rl/core/story/Story"
import type { BrokenRun, Comparison, Findings, GroupView, LogTail, Regraded, RunLine, Stage } from "../story/Entry.ts"
import type { Measures } from "../story/Measures.ts"
import type { MetricSeries } from "../story/MetricSeries.ts"
import * as Route from "./Route.ts"
import type { Data, Found } from "./Screen.ts"
import * as ServerSource from "./ServerSource.ts"
import type { Source } from "./Source.ts"

export interface Model {
  readonly state: () => { readonly data: Data; readonly problem: string }
  /** Opens a route. */
  readonly open: (route: Route.Route) => void
}

/** A value fetched for a key. It is fetched again only if the key changes. */
interface Slot<A> {
  key: string
  value: A | undefined
}

/** The newest audit result of a run, kept until the next result arrives. */
interface Audited {
  readonly run: string
  readonly stage: string
  readonly value: Findings | undefined
}

const nothingFound: Found = { hits: [], end: undefined }

/** Minimum milliseconds between redraws: many records may arrive in that time. */
const frame = 100

/**
 * Milliseconds after which a silent run is redrawn, to update the time since its last record. The list of runs is also read again, because
 * new runs may have started.
 */
const calm = 5000

/** Milliseconds before a request is retried that the server did not answer. */
const untilNextTry = 3000

export const make = (source: Source, draw: () => void): Model => {
  let route: Route.Route = { at: "runs" }
  let problem = ""
  let runs: ReadonlyArray<RunLine | BrokenRun> | undefined
  let story: Story.Story<null> | undefined
  let isWritten = true
  let lost: string | undefined
  let retrying: ReturnType<typeof setTimeout> | undefined
  let followed: string | undefined
  let stopFollowing: Promise<() => void> | undefined
  let search: { readonly key: string; readonly stop: () => void; found: Found } | undefined
  const transcript: Slot<GroupView> = { key: "", value: undefined }
  let audited: Audited = { run: "", stage: "", value: undefined }
  let measured: string | undefined
  const measures: Slot<Measures> = { key: "", value: undefined }
  const log: Slot<LogTail> = { key: "", value: undefined }
  const stages: Slot<ReadonlyArray<Stage>> = { key: "", value: undefined }
  const regraded: Slot<Regraded> = { key: "", value: undefined }
  const comparison: Slot<Comparison> = { key: "", value: undefined }
  const comparedMetrics: Slot<ReadonlyArray<ReadonlyArray<MetricSeries>>> = { key: "", value: undefined }

  let isDrawing = false
  const redraw = () => {
    if (isDrawing) return
    isDrawing = true
    setTimeout(() => {
      isDrawing = false
      draw()
    }, frame)
  }

  const report = (error: unknown) => {
    problem = error instanceof Error ? error.message : String(error)
    if (problem === ServerSource.gone) {
      clearTimeout(retrying)
      retrying = setTimeout(() => read(route), untilNextTry)
    }
    draw()
  }

  /** Clears the message that the server is gone, once it responds again. */
  const recover = () => {
    if (problem === ServerSource.gone) problem = ""
  }

  const follow = (run: string | undefined) => {
    if (run === followed) return
    stopFollowing?.then((stop) => stop(), () => {})
    story = undefined
    followed = run
    lost = undefined
    if (run === undefined) return
    stopFollowing = source.follow(run, {
      onEntries: (entries) => {
        if (followed !== run) return
        const isFirst = story === undefined
        recover()
        for (const entry of entries) story = Story.add(story ?? Story.empty<null>(), entry)
        story ??= Story.empty<null>()
        readFindings(route)
        readMeasures(route)
        if (isFirst) draw()
        // Screens of a group and of a member mainly show a transcript, which does not change.
        else if (route.at !== "group" && route.at !== "member") redraw()
      },
      onWritten: (now) => {
        if (followed !== run) return
        isWritten = now
        readFindings(route)
        redraw()
      },
      onConnected: (now) => {
        if (followed !== run || lost === now) return
        lost = now
        redraw()
      }
    })
    stopFollowing.catch((error: unknown) => {
      if (followed === run) followed = undefined
      report(error)
    })
  }

  /**
   * Fetches a value for a slot. A value about another subject is dropped at once; an older value about the same subject stays until the new
   * value arrives.
   */
  const fill = <A>(slot: Slot<A>, key: string, get: (() => Promise<A>) | undefined, isNew = true) => {
    if (slot.key === key) return
    slot.key = key
    if (isNew) slot.value = undefined
    get?.().then((value) => {
      if (slot.key !== key) return
      slot.value = value
      recover()
      draw()
    }).catch((error: unknown) => {
      if (slot.key === key) slot.key = ""
      report(error)
    })
  }

  const readTranscript = ({ at, group, loss, run }: Route.Route) => {
    if (run === undefined || group === undefined || (at !== "group" && at !== "member")) return
    fill(transcript, JSON.stringify([run, group, loss]), () => source.transcript({ run, sequence: group, loss }))
  }

  /** Audits a run when it is opened, each time its length has doubled since the last audit, and when it has ended. */
  const readFindings = ({ run }: Route.Route) => {
    if (run === undefined || story === undefined || route.at !== "run") return
    const isLive = story.end === undefined && isWritten
    const stage = isLive ? `doubled ${Math.floor(Math.log2(Story.done(story) + 1))} times` : "ended"
    if (audited.run === run && audited.stage === stage) return
    audited = { run, stage, value: audited.run === run ? audited.value : undefined }
    fill(log, JSON.stringify([run, stage]), () => source.log(run))
    fill(stages, JSON.stringify([run, stage]), () => source.stages(run))
    source.findings(run).then((value) => {
      if (audited.run !== run) return
      audited = { ...audited, value }
      draw()
    }).catch((error: unknown) => {
      if (audited.run === run) audited = { ...audited, stage: "" }
      report(error)
    })
  }

  /** Reads all of the run's transcripts, once per number of records. */
  const readMeasures = ({ at, run }: Route.Route) => {
    if (run === undefined || story === undefined || (at !== "rollouts" && at !== "problems")) return
    fill(
      measures,
      JSON.stringify([run, Story.done(story), story.end?.sequence]),
      () => source.measures(run),
      measured !== run
    )
    measured = run
  }

  const readRegraded = ({ at, evaluator, iteration, rule, run }: Route.Route) => {
    const isAsked = at === "iteration" && run !== undefined && iteration !== undefined && evaluator === undefined
    if (!isAsked || rule === undefined) return
    fill(regraded, JSON.stringify([run, iteration, rule]), () => source.regrade(run, iteration, rule))
  }

  const readComparison = ({ at, axis = "iteration", others = [], run }: Route.Route) => {
    if (at !== "compare" || run === undefined || others.length === 0) return
    const runs = [run, ...others]
    const of = JSON.stringify(runs)
    const isNew = comparison.key !== of
    fill(comparison, of, () => source.compare(run, others))
    const metrics = () => Promise.all(runs.map((run) => source.metrics(run, axis)))
    fill(comparedMetrics, JSON.stringify([of, axis]), metrics, isNew)
  }

  const startSearch = ({ at, run, text }: Route.Route) => {
    if (at !== "search" || run === undefined) return
    const key = JSON.stringify([run, text])
    if (search?.key === key) return
    search?.stop()
    search = { key, stop: () => {}, found: nothingFound }
    if (text === undefined) return
    const stop = source.search(run, text, (found) => {
      if (search?.key !== key) return
      search.found = "groups" in found
        ? { ...search.found, end: found }
        : { ...search.found, hits: [...search.found.hits, found] }
      redraw()
    }, report)
    search = { ...search, stop }
  }

  const readRuns = async () => {
    runs = await source.runs()
    recover()
    const [only, ...others] = runs
    const isFirst = location.hash === "" && only !== undefined && others.length === 0 && !("error" in only)
    if (isFirst) location.replace(Route.format({ at: "run", run: only.run }))
    else draw()
  }

  /** Requests everything that the route shows and that is not loaded yet. */
  const read = (route: Route.Route) => {
    clearTimeout(retrying)
    if (route.at === "runs") readRuns().catch(report)
    follow(route.at === "runs" || route.at === "compare" ? undefined : route.run)
    readFindings(route)
    readTranscript(route)
    readMeasures(route)
    readRegraded(route)
    readComparison(route)
    startSearch(route)
  }

  setInterval(() => {
    if (route.at === "run") redraw()
    if (route.at === "runs" && source.isLive) readRuns().catch(report)
  }, calm)

  return {
    state: () => ({
      problem: problem === "" ? lost ?? "" : problem,
      data: {
        route,
        isLive: source.isLive,
        runs,
        story,
        isWritten,
        findings: audited.run === route.run ? audited.value : undefined,
        measures: measures.value,
        log: route.at === "run" ? log.value : undefined,
        stages: route.at === "run" ? stages.value : undefined,
        transcript: transcript.value,
        found: search?.found ?? nothingFound,
        regraded: regraded.value,
        comparison: comparison.value,
        comparedMetrics: comparedMetrics.value,
        now: Date.now()
      }
    }),
    open: (next) => {
      route = next
      problem = ""
      read(route)
      draw()
    }
  }
}

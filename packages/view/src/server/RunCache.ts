/** Runs read from their records, and cached until the files change. */
import { RunStore } from "@effect-rl/core"
import { Audit, StoryReader } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import * as FileFailure from "@effect-rl/files/file/FileFailure"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Semaphore from "effect/Semaphore"
import type * as Entry from "../story/Entry.ts"
import * as Findings from "./Findings.ts"
import * as RunLine from "./RunLine.ts"

/** A run's story, read from its records. */
export interface Told extends RunLine.Known {
  readonly reader: RunStore.RunReader
}

/** Maximum number of cached runs; a page reads the same run repeatedly. */
const kept = 8

const make = Effect.gen(function*() {
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const known = new Map<string, { readonly stamp: string; readonly told: Told }>()
  const lines = new Map<string, { readonly stamp: string; readonly line: Entry.RunLine }>()
  const links = new Map<string, { readonly stamp: string; readonly links: RunLine.Links }>()
  const audits = Findings.make()
  const scope = yield* Effect.scope
  /** Background audits run one after the other. */
  const one = yield* Semaphore.make(1)
  const waiting = new Set<string>()

  /** A stamp that changes with the records, and with whether a process writes them. */
  const stampOf = Effect.fnUntraced(function*(run: string, isWritten: boolean) {
    const fs = yield* FileSystem.FileSystem
    const { mtime, size } = yield* Effect.mapError(
      fs.stat((yield* Path.Path).join(run, "records.jsonl")),
      (error) => new RunStore.RunError({ run, detail: FileFailure.describe("records.jsonl", error) })
    )
    return JSON.stringify([String(size), mtime, isWritten])
  })

  const read = Effect.fn("RunCache.read")(function*(run: string) {
    const reader = yield* RunDirectory.open(run)
    const isWritten = yield* RunDirectory.isHeld(run)
    const stamp = yield* stampOf(run, isWritten)
    const before = known.get(run)
    const told: Told = before?.stamp === stamp
      ? before.told
      : { reader, story: yield* StoryReader.read(reader), isWritten }
    known.delete(run)
    known.set(run, { stamp, told })
    for (const oldest of known.keys()) if (known.size > kept) known.delete(oldest)
    return told
  }, Effect.provideContext(context))

  /** The run's line with the current state of its audit. */
  const lineOf = Effect.fnUntraced(function*(run: string, now: number) {
    const stamp = yield* stampOf(run, yield* RunDirectory.isHeld(run))
    const told = yield* read(run)
    const line = RunLine.make(run, { ...told, findings: audits.newest(told) }, now)
    lines.set(run, { stamp, line })
    return line
  })

  /** Audits the run when its turn comes, then updates its line. An unreadable run is reported when its line is requested. */
  const auditLater = Effect.fnUntraced(function*(run: string, now: number) {
    if (waiting.has(run)) return
    waiting.add(run)
    const audit = Effect.flatMap(read(run), audits.of).pipe(
      Effect.andThen(lineOf(run, now)),
      one.withPermit,
      Effect.ignore,
      Effect.ensuring(Effect.sync(() => waiting.delete(run)))
    )
    yield* Effect.forkIn(Effect.provideContext(audit, context), scope)
  })

  const line = Effect.fn("RunCache.line")(function*(run: string, now: number) {
    yield* RunDirectory.open(run)
    const stamp = yield* stampOf(run, yield* RunDirectory.isHeld(run))
    const before = lines.get(run)
    // A running run's status depends on the clock, so it is not cached.
    if (before?.stamp === stamp && before.line.status !== "running") return before.line
    const line = yield* lineOf(run, now)
    if (!audits.isDone(yield* read(run))) yield* auditLater(run, now)
    return line
  }, Effect.provideContext(context))

  const audited = Effect.fn("RunCache.audited")(function*(run: string, now: number) {
    const told = yield* read(run)
    const groups = told.story.records.filter(({ _tag }) => _tag === "GroupRolledOut").length
    if (groups <= Audit.mostAtOnce) yield* audits.of(told)
    return yield* lineOf(run, now)
  }, Effect.provideContext(context))

  const findings = Effect.fn("RunCache.findings")(function*(run: string) {
    return yield* audits.of(yield* read(run))
  }, Effect.provideContext(context))

  const linked = Effect.fn("RunCache.links")(function*(run: string) {
    const stamp = yield* stampOf(run, false)
    const before = links.get(run)
    if (before?.stamp === stamp) return before.links
    const { story } = yield* read(run)
    const found = RunLine.linksOf(story)
    links.set(run, { stamp, links: found })
    return found
  }, Effect.provideContext(context))

  return RunCache.of({ read, line, audited, findings, links: linked })
})

/**
 * Reads and caches runs.
 *
 * @example
 * const line = RunCache.RunCache.use((runs) => runs.line("runs/sums", Date.now())).pipe(Effect.provide(RunCache.RunCache.layer))
 */
export class RunCache extends Context.Service<RunCache, {
  readonly read: (run: string) => Effect.Effect<Told, RunStore.RunError>
  /**
   * The run's line in the list of runs, at the time `now`. An audit of the transcripts starts in the background. Until it is done, the line
   * says so and its verdict is not `good`.
   */
  readonly line: (run: string, now: number) => Effect.Effect<Entry.RunLine, RunStore.RunError>
  /** The run's line after an audit, if the run has at most `Audit.mostAtOnce` groups. */
  readonly audited: (run: string, now: number) => Effect.Effect<Entry.RunLine, RunStore.RunError>
  /** The names under which other runs' settings refer to the run and its checkpoints. */
  readonly links: (run: string) => Effect.Effect<RunLine.Links, RunStore.RunError>
  /** The findings of an audit of all transcripts. */
  readonly findings: (run: string) => Effect.Effect<Entry.Findings, RunStore.RunError>
}>()("@effect-rl/view/RunCache") {
  static readonly layer = Layer.effect(RunCache, make)
}

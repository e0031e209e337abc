/** One writer of a run directory at a time, across processes. */
import { RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { randomUUID } from "node:crypto"
import * as AtomicFile from "../file/AtomicFile.ts"
import * as FileFailure from "../file/FileFailure.ts"
import * as Owner from "./Owner.ts"

/** Several stores of one process are told apart by `store`. */
const Holder = Schema.fromJsonString(Schema.Struct({ ...Owner.Owner.fields, store: Schema.String }))

const fileName = "lock"

const inUse = (run: string, file: string, holder: Option.Option<Owner.Owner>) =>
  new RunStore.RunError({
    run,
    detail: Option.match(holder, {
      onNone: () =>
        `${file} is unreadable: another process is just opening this run, or a crash left it. ` +
        "Try again; if no process uses the run, delete that file",
      onSome: ({ host, pid }) =>
        `in use by process ${pid} on ${host}. Wait for it, end it (kill ${pid}), or choose another run directory. ` +
        `If it runs no longer, delete ${file}`
    })
  })

const isAlreadyThere = (error: PlatformError) => error.reason._tag === "AlreadyExists"

const readHolder = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readFileString(file).pipe(Effect.flatMap(Schema.decodeUnknownEffect(Holder)), Effect.option)
})

/** Fails where the file is there already; leaves none where it cannot be written. */
const create = Effect.fnUntraced(function*(file: string, content: Uint8Array) {
  const fs = yield* FileSystem.FileSystem
  const handle = yield* fs.open(file, { flag: "wx" })
  yield* Effect.tapError(handle.writeAll(content), () => Effect.ignore(fs.remove(file)))
}, Effect.scoped)

/** Replaces a lock whose process is gone. Who does so holds a lock on that, so that no two processes do it at once. */
const takeOver = Effect.fnUntraced(function*(run: string, file: string, content: Uint8Array) {
  const fs = yield* FileSystem.FileSystem
  const guard = `${file}.takeover`
  const replace = Effect.gen(function*() {
    const holder = yield* readHolder(file)
    const isGone = Option.isSome(holder) && (yield* Owner.isGone(holder.value))
    if (!isGone) return yield* inUse(run, file, holder)
    yield* AtomicFile.write(file, Stream.make(content))
  })
  yield* Effect.acquireUseRelease(
    Effect.catchIf(create(guard, content), isAlreadyThere, () => Effect.fail(inUse(run, guard, Option.none()))),
    () => replace,
    () => Effect.ignore(fs.remove(guard), { log: true })
  )
})

const acquire = (run: string, file: string, content: Uint8Array) =>
  create(file, content).pipe(
    Effect.catchIf(isAlreadyThere, () => takeOver(run, file, content)),
    Effect.catchTag("PlatformError", (error) =>
      Effect.fail(new RunStore.RunError({ run, detail: FileFailure.describe(file, error) })))
  )

/** A user may have deleted the lock, and another process may hold a new one: only the own lock is removed. */
const release = Effect.fnUntraced(function*(file: string, content: string) {
  const fs = yield* FileSystem.FileSystem
  if ((yield* fs.readFileString(file)) === content) yield* fs.remove(file)
}, Effect.ignore({ log: true }))

/** Held until the scope closes; a lock whose process was killed is taken over. */
export const hold = Effect.fnUntraced(function*(run: string) {
  const file = (yield* Path.Path).join(run, fileName)
  const holder = { ...(yield* Owner.self), store: randomUUID() }
  const content = JSON.stringify(holder)
  yield* Effect.acquireRelease(acquire(run, file, new TextEncoder().encode(content)), () => release(file, content))
})

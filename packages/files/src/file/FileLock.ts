/** One owner of a folder at a time, across processes: of a run directory, or of a server's checkpoints. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import { randomUUID } from "node:crypto"
import * as FileFailure from "./FileFailure.ts"
import * as Owner from "./Owner.ts"

/** The lock is held by another process, or cannot be written. */
export class FileLockError extends Schema.TaggedError<FileLockError>()("FileLockError", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file}: ${this.detail}`
  }
}

/** Several stores of one process are distinguished by `store`, which is also part of file names. */
const Holder = Schema.Struct({ ...Owner.Owner.fields, store: Schema.String.check(Schema.isPattern(/^[\w-]{1,64}$/)) })

const decodeHolder = Schema.decodeUnknownOption(Schema.fromJsonString(Holder))

/** A file that claims the folder. */
interface Claim {
  readonly file: string
  /** `None` where the file cannot be parsed: a crash of the machine can leave it empty. */
  readonly holder: Option.Option<typeof Holder.Type>
}

const inUse = (lock: string, { what }: Mine, { host, pid }: Owner.Owner) =>
  new FileLockError({
    file: lock,
    detail: `in use by process ${pid} on ${host}. Wait for it, end it (kill ${pid}), or choose another ${what}. ` +
      `If it no longer runs, delete ${lock}`
  })

const busy = (lock: string) =>
  new FileLockError({
    file: lock,
    detail: `other processes are opening it at the same time. Try again; if no process uses it, delete ${lock}*`
  })

const isAlreadyThere = (error: PlatformError) => error.reason._tag === "AlreadyExists"
const isMissing = (error: PlatformError) => error.reason._tag === "NotFound"

/** The file for the claim that follows a dead one. */
const successor = (lock: string, { holder }: Claim) =>
  `${lock}.${Option.match(holder, { onNone: () => "unreadable", onSome: ({ store }) => store })}`

const readClaim = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readFileString(file).pipe(
    Effect.map((text): Option.Option<Claim> => Option.some({ file, holder: decodeHolder(text) })),
    Effect.catchIf(isMissing, () => Effect.succeedNone)
  )
})

/** The lock, and the claims of stores that began to take it over, in order; the last one counts. */
const claims = Effect.fnUntraced(function*(lock: string) {
  const found: Array<Claim> = []
  let file = lock
  while (found.every((claim) => claim.file !== file)) {
    const claim = yield* readClaim(file)
    if (Option.isNone(claim)) break
    found.push(claim.value)
    file = successor(lock, claim.value)
  }
  return found
})

const isAbandoned = ({ holder }: Claim) =>
  Option.match(holder, { onNone: () => Effect.succeed(true), onSome: Owner.isGone })

/** Makes a file with all of its content at once; fails where it exists. */
const create = Effect.fnUntraced(function*(file: string, { content, store }: Mine) {
  const fs = yield* FileSystem.FileSystem
  const partial = `${file}.${store}.partial`
  yield* Effect.gen(function*() {
    const handle = yield* fs.open(partial, { flag: "w" })
    yield* handle.writeAll(new TextEncoder().encode(content))
    yield* handle.sync
    yield* fs.link(partial, file)
  }).pipe(Effect.scoped, Effect.ensuring(Effect.ignore(fs.remove(partial, { force: true }))))
})

/** The claim of this store. */
interface Mine {
  /** The purpose of the lock, as named in errors. */
  readonly what: string
  readonly store: string
  readonly content: string
}

const isMine = (claim: Claim | undefined, { store }: Mine) =>
  claim !== undefined && Option.exists(claim.holder, (holder) => holder.store === store)

/**
 * Takes over a lock whose process has ended. Only one process can create the file that follows a dead claim, and it counts only while it
 * can still be reached from the lock; a process that is killed meanwhile leaves one more dead claim.
 */
const takeOver = Effect.fnUntraced(function*(lock: string, mine: Mine) {
  const fs = yield* FileSystem.FileSystem
  const before = yield* claims(lock)
  const last = before.at(-1)
  if (last === undefined) return yield* busy(lock)
  if (!(yield* isAbandoned(last))) {
    return yield* Option.match(last.holder, {
      onNone: () => busy(lock),
      onSome: (holder) => inUse(lock, mine, holder)
    })
  }
  const file = successor(lock, last)
  yield* Effect.catchIf(create(file, mine), isAlreadyThere, () => Effect.fail(busy(lock)))
  yield* Effect.gen(function*() {
    if (!isMine((yield* claims(lock)).at(-1), mine)) return yield* busy(lock)
    yield* fs.rename(file, lock)
  }).pipe(Effect.tapError(() => Effect.ignore(fs.remove(file, { force: true }))))
  yield* Effect.forEach(before.slice(1), (claim) => Effect.ignore(fs.remove(claim.file)), { discard: true })
})

const acquire = (lock: string, mine: Mine) =>
  create(lock, mine).pipe(
    Effect.catchIf(isAlreadyThere, () => takeOver(lock, mine)),
    Effect.catchTag(
      "PlatformError",
      (error) => Effect.fail(new FileLockError({ file: lock, detail: FileFailure.describe(lock, error) }))
    )
  )

/** Removes the lock unless it belongs to another store, which is possible where a user has deleted it meanwhile. */
const release = Effect.fnUntraced(function*(lock: string, mine: Mine) {
  const fs = yield* FileSystem.FileSystem
  const claim = yield* readClaim(lock)
  if (isMine(Option.getOrUndefined(claim), mine)) yield* fs.remove(lock)
}, Effect.ignore({ log: true }))

/**
 * Holds the lock until the scope closes; one whose process was killed is taken over. `what` is what it is for.
 *
 * @example
 * const alone = Effect.scoped(Effect.andThen(FileLock.hold("runs/sums/lock", "run directory"), Effect.never))
 */
export const hold = Effect.fnUntraced(function*(lock: string, what: string) {
  const store = randomUUID()
  const content = JSON.stringify({ ...(yield* Owner.self), store })
  const mine: Mine = { what, store, content }
  yield* Effect.acquireRelease(acquire(lock, mine), () => release(lock, mine))
})

/** Whether a process holds the lock; one on another host is believed to live. */
export const isHeld = Effect.fnUntraced(function*(lock: string) {
  const last = (yield* claims(lock)).at(-1)
  return last !== undefined && !(yield* isAbandoned(last))
}, Effect.orElseSucceed(() => false))

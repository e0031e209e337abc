/** Gives a folder, such as a run directory or a server's checkpoints, one owner at a time across processes. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import { randomUUID } from "node:crypto"
import * as FileFailure from "./FileFailure.ts"
import * as Owner from "./Owner.ts"

/** Another process holds the lock, or the lock cannot be written. */
export class FileLockError extends Schema.TaggedError<FileLockError>()("FileLockError", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file}: ${this.detail}`
  }
}

/** The holder of a claim. `store` distinguishes several stores of one process and is part of file names. */
const Holder = Schema.Struct({ ...Owner.Owner.fields, store: Schema.String.check(Schema.isPattern(/^[\w-]{1,64}$/)) })

const decodeHolder = Schema.decodeUnknownOption(Schema.fromJsonString(Holder))

/** A file that claims the folder for a holder. */
interface Claim {
  readonly file: string
  /** `None` if the file cannot be parsed: a machine crash can leave it empty. */
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

/** The path of the claim that takes over from a dead claim. */
const successor = (lock: string, { holder }: Claim) =>
  `${lock}.${Option.match(holder, { onNone: () => "unreadable", onSome: ({ store }) => store })}`

const readClaim = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readFileString(file).pipe(
    Effect.map((text): Option.Option<Claim> => Option.some({ file, holder: decodeHolder(text) })),
    Effect.catchIf(isMissing, () => Effect.succeedNone)
  )
})

/** The claims in order: the lock, then the takeovers. The last claim is the valid one. */
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

/** Creates a file with its complete content. Fails if the file exists. */
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

/** This store's claim. */
interface Mine {
  /** What the lock protects, for error messages. */
  readonly what: string
  readonly store: string
  readonly content: string
}

const isMine = (claim: Claim | undefined, { store }: Mine) =>
  claim !== undefined && Option.exists(claim.holder, (holder) => holder.store === store)

/**
 * Takes over a lock whose process has ended. Only one process can create the file that follows a dead claim, and that file counts only
 * while it can be reached from the lock. A process that is killed during the takeover leaves one more dead claim.
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

/** Removes the lock, unless another store holds it because a user deleted this store's lock. */
const release = Effect.fnUntraced(function*(lock: string, mine: Mine) {
  const fs = yield* FileSystem.FileSystem
  const claim = yield* readClaim(lock)
  if (isMine(Option.getOrUndefined(claim), mine)) yield* fs.remove(lock)
}, Effect.ignore({ log: true }))

/**
 * Creates the file `lock` and holds it until the scope closes. If the file belongs to a process of this host that has ended, the lock is
 * taken over. Fails with `FileLockError` if the lock is held, even by this process. `what` names the protected resource in errors.
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

/** Whether a process holds the lock. A process on another host is assumed to be alive. False if the lock cannot be read. */
export const isHeld = Effect.fnUntraced(function*(lock: string) {
  const last = (yield* claims(lock)).at(-1)
  return last !== undefined && !(yield* isAbandoned(last))
}, Effect.orElseSucceed(() => false))

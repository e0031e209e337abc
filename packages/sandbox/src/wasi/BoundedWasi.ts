/** WASI for one program: files in memory, byte streams with limits, and no sockets or processes. */
import { WASI } from "@runno/wasi"
import type { Ending, Task } from "./Protocol.ts"
import * as SharedOutputs from "./SharedOutputs.ts"

/** WASI `errno` values. */
const success = 0
const noSuchFile = 44
const noSpace = 51
const notCapable = 76

/** Thrown to end the program. The WebAssembly instance cannot catch it. */
export class Ended extends Error {
  readonly ending: Ending
  constructor(ending: Ending) {
    super()
    this.ending = ending
  }
}

const clock = 0
/** The flag `subscription_clock_abstime`, with which a timeout is an absolute time. */
const absolute = 1

const nanosPerMilli = 1_000_000n

/** A file with a copy of the content, because a runno file grows into the whole buffer that its bytes belong to. */
const fileOf = (path: string, content: Uint8Array) => {
  const now = new Date(0)
  return {
    path: `/${path}`,
    mode: "binary" as const,
    content: new Uint8Array(content),
    timestamps: { access: now, modification: now, change: now }
  }
}

/** Waits without using processor time. */
const sleep = (millis: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.max(0, millis))

export class BoundedWasi extends WASI {
  readonly #task: Task
  #read = 0
  #written = 0

  constructor(task: Task) {
    super({
      args: [...task.argv],
      env: { ...task.environment },
      fs: Object.fromEntries([...task.files].map(([path, content]) => [`/${path}`, fileOf(path, content)]))
    })
    this.#task = task
  }

  #vectors(at: number, count: number): ReadonlyArray<Uint8Array> {
    const view = new DataView(this.memory.buffer)
    return Array.from(
      { length: count },
      (_, index) =>
        new Uint8Array(
          this.memory.buffer,
          view.getUint32(at + 8 * index, true),
          view.getUint32(at + 8 * index + 4, true)
        )
    )
  }

  #answer(at: number, value: number): number {
    new DataView(this.memory.buffer).setUint32(at, value, true)
    return success
  }

  /** Whether a file may grow to a length. Space of deleted files is not reclaimed. */
  #grows(descriptor: number, length: number): boolean {
    const [error, stat] = this.drive.stat(descriptor)
    const growth = error === success ? Math.max(0, length - stat.byteLength) : 0
    if (this.#written + growth > this.#task.disk) return false
    this.#written += growth
    return true
  }

  #end(descriptor: number): number {
    const [error, offset] = this.drive.tell(descriptor)
    const [, stat] = this.drive.stat(descriptor)
    return error === success
      ? Math.max(Number(offset), this.drive.fileFdflags(descriptor) & 1 ? stat?.byteLength ?? 0 : 0)
      : 0
  }

  #length(vectors: number, count: number): number {
    return this.#vectors(vectors, count).reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  override fd_read(descriptor: number, vectors: number, count: number, result: number): number {
    if (descriptor !== 0) return super.fd_read(descriptor, vectors, count, result)
    let total = 0
    for (const target of this.#vectors(vectors, count)) {
      const piece = this.#task.stdin.subarray(this.#read, this.#read + target.byteLength)
      target.set(piece)
      this.#read += piece.byteLength
      total += piece.byteLength
    }
    return this.#answer(result, total)
  }

  override fd_write(descriptor: number, vectors: number, count: number, result: number): number {
    const length = this.#length(vectors, count)
    if (descriptor !== 1 && descriptor !== 2) {
      return this.#grows(descriptor, this.#end(descriptor) + length)
        ? super.fd_write(descriptor, vectors, count, result)
        : noSpace
    }
    const of = descriptor === 1 ? "stdout" : "stderr"
    for (const bytes of this.#vectors(vectors, count)) {
      if (!SharedOutputs.add(this.#task.outputs, of, bytes)) throw new Ended({ _tag: "OutputLimit", of })
    }
    return this.#answer(result, length)
  }

  override fd_pwrite(descriptor: number, vectors: number, count: number, offset: bigint, result: number): number {
    if (descriptor === 1 || descriptor === 2) return this.fd_write(descriptor, vectors, count, result)
    return this.#grows(descriptor, Number(offset) + this.#length(vectors, count))
      ? super.fd_pwrite(descriptor, vectors, count, offset, result)
      : noSpace
  }

  override fd_allocate(descriptor: number, offset: bigint, length: bigint): number {
    return this.#grows(descriptor, Number(offset + length)) ? super.fd_allocate(descriptor, offset, length) : noSpace
  }

  override fd_filestat_set_size(descriptor: number, size: bigint): number {
    return this.#grows(descriptor, Number(size)) ? super.fd_filestat_set_size(descriptor, size) : noSpace
  }

  /** Reports a missing file as such, so Python raises `FileNotFoundError`. */
  override path_open(...given: Parameters<WASI["path_open"]>): number {
    const error = super.path_open(...given)
    return error === notCapable ? noSuchFile : error
  }

  override path_filestat_get(...given: Parameters<WASI["path_filestat_get"]>): number {
    const error = super.path_filestat_get(...given)
    return error === notCapable ? noSuchFile : error
  }

  /** Sleeps if a single clock is polled. */
  override poll_oneoff(subscriptions: number, events: number, count: number, result: number): number {
    const view = new DataView(this.memory.buffer)
    if (count !== 1 || view.getUint8(subscriptions + 8) !== clock) {
      return super.poll_oneoff(subscriptions, events, count, result)
    }
    const until = view.getBigUint64(subscriptions + 24, true)
    const isAbsolute = view.getUint16(subscriptions + 40, true) === absolute
    sleep(Number(until / nanosPerMilli) - (isAbsolute ? performance.timeOrigin + performance.now() : 0))
    new Uint8Array(this.memory.buffer, events, 32).fill(0)
    view.setBigUint64(events, view.getBigUint64(subscriptions, true), true)
    return this.#answer(result, 1)
  }

  override proc_exit(code: number): never {
    throw new Ended({ _tag: "Exited", code })
  }

  /** The current files, without the marker files of empty folders. */
  files(): ReadonlyMap<string, Uint8Array> {
    for (const descriptor of this.drive.openMap.keys()) this.drive.sync(descriptor)
    const entries = Object.entries(this.drive.fs).filter(([path]) => !path.endsWith("/.runno"))
    return new Map(
      entries.map((
        [path, { content }]
      ) => [path.slice(1), typeof content === "string" ? Buffer.from(content) : content])
    )
  }
}

/** The one memory all threads compute in, and how places in it are handed out. */

/** A byte offset into a memory. */
export type Address = number

/** A shared WebAssembly memory. `buffer` changes when it grows: take a new view for each use, never keep one. */
export interface Memory {
  readonly buffer: SharedArrayBuffer
  readonly grow: (pages: number) => number
}

declare const WebAssembly: {
  readonly Memory: new(options: { initial: number; maximum: number; shared: true }) => Memory
}

const pageBytes = 65_536
const maximumPages = 65_536
const alignment = 64

/** The first bytes stay unused, so that no place has address 0. */
const firstAddress = 1_024

/** Bytes that a place of this size takes. */
export const aligned = (bytes: number): number => Math.ceil(bytes / alignment) * alignment

/** Bytes that can be handed out. */
export const capacity = maximumPages * pageBytes - firstAddress

/** A memory that grows on demand up to 4 GiB. */
export const make = (): Memory => new WebAssembly.Memory({ initial: 16, maximum: maximumPages, shared: true })

export const floats = (memory: Memory, address: Address, count: number): Float32Array =>
  new Float32Array(memory.buffer, address, count)

export const integers = (memory: Memory, address: Address, count: number): Int32Array =>
  new Int32Array(memory.buffer, address, count)

export const addresses = (memory: Memory, address: Address, count: number): Uint32Array =>
  new Uint32Array(memory.buffer, address, count)

export const bytes = (memory: Memory, address: Address, count: number): Uint8Array =>
  new Uint8Array(memory.buffer, address, count)

/** Room for `count` four-byte values. */
export interface Allocator {
  readonly allocate: (count: number) => Address
}

/** A piece of the memory: plain data, so that it can be posted to a worker. */
export interface Region {
  readonly start: Address
  readonly bytes: number
}

export interface Reserver extends Allocator {
  readonly reserve: (bytes: number) => Region
  /** Bytes that are left. */
  readonly free: () => number
}

/** Hands out places that are never given back, growing the memory. Only the host owns one. */
export const reserver = (memory: Memory): Reserver => {
  let next = firstAddress
  const free = () => maximumPages * pageBytes - next
  const reserve = (size: number): Region => {
    const start = next
    const end = start + aligned(size)
    const missing = end - memory.buffer.byteLength
    if (end > maximumPages * pageBytes) {
      throw new RangeError(
        `the engine's memory is full: ${aligned(size)} bytes are needed, ${free()} of ${capacity} are free; ` +
          "close clients that are no longer used, or start the engine with fewer workers or models"
      )
    }
    if (missing > 0) memory.grow(Math.ceil(missing / pageBytes))
    next = end
    return { start, bytes: aligned(size) }
  }
  return { reserve, free, allocate: (count) => reserve(count * 4).start }
}

/** Adds up what an allocation would take. */
export const counter = (): Allocator & { readonly bytes: () => number } => {
  let bytes = 0
  return {
    allocate: (count) => {
      bytes += aligned(count * 4)
      return firstAddress
    },
    bytes: () => bytes
  }
}

/** Scratch space of one thread: places are taken in order and given back all at once. */
export interface Arena extends Allocator {
  readonly mark: () => number
  readonly reset: (mark: number) => void
  /** The most bytes that were in use at once. */
  readonly peak: () => number
}

export const arena = (region: Region): Arena => {
  const end = region.start + region.bytes
  let next = region.start
  let peak = next
  return {
    allocate: (count) => {
      const place = next
      next += aligned(count * 4)
      if (next > end) {
        throw new RangeError(
          `a scratch region of ${region.bytes} bytes is too small: ${next - region.start} are needed`
        )
      }
      peak = Math.max(peak, next)
      return place
    },
    mark: () => next,
    reset: (mark) => {
      next = mark
    },
    peak: () => peak - region.start
  }
}

/** Equal-sized places that come and go, such as adapters and their snapshots. */
export interface Slabs {
  readonly acquire: (count: number) => Address
  readonly release: (address: Address) => void
}

/** Freed slabs are reused by size; new ones come from the allocator. */
export const slabs = (allocator: Allocator): Slabs => {
  const free = new Map<number, Array<Address>>()
  const sizes = new Map<Address, number>()
  return {
    acquire: (count) => {
      const address = free.get(count)?.pop() ?? allocator.allocate(count)
      sizes.set(address, count)
      return address
    },
    release: (address) => {
      const count = sizes.get(address)
      if (count === undefined) throw new RangeError(`address ${address} holds no slab`)
      sizes.delete(address)
      free.set(count, [...(free.get(count) ?? []), address])
    }
  }
}

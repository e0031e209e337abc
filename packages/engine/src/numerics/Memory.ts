/** The memory that all threads compute in, and how places in it are handed out. */

/** A byte offset into a memory. */
export type Address = number

/**
 * A shared WebAssembly memory. `buffer` changes when the memory grows: take a new view for each use, never keep one.
 *
 * Another thread's growth reaches `buffer` by an interrupt, which a thread takes at its next function call or turn of a
 * loop, so `buffer` may be too short for an address that the other thread has just sent. `grow(0)` brings it up to date.
 */
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

/** The first bytes hold the constants of the kernels, so that no place has address 0. */
const firstAddress = 1_024

/** Bytes that a place of this size takes. */
export const aligned = (bytes: number): number => Math.max(1, Math.ceil(bytes / alignment)) * alignment

/** Bytes that can be handed out. */
export const capacity = maximumPages * pageBytes - firstAddress

/** A memory that grows on demand up to 4 GiB. */
export const make = (): Memory => new WebAssembly.Memory({ initial: 16, maximum: maximumPages, shared: true })

/** The buffer as another thread may have grown it, up to `end` at least. */
const bufferTo = (memory: Memory, end: Address): SharedArrayBuffer => {
  if (memory.buffer.byteLength < end) memory.grow(0)
  return memory.buffer
}

export const floats = (memory: Memory, address: Address, count: number): Float32Array =>
  new Float32Array(bufferTo(memory, address + count * 4), address, count)

export const integers = (memory: Memory, address: Address, count: number): Int32Array =>
  new Int32Array(bufferTo(memory, address + count * 4), address, count)

export const bytes = (memory: Memory, address: Address, count: number): Uint8Array =>
  new Uint8Array(bufferTo(memory, address + count), address, count)

export interface Allocator {
  /** Room for `count` four-byte values. */
  readonly allocate: (count: number) => Address
}

/** A piece of the memory: plain data, so that it can be posted to a worker. */
export interface Region {
  readonly start: Address
  readonly bytes: number
}

/** Room in a memory for things that come and go, such as models, adapters and their snapshots. */
export interface Reserver extends Allocator {
  readonly reserve: (bytes: number) => Region
  /** Gives a place back, which joins the free pieces beside it. */
  readonly release: (address: Address) => void
  /** Bytes that are left, in one piece or several. */
  readonly free: () => number
}

/** The smallest free piece that is large enough. */
const bestFit = (pieces: ReadonlyArray<Region>, size: number): number => {
  let best = -1
  let least = Infinity
  for (let i = 0; i < pieces.length; i++) {
    const bytes = pieces[i]?.bytes ?? 0
    if (bytes < size || bytes >= least) continue
    best = i
    least = bytes
  }
  return best
}

/** Index of the first piece that starts after an address. */
const firstAfter = (pieces: ReadonlyArray<Region>, address: Address): number => {
  let low = 0
  let high = pieces.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((pieces[middle]?.start ?? 0) < address) low = middle + 1
    else high = middle
  }
  return low
}

/** Hands out places by best fit and grows the memory when no free piece is large enough. Only the host owns one. */
export const reserver = (memory: Memory): Reserver => {
  let top = firstAddress
  /** Ordered by address; no two touch each other or the top. */
  const pieces: Array<Region> = []
  const taken = new Map<Address, number>()
  let used = 0

  const raiseTop = (size: number): Address => {
    const start = top
    const end = start + size
    if (end > maximumPages * pageBytes) {
      throw new RangeError(
        `the engine's memory is full: ${size} bytes are needed, ${capacity - used} of ${capacity} are free; ` +
          "close clients that are no longer used, or start the engine with fewer workers or models"
      )
    }
    const missing = end - memory.buffer.byteLength
    if (missing > 0) memory.grow(Math.ceil(missing / pageBytes))
    top = end
    return start
  }

  const takePiece = (index: number, { bytes, start }: Region, size: number): Address => {
    if (bytes === size) pieces.splice(index, 1)
    else pieces[index] = { start: start + size, bytes: bytes - size }
    return start
  }

  const reserve = (bytes: number): Region => {
    const size = aligned(bytes)
    const index = bestFit(pieces, size)
    const piece = pieces[index]
    const start = piece === undefined ? raiseTop(size) : takePiece(index, piece, size)
    taken.set(start, size)
    used += size
    return { start, bytes: size }
  }

  const release = (address: Address) => {
    const size = taken.get(address)
    if (size === undefined) throw new RangeError(`address ${address} is not reserved`)
    taken.delete(address)
    used -= size
    let [start, end] = [address, address + size]
    const index = firstAfter(pieces, address)
    const [before, after] = [pieces[index - 1], pieces[index]]
    const joinsBefore = before !== undefined && before.start + before.bytes === start
    const joinsAfter = after !== undefined && after.start === end
    if (joinsBefore) start = before.start
    if (joinsAfter) end += after.bytes
    const joined = end === top ? [] : [{ start, bytes: end - start }]
    if (end === top) top = start
    pieces.splice(index - Number(joinsBefore), Number(joinsBefore) + Number(joinsAfter), ...joined)
  }

  return { reserve, release, free: () => capacity - used, allocate: (count) => reserve(count * 4).start }
}

/** An allocator that only adds up sizes. */
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
  /** Continues in another region; no place may be in use. */
  readonly move: (region: Region) => void
  /** Bytes that are left. */
  readonly free: () => number
  /** The most bytes that were in use at once. */
  readonly peak: () => number
}

/** An arena in a region, or without any space until it is moved to one. */
export const arena = (region: Region = { start: firstAddress, bytes: 0 }): Arena => {
  let { bytes, start } = region
  let next = start
  let peak = 0
  return {
    allocate: (count) => {
      const place = next
      next += aligned(count * 4)
      if (next > start + bytes) {
        throw new RangeError(`a scratch region of ${bytes} bytes is too small: ${next - start} are needed`)
      }
      peak = Math.max(peak, next - start)
      return place
    },
    mark: () => next,
    reset: (mark) => {
      next = mark
    },
    move: (region) => {
      if (next !== start) throw new RangeError(`${next - start} bytes of the scratch region are in use`)
      start = region.start
      bytes = region.bytes
      next = start
    },
    free: () => start + bytes - next,
    peak: () => peak
  }
}

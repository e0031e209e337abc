/** The memory in which all threads compute, and its allocators. */

/** A byte offset into a memory. */
export type Address = number

/**
 * A shared WebAssembly memory. `buffer` changes when the memory grows, so take a new view for each use. When another thread grows the
 * memory, `buffer` is updated by an interrupt, which a thread handles at its next function call or loop iteration. Until then `buffer` may
 * be too short for an address from the other thread; `grow(0)` updates it.
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

/** The first bytes hold the kernels' constants, so no allocation has address 0. */
const firstAddress = 1_024

/** The bytes that an allocation of this size takes. */
export const aligned = (bytes: number): number => Math.max(1, Math.ceil(bytes / alignment)) * alignment

/** The number of bytes that can be allocated. */
export const capacity = maximumPages * pageBytes - firstAddress

/** Creates a memory that grows on demand up to 4 GiB. */
export const make = (): Memory => new WebAssembly.Memory({ initial: 16, maximum: maximumPages, shared: true })

/** The current buffer, which reaches at least to `end` even if another thread has grown the memory. */
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
  /** Allocates `count` four-byte values. Throws `RangeError` if there is no space. */
  readonly allocate: (count: number) => Address
}

/** A range of the memory. Plain data that can be posted to a worker. */
export interface Region {
  readonly start: Address
  readonly bytes: number
}

/** Allocates and frees what lives longer than a computation: models, adapters, snapshots, caches and the arenas of the compute threads. */
export interface Reserver extends Allocator {
  readonly reserve: (bytes: number) => Region
  /** Frees an allocation and merges it with adjacent free pieces. */
  readonly release: (address: Address) => void
  /** The number of free bytes, in one piece or several. */
  readonly free: () => number
}

/** The index of the smallest free piece that is large enough; -1 if there is none. */
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

/** The index of the first piece that starts at or after an address; the number of pieces if there is none. */
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

/** Allocates by best fit and grows the memory when no free piece is large enough. Only the host owns a reserver. */
export const reserver = (memory: Memory): Reserver => {
  let top = firstAddress
  /** The free pieces, ordered by address. No piece touches another piece or the top. */
  const pieces: Array<Region> = []
  const taken = new Map<Address, number>()
  let used = 0

  const raiseTop = (size: number): Address => {
    const start = top
    const end = start + size
    if (end > maximumPages * pageBytes) {
      throw new RangeError(
        `the engine's memory is full: ${size} bytes are needed, ${capacity - used} of ${capacity} are free; ` +
          "close unused clients, or start the engine with fewer workers or models"
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

/** An allocator that adds up sizes without allocating memory. All its addresses are the same. */
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

/** A thread's scratch space: allocations are made in order and freed together. */
export interface Arena extends Allocator {
  readonly mark: () => number
  readonly reset: (mark: number) => void
  /** Moves the arena to another region. No allocation may be in use. */
  readonly move: (region: Region) => void
  /** The number of bytes that are left. */
  readonly free: () => number
  /** The largest number of bytes that were in use at the same time. */
  readonly peak: () => number
}

/** Creates an arena in a region, or an empty one that `move` places later. */
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

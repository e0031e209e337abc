/** A thread's key-value cache. Samples hold pages of it and share the pages of a common prefix. */
import { Pages } from "./Pages.ts"
import { type Stretch, stretchesOf } from "./PageSegments.ts"
import * as PrefixIndex from "./PrefixIndex.ts"
import { isScored, positionsOf, prefixLength, type Sample, tokenAt } from "./Sample.ts"

/** The number of positions in a cache and in one of its pages. */
export interface Geometry {
  /** The number of positions in all pages, at least as many as the longest sequence needs. */
  readonly positions: number
  readonly pageSize: number
}

/** A sample's place in the cache. After the sample ends, its pages stay available to samples with a common prefix until they are needed. */
export class Place implements PrefixIndex.Cached {
  /** The sample's pages, in position order. */
  pages: ReadonlyArray<number>
  /** The same pages as contiguous stretches of the cache. */
  readonly stretches: ReadonlyArray<Stretch>
  readonly holder: Sample
  /** The number of positions that were already cached when the sample began. */
  readonly shared: number

  constructor(holder: Sample, pages: ReadonlyArray<number>, pageSize: number, shared: number) {
    this.holder = holder
    this.pages = pages
    this.stretches = stretchesOf(pages, pageSize)
    this.shared = shared
  }

  get weights() {
    return this.holder.order.weights
  }

  get promptLength() {
    return this.holder.order.prompt.length
  }

  get computed() {
    return this.holder.computed
  }

  readonly tokenAt = (position: number) => tokenAt(this.holder, position)
}

/** Copies the first `length` positions of one page to another. Copies run in order, before spans are computed. */
export interface Copy {
  readonly from: number
  readonly to: number
  readonly length: number
}

export class PagedCache {
  private readonly pages: Pages
  /** The number of running samples that hold each page. */
  private readonly users: Int32Array
  /** The number of pages that no running sample holds. */
  private unneeded: number
  /** Places of ended samples, least recently used first. */
  private readonly idle = new Set<Place>()
  private readonly prefixes = new PrefixIndex.PrefixIndex<Place>()
  private readonly geometry: Geometry

  constructor(geometry: Geometry) {
    this.geometry = geometry
    this.unneeded = Math.floor(geometry.positions / geometry.pageSize)
    this.pages = new Pages(this.unneeded)
    this.users = new Int32Array(this.unneeded)
  }

  /** The number of positions in pages that no running sample holds. */
  get free(): number {
    return this.unneeded * this.geometry.pageSize
  }

  /**
   * Gives a sample a place that reuses the cached part of its prompt. The place shares whole pages, and `copies` fill the common part of
   * the first page that differs. Undefined if there are too few pages.
   */
  begin(sample: Sample): { readonly place: Place; readonly copies: ReadonlyArray<Copy> } | undefined {
    const { order } = sample
    const { pageSize } = this.geometry
    const known = isScored(sample)
      ? undefined
      : this.prefixes.longest(order.weights, order.prompt, prefixLength(order))
    const { cached, length } = known ?? { cached: undefined, length: 0 }
    const whole = Math.floor(length / pageSize)
    const rest = length % pageSize
    const source = rest > 0 ? cached?.pages[whole] : undefined
    const place = this.place(sample, cached?.pages.slice(0, whole) ?? [], source, length)
    if (place === undefined) return undefined
    if (cached !== undefined && this.idle.delete(cached)) this.idle.add(cached)
    this.use(place, 1)
    const to = place.pages[whole]
    const isCopied = source !== undefined && to !== undefined && place.shared === length
    return { place, copies: isCopied ? [{ from: source, to, length: rest }] : [] }
  }

  /** Lets other samples share the positions that this place's sample has computed so far. */
  computed(place: Place) {
    this.prefixes.update(place)
  }

  /** Ends a sample's use of its place. Computed pages stay cached until they are needed; unused pages become free at once. */
  end(place: Place) {
    this.use(place, -1)
    if (place.computed === place.shared) return this.drop(place)
    const reached = Math.ceil(place.computed / this.geometry.pageSize)
    this.pages.release(place.pages.slice(reached))
    place.pages = place.pages.slice(0, reached)
    this.idle.add(place)
  }

  /** Holds the shared pages and takes the missing ones. Nothing is copied if the source page itself has to be taken. */
  private place(sample: Sample, shared: ReadonlyArray<number>, source: number | undefined, length: number) {
    const { pageSize } = this.geometry
    const missing = Math.ceil(positionsOf(sample.order) / pageSize) - shared.length
    const kept = source === undefined ? shared : [...shared, source]
    this.pages.hold(kept)
    const own = this.take(missing)
    this.pages.release(kept.slice(shared.length))
    if (own !== undefined) return new Place(sample, [...shared, ...own], pageSize, length)
    const last = source === undefined ? undefined : this.take(missing)
    if (last !== undefined) return new Place(sample, [...shared, ...last], pageSize, shared.length * pageSize)
    this.pages.release(shared)
    return undefined
  }

  /** Adds or removes one running sample as a user of each page. */
  private use({ pages }: Place, change: 1 | -1) {
    for (const page of pages) {
      const before = this.users[page] ?? 0
      this.users[page] = before + change
      if (before === 0) this.unneeded--
      if (before + change === 0) this.unneeded++
    }
  }

  private drop(place: Place) {
    this.pages.release(place.pages)
    this.idle.delete(place)
    this.prefixes.remove(place)
  }

  /** Takes `count` pages, evicting the least recently used idle places if necessary. Undefined if too few pages can be freed. */
  private take(count: number): ReadonlyArray<number> | undefined {
    if (count > this.unneeded) return undefined
    for (const victim of this.idle) {
      if (this.pages.free >= count) break
      this.drop(victim)
    }
    return this.pages.take(count)
  }
}

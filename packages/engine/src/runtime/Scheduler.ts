/** Continuous batching as a state machine: which rows of which samples the next forward pass computes. */
import { Pages } from "./Pages.ts"
import { type Stretch, stretchesOf } from "./PageSegments.ts"
import { type Cached, PrefixIndex } from "./PrefixIndex.ts"

/** One request to a model: `samples` continuations of one prompt. */
export interface Order {
  readonly id: number
  /** Identity of the weights; samples of one identity and prompt share the prompt's computation. */
  readonly weights: number
  readonly prompt: Int32Array
  readonly samples: number
  /** 0 where only the prompt is scored. */
  readonly maxTokens: number
  /** Also compute logits at every prompt position, once per order. */
  readonly scorePrompt: boolean
}

/** Where one sample lies in the cache. It stays there for others that begin alike, until its pages are needed. */
class Place implements Cached {
  /** In the order of the positions, as many to a page as it has room for. */
  pages: ReadonlyArray<number>
  /** Where these lie. */
  readonly stretches: ReadonlyArray<Stretch>
  readonly holder: Sample
  /** Positions that were there when the sample began. */
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

/** One continuation in progress: known tokens are the prompt and `tokens`, the first `computed` of them are in the cache. */
export interface Sample {
  readonly order: Order
  readonly index: number
  readonly tokens: Array<number>
  place: Place | undefined
  computed: number
}

/** Positions `from`–`to` (exclusive) of one sample, with logits wanted from `logitsFrom` on. */
export interface Span {
  readonly sample: Sample
  readonly from: number
  readonly to: number
  readonly logitsFrom: number
}

/** The first `length` positions of a page go to another, in the order of the copies, before the spans are computed. */
export interface Copy {
  readonly from: number
  readonly to: number
  readonly length: number
}

/** One forward pass; spans of equal weights are adjacent. */
export interface Step {
  readonly copies: ReadonlyArray<Copy>
  readonly spans: ReadonlyArray<Span>
}

export interface Limits {
  /** Most samples of one step. */
  readonly sequences: number
  /** Positions of the cache; at least those of the longest sequence, in whole pages. */
  readonly positions: number
  /** Positions of a page. */
  readonly pageSize: number
  /** Prompt rows of one step; every running sample adds one more. */
  readonly prefillRows: number
}

interface Waiting {
  readonly sample: Sample
  readonly prefixKey: string
}

const isScored = (sample: Sample) => sample.order.scorePrompt && sample.index === 0

/** A prompt's last token is computed by every sample itself: its logits are the first to sample from. */
const prefixLength = (order: Order) => order.prompt.length - 1

const knownTokens = ({ order, tokens }: Sample) =>
  order.maxTokens === 0 ? prefixLength(order) : order.prompt.length + tokens.length

/** The last token is never read again. */
const positionsOf = ({ maxTokens, prompt }: Order) => prompt.length + Math.max(maxTokens, 1) - 1

/** The token at a position of the prompt or of the sampled tokens. */
export const tokenAt = ({ order, tokens }: Sample, position: number) =>
  (position < order.prompt.length ? order.prompt[position] : tokens[position - order.prompt.length]) ?? 0

export class Scheduler {
  /** By order, in the order of arrival. */
  private readonly waiting = new Map<number, Array<Waiting>>()
  private running: Array<Sample> = []
  /** Running samples of each order that has some. */
  private readonly runningOf = new Map<number, number>()
  private readonly pages: Pages
  /** Places of finished samples, longest unused first. */
  private readonly idle = new Set<Place>()
  private readonly prefixes = new PrefixIndex<Place>()
  /** The sample that computes a prompt from some token on. */
  private readonly computing = new Map<string, Sample>()
  private readonly limits: Limits

  constructor(limits: Limits) {
    this.limits = limits
    this.pages = new Pages(Math.floor(limits.positions / limits.pageSize))
  }

  /** `free` are the positions of all pages that no running sample holds. */
  get stats() {
    const held = new Set(this.running.flatMap(({ place }) => place?.pages ?? []))
    const waiting = [...this.waiting.values()].reduce((sum, { length }) => sum + length, 0)
    const { pageSize, positions } = this.limits
    const free = (Math.floor(positions / pageSize) - held.size) * pageSize
    return { waiting, running: this.running.length, free }
  }

  /** Queues all samples of an order and returns them. */
  add(order: Order): ReadonlyArray<Sample> {
    const prefixKey = `${order.weights}:${order.prompt.join()}`
    const samples = Array.from(
      { length: order.samples },
      (_, index): Sample => ({ order, index, tokens: [], place: undefined, computed: 0 })
    )
    this.waiting.set(order.id, samples.map((sample) => ({ sample, prefixKey })))
    return samples
  }

  /** Drops an order's waiting and running samples. */
  cancel(id: number) {
    this.waiting.delete(id)
    for (const sample of this.running.filter(({ order }) => order.id === id)) this.finish(sample)
  }

  /** The next forward pass, or undefined when there is nothing to do. */
  plan(): Step | undefined {
    const copies = this.admit()
    let prefillRows = this.limits.prefillRows
    const spans: Array<Span> = []
    for (const sample of this.running) {
      const missing = knownTokens(sample) - sample.computed
      const rows = sample.tokens.length > 0 ? missing : Math.min(missing, prefillRows)
      if (sample.tokens.length === 0) prefillRows -= rows
      if (rows > 0) spans.push(this.span(sample, rows))
    }
    if (spans.length === 0) return undefined
    return { copies, spans: spans.sort((left, right) => left.sample.order.weights - right.sample.order.weights) }
  }

  /** Records that a step's rows are in the cache. */
  computed(step: Step) {
    for (const { sample, to } of step.spans) {
      sample.computed = to
      if (sample.place !== undefined) this.prefixes.update(sample.place)
    }
  }

  /** Ends a running sample. What it has computed stays until the pages are needed; those it has not reached are free at once. */
  finish(sample: Sample) {
    const { order, place } = sample
    if (place === undefined) return
    this.running = this.running.filter((other) => other !== sample)
    sample.place = undefined
    const others = (this.runningOf.get(order.id) ?? 1) - 1
    if (others === 0) this.runningOf.delete(order.id)
    else this.runningOf.set(order.id, others)
    if (sample.computed === place.shared) return this.drop(place)
    const reached = Math.ceil(sample.computed / this.limits.pageSize)
    this.pages.release(place.pages.slice(reached))
    place.pages = place.pages.slice(0, reached)
    this.idle.add(place)
  }

  private drop(place: Place) {
    this.pages.release(place.pages)
    this.idle.delete(place)
    this.prefixes.remove(place)
  }

  private span(sample: Sample, rows: number): Span {
    const from = sample.computed
    const to = from + rows
    const logitsFrom = isScored(sample) ? from : Math.min(to, Math.max(from, prefixLength(sample.order)))
    return { sample, from, to, logitsFrom }
  }

  private admit(): ReadonlyArray<Copy> {
    const copies: Array<Copy> = []
    let prefillRows = this.limits.prefillRows -
      this.running.reduce((rows, { order, computed }) => rows + Math.max(0, order.prompt.length - computed), 0)
    while (this.running.length < this.limits.sequences && prefillRows > 0) {
      const next = this.next()
      const copy = next && this.start(next)
      if (next === undefined || copy === undefined) break
      copies.push(...copy)
      this.leaveQueue(next.sample.order.id)
      prefillRows -= next.sample.order.prompt.length - next.sample.computed
    }
    return copies
  }

  /**
   * The sample to begin: of the order with the fewest running samples, the earliest among equals, so that an order of
   * many samples does not keep others waiting. Samples whose prompt another one is computing are passed over.
   */
  private next(): Waiting | undefined {
    let found: Waiting | undefined
    let fewest = Infinity
    for (const [id, [first]] of this.waiting) {
      const running = this.runningOf.get(id) ?? 0
      if (first === undefined || running >= fewest || this.isBeingComputed(first)) continue
      found = first
      fewest = running
      if (running === 0) break
    }
    return found
  }

  private leaveQueue(id: number) {
    const others = this.waiting.get(id)
    others?.shift()
    if (others?.length === 0) this.waiting.delete(id)
  }

  /** Whether another sample is computing this one's prompt right now. */
  private isBeingComputed({ prefixKey, sample }: Waiting) {
    const other = this.computing.get(prefixKey)
    if (other === undefined || isScored(sample)) return false
    if (other.place !== undefined && other.computed < prefixLength(other.order)) return true
    this.computing.delete(prefixKey)
    return false
  }

  /**
   * Gives a sample its place, with what lies in the cache of its prompt: whole pages are shared, of the last one what is alike is
   * copied. Undefined where there are not enough pages.
   */
  private start({ prefixKey, sample }: Waiting): ReadonlyArray<Copy> | undefined {
    const { order } = sample
    const { pageSize } = this.limits
    const known = isScored(sample)
      ? undefined
      : this.prefixes.longest(order.weights, order.prompt, prefixLength(order))
    const { cached, length } = known ?? { cached: undefined, length: 0 }
    const whole = Math.floor(length / pageSize)
    const shared = cached?.pages.slice(0, whole) ?? []
    const rest = length % pageSize
    const source = rest > 0 ? cached?.pages[whole] : undefined
    const place = this.place(sample, shared, source, length)
    if (place === undefined) return undefined
    if (cached !== undefined && this.idle.delete(cached)) this.idle.add(cached)
    this.run(sample, place)
    if (place.shared < prefixLength(order) && !this.computing.has(prefixKey)) this.computing.set(prefixKey, sample)
    const to = place.pages[whole]
    return source === undefined || to === undefined || place.shared < length ? [] : [{ from: source, to, length: rest }]
  }

  /** Holds the shared pages and takes the others, without the copy where the page that it is copied from is needed itself. */
  private place(sample: Sample, shared: ReadonlyArray<number>, source: number | undefined, length: number) {
    const { pageSize } = this.limits
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

  private run(sample: Sample, place: Place) {
    const { id } = sample.order
    sample.place = place
    sample.computed = place.shared
    this.running.push(sample)
    this.runningOf.set(id, (this.runningOf.get(id) ?? 0) + 1)
  }

  /** Takes pages, from idle places where too few are free. */
  private take(count: number): ReadonlyArray<number> | undefined {
    for (const victim of this.idle) {
      if (this.pages.free >= count) break
      this.drop(victim)
    }
    return this.pages.take(count)
  }
}

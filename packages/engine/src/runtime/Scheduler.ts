/** Continuous batching as a state machine: decides which rows of which samples the next forward pass computes. */
import { type Copy, type Geometry, PagedCache } from "./PagedCache.ts"
import { isScored, knownTokens, type Order, prefixLength, type Sample } from "./Sample.ts"

/** Positions `from` to `to` (exclusive) of one sample; logits are needed from `logitsFrom` on. */
export interface Span {
  readonly sample: Sample
  readonly from: number
  readonly to: number
  readonly logitsFrom: number
}

/** One forward pass. Spans with equal weights are adjacent. */
export interface Step {
  readonly copies: ReadonlyArray<Copy>
  readonly spans: ReadonlyArray<Span>
}

export interface Limits extends Geometry {
  /** Maximum samples in one step. */
  readonly sequences: number
  /** Maximum prompt rows per step; every running sample adds one more row. */
  readonly prefillRows: number
}

interface Waiting {
  readonly sample: Sample
  readonly prefixKey: string
}

export class Scheduler {
  /** Waiting samples by order, in order of arrival. */
  private readonly waiting = new Map<number, Array<Waiting>>()
  private running: Array<Sample> = []
  /** The number of running samples, by order id. */
  private readonly runningOf = new Map<number, number>()
  private readonly cache: PagedCache
  /** The sample that is computing a prompt, by the prompt's key. */
  private readonly computing = new Map<string, Sample>()
  private readonly limits: Limits

  constructor(limits: Limits) {
    this.limits = limits
    this.cache = new PagedCache(limits)
  }

  get stats() {
    const waiting = [...this.waiting.values()].reduce((sum, { length }) => sum + length, 0)
    return { waiting, running: this.running.length, free: this.cache.free }
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

  /** Removes an order's waiting and running samples. */
  cancel(id: number) {
    this.waiting.delete(id)
    for (const sample of this.running.filter(({ order }) => order.id === id)) this.finish(sample)
  }

  /** Plans the next forward pass; undefined if there is nothing to do. */
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
      if (sample.place !== undefined) this.cache.computed(sample.place)
    }
  }

  /** Ends a running sample and its use of the cache. */
  finish(sample: Sample) {
    const { order, place } = sample
    if (place === undefined) return
    this.running = this.running.filter((other) => other !== sample)
    sample.place = undefined
    const others = (this.runningOf.get(order.id) ?? 1) - 1
    if (others === 0) this.runningOf.delete(order.id)
    else this.runningOf.set(order.id, others)
    this.cache.end(place)
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
   * The next sample to start. It belongs to the order with the fewest running samples, so an order with many samples does not block others;
   * ties go to the earliest order. Samples whose prompt another sample is computing are skipped.
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

  /** Whether another sample is currently computing this sample's prompt. */
  private isBeingComputed({ prefixKey, sample }: Waiting) {
    const other = this.computing.get(prefixKey)
    if (other === undefined || isScored(sample)) return false
    if (other.place !== undefined && other.computed < prefixLength(other.order)) return true
    this.computing.delete(prefixKey)
    return false
  }

  /** Starts a sample with the cached part of its prompt; undefined if the cache has no space for it. */
  private start({ prefixKey, sample }: Waiting): ReadonlyArray<Copy> | undefined {
    const begun = this.cache.begin(sample)
    if (begun === undefined) return undefined
    const { order } = sample
    const { copies, place } = begun
    sample.place = place
    sample.computed = place.shared
    this.running.push(sample)
    this.runningOf.set(order.id, (this.runningOf.get(order.id) ?? 0) + 1)
    if (place.shared < prefixLength(order) && !this.computing.has(prefixKey)) this.computing.set(prefixKey, sample)
    return copies
  }
}

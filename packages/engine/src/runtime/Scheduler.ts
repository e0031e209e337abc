/** Continuous batching as a state machine: which rows of which samples the next forward pass computes. */
import { type Piece, Positions } from "./Positions.ts"
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

/** The positions of one sample in the cache. They stay there for others that begin alike, until the positions are needed. */
class Place implements Piece, Cached {
  readonly start: number
  readonly length: number
  /** The sample that computes here, or did last. */
  holder: Sample
  isIdle = false
  isGone = false

  constructor({ length, start }: Piece, holder: Sample) {
    this.start = start
    this.length = length
    this.holder = holder
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

/** `length` positions of the cache go from one start to another, before the spans are computed. */
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
  /** Positions of the cache; at least those of the longest sequence. */
  readonly positions: number
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
  private readonly positions: Positions<Place>
  /** Places of finished samples, longest unused first. */
  private readonly idle = new Set<Place>()
  private readonly prefixes = new PrefixIndex<Place>()
  /** The sample that computes a prompt from some token on. */
  private readonly computing = new Map<string, Sample>()
  private readonly limits: Limits

  constructor(limits: Limits) {
    this.limits = limits
    this.positions = new Positions(limits.positions)
  }

  get stats() {
    const idle = [...this.idle].reduce((sum, { length }) => sum + length, 0)
    const waiting = [...this.waiting.values()].reduce((sum, { length }) => sum + length, 0)
    return { waiting, running: this.running.length, free: this.positions.free + idle }
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

  /** Frees the place of a running sample; what it has computed stays until the place is needed. */
  finish(sample: Sample) {
    const { order, place } = sample
    if (place === undefined) return
    this.running = this.running.filter((other) => other !== sample)
    sample.place = undefined
    const others = (this.runningOf.get(order.id) ?? 1) - 1
    if (others === 0) this.runningOf.delete(order.id)
    else this.runningOf.set(order.id, others)
    place.isIdle = true
    this.idle.add(place)
  }

  private drop(place: Place) {
    place.isGone = true
    this.positions.giveBack(place)
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

  /** Gives a sample its place and what lies in the cache of its prompt; undefined where no place is large enough. */
  private start({ prefixKey, sample }: Waiting): ReadonlyArray<Copy> | undefined {
    const { order } = sample
    const known = isScored(sample)
      ? undefined
      : this.prefixes.longest(order.weights, order.prompt, prefixLength(order))
    if (known?.cached.isIdle === true && this.isWhole(known, order)) {
      this.reuse(known.cached, sample)
      return []
    }
    const place = this.take(positionsOf(order), sample, known?.cached)
    if (place === undefined) return undefined
    const shared = known === undefined || known.cached.isGone ? 0 : known.length
    this.run(sample, place, shared)
    if (shared < prefixLength(order) && !this.computing.has(prefixKey)) this.computing.set(prefixKey, sample)
    return known === undefined || shared === 0 ? [] : [{ from: known.cached.start, to: place.start, length: shared }]
  }

  /** Whether a place has all of an order's prompt, and room for the rest. */
  private isWhole({ cached, length }: { readonly cached: Place; readonly length: number }, order: Order) {
    return length === prefixLength(order) && cached.length >= positionsOf(order)
  }

  private reuse(place: Place, sample: Sample) {
    this.prefixes.remove(place)
    this.idle.delete(place)
    place.isIdle = false
    place.holder = sample
    this.run(sample, place, prefixLength(sample.order))
    this.prefixes.update(place)
  }

  private run(sample: Sample, place: Place, computed: number) {
    const { id } = sample.order
    sample.place = place
    sample.computed = computed
    this.running.push(sample)
    this.runningOf.set(id, (this.runningOf.get(id) ?? 0) + 1)
  }

  /** Takes positions, from idle places where there is no gap; `wanted` is given up last. */
  private take(length: number, holder: Sample, wanted: Place | undefined): Place | undefined {
    const make = (piece: Piece) => new Place(piece, holder)
    const victims = [...this.idle].filter((place) => place !== wanted)
    if (wanted?.isIdle === true) victims.push(wanted)
    let place = this.positions.take(length, make)
    for (const victim of victims) {
      if (place !== undefined) break
      this.drop(victim)
      place = this.positions.take(length, make)
    }
    return place
  }
}

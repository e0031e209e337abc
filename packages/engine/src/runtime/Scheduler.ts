/** Continuous batching as a state machine: which rows of which samples the next forward pass computes. */

/** What one request asks of a model: `samples` continuations of one prompt. */
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

/** One continuation in progress: known tokens are the prompt and `tokens`, the first `computed` of them are in the slot. */
export interface Sample {
  readonly order: Order
  readonly index: number
  readonly tokens: Array<number>
  slot: number
  computed: number
}

/** Positions `from`–`to` (exclusive) of one sample, with logits wanted from `logitsFrom` on. */
export interface Span {
  readonly sample: Sample
  readonly from: number
  readonly to: number
  readonly logitsFrom: number
}

/** The first `length` positions of one slot's cache go to another's, before the spans are computed. */
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
  readonly slots: number
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

/** The token at a position of the prompt or of what was sampled. */
export const tokenAt = ({ order, tokens }: Sample, position: number) =>
  (position < order.prompt.length ? order.prompt[position] : tokens[position - order.prompt.length]) ?? 0

export class Scheduler {
  private waiting: Array<Waiting> = []
  private running: Array<Sample> = []
  /** Longest unused first, so that prefixes in free slots live long. */
  private readonly free: Array<number>
  private readonly slotKeys = new Map<number, string>()
  /** The sample whose slot holds, or will hold, a prefix. */
  private readonly prefixes = new Map<string, { readonly owner: Sample; readonly slot: number }>()
  private readonly limits: Limits

  constructor(limits: Limits) {
    this.limits = limits
    this.free = Array.from({ length: limits.slots }, (_, slot) => slot)
  }

  get stats() {
    return { waiting: this.waiting.length, running: this.running.length, free: this.free.length }
  }

  /** Queues all samples of an order and returns them. */
  add(order: Order): ReadonlyArray<Sample> {
    const prefixKey = `${order.weights}:${order.prompt.join()}`
    const samples = Array.from(
      { length: order.samples },
      (_, index): Sample => ({ order, index, tokens: [], slot: -1, computed: 0 })
    )
    for (const sample of samples) this.waiting.push({ sample, prefixKey })
    return samples
  }

  /** Drops an order's waiting and running samples. */
  cancel(id: number) {
    this.waiting = this.waiting.filter(({ sample }) => sample.order.id !== id)
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
    for (const { sample, to } of step.spans) sample.computed = to
  }

  /** Frees a running sample's slot; its prefix stays usable until the slot is given away. */
  finish(sample: Sample) {
    this.running = this.running.filter((other) => other !== sample)
    this.free.push(sample.slot)
    if (sample.computed >= prefixLength(sample.order)) return
    const key = this.slotKeys.get(sample.slot)
    if (key !== undefined && this.prefixes.get(key)?.owner === sample) this.prefixes.delete(key)
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
    const skipped: Array<Waiting> = []
    let next = 0
    for (; next < this.waiting.length && this.free.length > 0 && prefillRows > 0; next++) {
      const waiting = this.waiting[next]
      if (waiting === undefined) continue
      if (this.isBeingComputed(waiting)) skipped.push(waiting)
      else {
        copies.push(...this.place(waiting))
        prefillRows -= waiting.sample.order.prompt.length - waiting.sample.computed
      }
    }
    this.waiting = skipped.concat(this.waiting.slice(next))
    return copies
  }

  /** Whether another sample is computing this one's prefix right now. */
  private isBeingComputed({ prefixKey, sample }: Waiting) {
    const prefix = this.prefixes.get(prefixKey)
    return prefix !== undefined && !isScored(sample) && prefix.owner.computed < prefixLength(sample.order)
  }

  private place({ prefixKey, sample }: Waiting): ReadonlyArray<Copy> {
    const prefix = isScored(sample) ? undefined : this.prefixes.get(prefixKey)
    sample.slot = this.takeSlot(prefix?.slot)
    this.running.push(sample)
    if (prefix === undefined) {
      this.giveSlot(sample.slot, prefixKey)
      this.prefixes.set(prefixKey, { owner: sample, slot: sample.slot })
      return []
    }
    sample.computed = prefixLength(sample.order)
    if (prefix.slot === sample.slot) return []
    this.giveSlot(sample.slot, prefixKey)
    return [{ from: prefix.slot, to: sample.slot, length: sample.computed }]
  }

  private takeSlot(preferred: number | undefined) {
    const at = preferred === undefined ? 0 : Math.max(0, this.free.indexOf(preferred))
    return this.free.splice(at, 1)[0] ?? -1
  }

  private giveSlot(slot: number, prefixKey: string) {
    const before = this.slotKeys.get(slot)
    if (before !== undefined && this.prefixes.get(before)?.slot === slot) this.prefixes.delete(before)
    this.slotKeys.set(slot, prefixKey)
  }
}

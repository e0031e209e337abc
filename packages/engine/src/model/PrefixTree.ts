/**
 * Sequences as the branches of trees: tokens of a common prefix share a row each, which is computed once. A row sees the rows
 * on its path to the root, in the order of their positions, so that its result has the same bits as in a sequence alone.
 */
import type { Segment } from "./Batch.ts"

/** A sequence, and the positions whose log-probabilities matter. */
export interface Branch {
  readonly tokens: Int32Array
  /** 1 where the log-probability may have a gradient, 0 where it has none; unless given it may have one everywhere. */
  readonly learned?: Uint8Array
  /** 1 where the log-probability is read, as it is wherever it may have a gradient; unless given it is read everywhere. */
  readonly read?: Uint8Array
}

/** A number of rows, and the number of their segments. */
export interface Extent {
  readonly rows: number
  readonly segments: number
}

/** Consecutive rows, and their segments. */
export interface Span {
  readonly start: Extent
  /** Exclusive. */
  readonly end: Extent
}

/**
 * Rows in the order of a backward pass: first those that a gradient reaches only through later rows, then those in which one
 * begins, then those that no gradient reaches. Rows that are read are consecutive.
 */
export interface PrefixTree {
  readonly ids: Int32Array
  readonly positions: Int32Array
  readonly segments: ReadonlyArray<Segment>
  /** Per branch the row of each of its tokens. */
  readonly rowsB: ReadonlyArray<Int32Array>
  /** The rows that a gradient reaches only through later rows. */
  readonly through: Extent
  /** These rows and the learned ones: all that a gradient reaches. */
  readonly reached: Extent
  /** The rows whose log-probabilities are read. */
  readonly read: Span
}

const compare = (left: Int32Array, right: Int32Array): number => {
  const shorter = Math.min(left.length, right.length)
  for (let t = 0; t < shorter; t++) {
    const difference = (left[t] ?? 0) - (right[t] ?? 0)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

const sharedLength = (left: Int32Array, right: Int32Array): number => {
  const shorter = Math.min(left.length, right.length)
  let length = 0
  while (length < shorter && left[length] === right[length]) length++
  return length
}

/** A branch in the order of the tokens of all branches. */
export interface Sorted {
  /** Its index among the branches as they were given. */
  readonly index: number
  /** The number of first tokens that it shares with the branch before it: no earlier branch shares more. */
  readonly shared: number
}

/** Branches in the order of their tokens, so that those with the longest common prefixes stand together. */
export const sort = (branches: ReadonlyArray<Branch>): ReadonlyArray<Sorted> => {
  const tokensOf = (index: number) => branches[index]?.tokens ?? new Int32Array()
  const order = branches.map((_, index) => index)
  order.sort((left, right) => compare(tokensOf(left), tokensOf(right)) || left - right)
  return order.map((index, place) => {
    const before = order[place - 1]
    return { index, shared: before === undefined ? 0 : sharedLength(tokensOf(before), tokensOf(index)) }
  })
}

/** States of a token: no gradient reaches it, one reaches it only through later tokens, or one begins there. */
const [dead, through, learned] = [0, 1, 2] as const

/** The order of rows: by the states of their tokens, and whether they are read. */
const kindOrder: ReadonlyArray<readonly [state: number, isRead: 0 | 1]> = [
  [through, 0],
  [through, 1],
  [learned, 1],
  [dead, 1],
  [dead, 0]
]

/** All tokens once, parents before children. */
interface Tokens {
  readonly count: number
  readonly ids: Int32Array
  readonly positions: Int32Array
  /** -1 for a root. */
  readonly parents: Int32Array
  readonly states: Uint8Array
  /** 1 where any branch reads the log-probability. */
  readonly reads: Uint8Array
  readonly children: Int32Array
  /** Per branch its tokens. */
  readonly tokensB: ReadonlyArray<Int32Array>
}

/** Marks the ancestors of the tokens that a gradient reaches. */
const reach = (states: Uint8Array, parents: Int32Array, count: number) => {
  for (let token = count - 1; token >= 0; token--) {
    const parent = parents[token] ?? -1
    if (parent >= 0 && states[token] !== dead && states[parent] === dead) states[parent] = through
  }
}

const merge = (branches: ReadonlyArray<Branch>): Tokens => {
  const most = branches.reduce((sum, { tokens }) => sum + tokens.length, 0)
  const [ids, positions, parents] = [new Int32Array(most), new Int32Array(most), new Int32Array(most)]
  const [states, reads, children] = [new Uint8Array(most), new Uint8Array(most), new Int32Array(most)]
  const tokensB: Array<Int32Array> = branches.map(({ tokens }) => new Int32Array(tokens.length))
  let count = 0
  let before: Int32Array = new Int32Array()
  for (const { index, shared } of sort(branches)) {
    const branch = branches[index]
    const own = tokensB[index]
    if (branch === undefined || own === undefined) continue
    own.set(before.subarray(0, shared))
    for (let t = shared; t < own.length; t++, count++) {
      const parent = own[t - 1] ?? -1
      own[t] = count
      ids[count] = branch.tokens[t] ?? 0
      positions[count] = t
      parents[count] = parent
      if (parent >= 0) children[parent] = (children[parent] ?? 0) + 1
    }
    own.forEach((token, t) => {
      if (branch.read !== undefined && branch.read[t] !== 1) return
      reads[token] = 1
      if (branch.learned === undefined || branch.learned[t] === 1) states[token] = learned
    })
    before = own
  }
  reach(states, parents, count)
  return { count, ids, positions, parents, states, reads, children, tokensB }
}

/** Consecutive tokens of one kind without a branch between them; they are one segment. */
interface Run {
  readonly state: number
  readonly isRead: number
  readonly parent: Run | undefined
  readonly first: number
  tokens: number
}

const runsOf = ({ children, count, parents, reads, states }: Tokens): ReadonlyArray<Run> => {
  const runs: Array<Run> = []
  const runT: Array<Run> = []
  for (let token = 0; token < count; token++) {
    const [state, isRead] = [states[token] ?? dead, reads[token] ?? 0]
    const parent = runT[parents[token] ?? -1]
    const isOnlyChild = children[token - 1] === 1 && parents[token] === token - 1
    if (parent !== undefined && isOnlyChild && parent.state === state && parent.isRead === isRead) {
      parent.tokens++
      runT.push(parent)
    } else {
      const run = { state, isRead, parent, first: token, tokens: 1 }
      runs.push(run)
      runT.push(run)
    }
  }
  return runs
}

const extentOf = (runs: ReadonlyArray<Run>): Extent => ({
  rows: runs.reduce((rows, { tokens }) => rows + tokens, 0),
  segments: runs.length
})

/** The tree of a pass's sequences; equal sequences are one branch. */
export const make = (branches: ReadonlyArray<Branch>): PrefixTree => {
  const tokens = merge(branches)
  const runs = runsOf(tokens)
  const kinds = kindOrder.map(([state, isRead]) => runs.filter((run) => run.state === state && run.isRead === isRead))
  const upTo = (kind: number) => kinds.slice(0, kind).flat()
  const ordered = kinds.flat()
  const segmentOf = new Map(ordered.map((run, segment) => [run, segment]))
  const ids = new Int32Array(tokens.count)
  const positions = new Int32Array(tokens.count)
  const rowT = new Int32Array(tokens.count)
  let row = 0
  const segments = ordered.map((run): Segment => {
    const place = row
    for (let token = run.first; token < run.first + run.tokens; token++, row++) {
      rowT[token] = row
      ids[row] = tokens.ids[token] ?? 0
      positions[row] = tokens.positions[token] ?? 0
    }
    const parent = run.parent && segmentOf.get(run.parent)
    return { place, before: 0, rows: run.tokens, parent: parent ?? -1 }
  })
  return {
    ids,
    positions,
    segments,
    rowsB: tokens.tokensB.map((own) => own.map((token) => rowT[token] ?? 0)),
    through: extentOf(upTo(2)),
    reached: extentOf(upTo(3)),
    read: { start: extentOf(upTo(1)), end: extentOf(upTo(4)) }
  }
}

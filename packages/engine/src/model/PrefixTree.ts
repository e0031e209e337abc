/**
 * Sequences as branches of prefix trees: the tokens of a common prefix share their rows, which are computed once. A row sees the rows on
 * its path to the root in position order, so its result has the same bits as if its sequence were computed alone.
 */
import type { Segment } from "./Batch.ts"

/** A sequence, with the positions whose log-probabilities are needed. */
export interface Branch {
  readonly tokens: Int32Array
  /** 1 at positions whose log-probability may have a gradient, otherwise 0; by default all positions. */
  readonly learned?: Uint8Array
  /** 1 at positions whose log-probability is read, otherwise 0; every learned position must be read. By default all positions. */
  readonly read?: Uint8Array
}

/** A number of rows and the number of their segments. */
export interface Extent {
  readonly rows: number
  readonly segments: number
}

/** Consecutive rows and their segments. */
export interface Span {
  readonly start: Extent
  /** The rows and segments before the end, which is exclusive. */
  readonly end: Extent
}

/**
 * Rows in backward-pass order: first rows that a gradient reaches only through later rows, then rows in which a gradient starts, then rows
 * without a gradient. Rows that are read are consecutive.
 */
export interface PrefixTree {
  readonly ids: Int32Array
  readonly positions: Int32Array
  readonly segments: ReadonlyArray<Segment>
  /** The row of each token, for each branch. */
  readonly rowsB: ReadonlyArray<Int32Array>
  /** The rows that a gradient reaches only through later rows. */
  readonly through: Extent
  /** All rows that a gradient reaches: `through` and the learned rows. */
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

/** A branch, in the order of all branches' tokens. */
export interface Sorted {
  /** The branch's index among the given branches. */
  readonly index: number
  /** The length of the prefix shared with the previous branch. No earlier branch shares a longer prefix. */
  readonly shared: number
}

/** Sorts branches by their tokens, so that branches with long common prefixes are adjacent. */
export const sort = (branches: ReadonlyArray<Branch>): ReadonlyArray<Sorted> => {
  const tokensOf = (index: number) => branches[index]?.tokens ?? new Int32Array()
  const order = branches.map((_, index) => index)
  order.sort((left, right) => compare(tokensOf(left), tokensOf(right)) || left - right)
  return order.map((index, place) => {
    const before = order[place - 1]
    return { index, shared: before === undefined ? 0 : sharedLength(tokensOf(before), tokensOf(index)) }
  })
}

/** Token states: no gradient, a gradient only through later tokens, or a gradient that starts here. */
const [dead, through, learned] = [0, 1, 2] as const

/** The row order, by token state and by whether the token is read. */
const kindOrder: ReadonlyArray<readonly [state: number, isRead: 0 | 1]> = [
  [through, 0],
  [through, 1],
  [learned, 1],
  [dead, 1],
  [dead, 0]
]

/** All distinct tokens of the trees, parents before children. */
interface Tokens {
  readonly count: number
  readonly ids: Int32Array
  readonly positions: Int32Array
  /** The parent of each token; -1 for a root. */
  readonly parents: Int32Array
  readonly states: Uint8Array
  /** 1 for a token whose log-probability any branch reads, otherwise 0. */
  readonly reads: Uint8Array
  readonly children: Int32Array
  /** The tokens of each branch. */
  readonly tokensB: ReadonlyArray<Int32Array>
}

/** Marks the ancestors of learned tokens as reached. */
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

/** Consecutive tokens of the same kind without a branch point between them; they form one segment. */
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

/** Builds the tree of a pass's sequences. Equal sequences become one branch. */
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

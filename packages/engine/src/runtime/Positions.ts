/** A cache of key-value positions, from which sequences of any length take consecutive pieces. */

/** Consecutive positions. */
export interface Piece {
  readonly start: number
  readonly length: number
}

export class Positions<P extends Piece> {
  /** In order of their positions. */
  private readonly taken: Array<P> = []
  private readonly count: number

  constructor(count: number) {
    this.count = count
  }

  /** Positions that are not taken. */
  get free(): number {
    return this.taken.reduce((free, { length }) => free - length, this.count)
  }

  /** Takes the first gap that is large enough; undefined where there is none. */
  take(length: number, make: (piece: Piece) => P): P | undefined {
    let start = 0
    for (let index = 0; index <= this.taken.length; index++) {
      const next = this.taken[index]
      if ((next?.start ?? this.count) - start >= length) {
        const piece = make({ start, length })
        this.taken.splice(index, 0, piece)
        return piece
      }
      if (next !== undefined) start = next.start + next.length
    }
    return undefined
  }

  giveBack(piece: P) {
    const index = this.taken.indexOf(piece)
    if (index >= 0) this.taken.splice(index, 1)
  }
}

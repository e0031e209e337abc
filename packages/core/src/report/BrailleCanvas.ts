/** Draws dots with braille characters, each two dots wide and four high. */

export interface BrailleCanvas {
  /** Dots `[height, width]`, row-major; 1 if set. */
  readonly dots: Uint8Array
  readonly width: number
  readonly height: number
}

/** The bit of each dot in a character, by row, then left and right. */
const bits = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]] as const

export const make = (columns: number, rows: number): BrailleCanvas => ({
  dots: new Uint8Array(columns * 2 * rows * 4),
  width: columns * 2,
  height: rows * 4
})

/** Sets the dot nearest to a position, measured from the left and the top, from 0 to 1. */
export const dot = ({ dots, height, width }: BrailleCanvas, x: number, y: number) => {
  dots[Math.round(y * (height - 1)) * width + Math.round(x * (width - 1))] = 1
}

/** Sets the dots on the line between two positions. */
export const line = (
  canvas: BrailleCanvas,
  [fromX, fromY]: readonly [number, number],
  [toX, toY]: readonly [number, number]
) => {
  const steps = Math.ceil(Math.max(Math.abs(toX - fromX) * canvas.width, Math.abs(toY - fromY) * canvas.height, 1))
  for (let step = 0; step <= steps; step++) {
    const share = step / steps
    dot(canvas, fromX + (toX - fromX) * share, fromY + (toY - fromY) * share)
  }
}

export const toLines = ({ dots, height, width }: BrailleCanvas): ReadonlyArray<string> =>
  Array.from({ length: height / 4 }, (_, row) =>
    Array.from({ length: width / 2 }, (_, column) => {
      const pattern = bits.flatMap((pair, y) =>
        pair.map((bit, x) => dots[(row * 4 + y) * width + column * 2 + x] === 1 ? bit : 0)
      )
      return String.fromCodePoint(0x2800 + pattern.reduce<number>((left, right) => left | right, 0))
    }).join(""))

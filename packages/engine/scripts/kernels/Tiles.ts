/**
 * Writes the innermost loops of the matrix products. AssemblyScript has no macros, and only accumulators that are
 * local variables stay in registers: a tile of r rows by 8 columns is spelled out with 2r of them.
 */

const range = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => i)
const lines = (parts: ReadonlyArray<string>): string => parts.join("\n")

const header = (name: string, parameters: string) =>
  `// @ts-ignore: decorator\n@inline\nexport function ${name}(${parameters}): void {`

/** Four k per turn, then one by one. */
const overDepth = (step: (offset: number) => string, advance: (k: number) => string): string =>
  lines([
    "  let k = K",
    "  while (k >= 4) {",
    lines([0, 1, 2, 3].map(step)),
    `    ${advance(4)}`,
    "    k -= 4",
    "  }",
    "  while (k > 0) {",
    step(0),
    `    ${advance(1)}`,
    "    k--",
    "  }"
  ])

const accumulators = (rows: number, panels = 1): string =>
  lines(
    range(rows).flatMap((i) =>
      range(panels).map((j) => `  let c${i}_${j}l = f32x4.splat(0)\n  let c${i}_${j}h = f32x4.splat(0)`)
    )
  )

const store = (rows: number, panels: number): string =>
  lines([
    "  let q = c",
    "  if (accumulate) {",
    lines(
      range(rows).map((i) =>
        range(panels).flatMap((j) => [
          `    v128.store(q, f32x4.add(v128.load(q, ${j * 32}), c${i}_${j}l), ${j * 32})`,
          `    v128.store(q, f32x4.add(v128.load(q, ${j * 32 + 16}), c${i}_${j}h), ${j * 32 + 16})`
        ]).concat("    q += rc").join("\n")
      )
    ),
    "  } else {",
    lines(
      range(rows).map((i) =>
        range(panels).flatMap((j) => [
          `    v128.store(q, c${i}_${j}l, ${j * 32})`,
          `    v128.store(q, c${i}_${j}h, ${j * 32 + 16})`
        ]).concat("    q += rc").join("\n")
      )
    ),
    "  }",
    "}"
  ])

const multiply = (i: number, j: number, x: string, low: string, high: string): string =>
  `      c${i}_${j}l = f32x4.relaxed_madd(${x}, ${low}, c${i}_${j}l)\n` +
  `      c${i}_${j}h = f32x4.relaxed_madd(${x}, ${high}, c${i}_${j}h)`

const packed = (rows: number): string => {
  const step = (u: number) =>
    lines([
      "    {",
      `      const low = v128.load(b, ${u * 32})\n      const high = v128.load(b, ${u * 32 + 16})`,
      lines(
        range(rows).map((i) =>
          `      const x${i} = v128.load32_splat(a${i}, ${u * 4})\n${multiply(i, 0, `x${i}`, "low", "high")}`
        )
      ),
      "    }"
    ])
  const advance = (k: number) => [`b += ${k * 32}`, ...range(rows).map((i) => `a${i} += ${k * 4}`)].join("\n    ")
  return lines([
    header(`tile${rows}`, "c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32"),
    accumulators(rows),
    lines(range(rows).map((i) => `  let a${i} = a + ${i} * ra`)),
    overDepth(step, advance),
    store(rows, 1)
  ])
}

const transposed = (rows: number): string =>
  lines([
    header(`transposed${rows}`, "c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32"),
    accumulators(rows),
    "  for (let m = 0; m < M; m++) {",
    "    const low = v128.load(b)\n    const high = v128.load(b, 16)",
    lines(
      range(rows).map((i) =>
        `    const x${i} = v128.load32_splat(a, ${i * 4})\n${multiply(i, 0, `x${i}`, "low", "high")}`
      )
    ),
    "    a += ra\n    b += rb\n  }",
    "  const accumulate = true",
    store(rows, 1)
  ])

const heights = [6, 4, 2, 1]

/** The text of `assembly/tiles.gen.ts`. */
export const source = (): string =>
  lines([
    "// Written by scripts/kernels/Tiles.ts.",
    ...heights.map(packed),
    ...heights.map(transposed)
  ]) + "\n"

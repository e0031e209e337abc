/**
 * Generates the innermost loops of matrix products and attention. AssemblyScript has no macros, and only accumulators in local variables
 * stay in registers, so a tile of r rows by p panels of 8 columns is written out with 2rp accumulators.
 * x64 has 16 vector registers, of which V8 reserves one. Six rows by one panel of 128-bit vectors, or by two panels of 256-bit vectors,
 * take 12 accumulators and leave enough registers for one step of k; two steps at a time would spill accumulators to the stack.
 */

const range = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => i)
const lines = (parts: ReadonlyArray<string>): string => parts.join("\n")

const header = (name: string, parameters: string) =>
  `// @ts-ignore: decorator\n@inline\nexport function ${name}(${parameters}): void {`

/** Tile heights. Rows are split into as many tiles of the first height as fit, then at most one of each other height. */
const heights = [6, 4, 2, 1]
const widths = [1, 2]

const accumulators = (rows: number, panels: number): string =>
  lines(
    range(rows).flatMap((i) =>
      range(panels).map((j) => `  let c${i}_${j}l = f32x4.splat(0)\n  let c${i}_${j}h = f32x4.splat(0)`)
    )
  )

/** Loads both halves of a panel before storing either: V8 does not combine loads with a store between them. */
const addPanel = (i: number, j: number): ReadonlyArray<string> => [
  `    const l${i}_${j} = v128.load(q, ${j * 32})`,
  `    const h${i}_${j} = v128.load(q, ${j * 32 + 16})`,
  `    v128.store(q, f32x4.add(l${i}_${j}, c${i}_${j}l), ${j * 32})`,
  `    v128.store(q, f32x4.add(h${i}_${j}, c${i}_${j}h), ${j * 32 + 16})`
]

const setPanel = (i: number, j: number): ReadonlyArray<string> => [
  `    v128.store(q, c${i}_${j}l, ${j * 32})`,
  `    v128.store(q, c${i}_${j}h, ${j * 32 + 16})`
]

const store = (rows: number, panels: number): string => {
  const row = (panel: typeof addPanel) =>
    lines(range(rows).map((i) => range(panels).flatMap((j) => panel(i, j)).concat("    q += rc").join("\n")))
  return lines(["  let q = c", "  if (accumulate) {", row(addPanel), "  } else {", row(setPanel), "  }", "}"])
}

/** One step of k: a row of panels, whose halves start at `half` of offsets 0 and 16, times the value at `value` for each row. */
const step = (
  rows: number,
  panels: number,
  half: (j: number, offset: 0 | 16) => string,
  value: (i: number) => string
): string =>
  lines([
    ...range(panels).flatMap((j) => [
      `    const low${j} = v128.load(${half(j, 0)})`,
      `    const high${j} = v128.load(${half(j, 16)})`
    ]),
    ...range(rows).flatMap((i) => [
      `    const x${i} = v128.load32_splat(${value(i)})`,
      ...range(panels).flatMap((j) => [
        `    c${i}_${j}l = f32x4.relaxed_madd(x${i}, low${j}, c${i}_${j}l)`,
        `    c${i}_${j}h = f32x4.relaxed_madd(x${i}, high${j}, c${i}_${j}h)`
      ])
    ])
  ])

/**
 * Tiles of all heights, one below the other, from `row` to `end`, with C at `cp` and A at `ap`. `stride` gives A's advance for a number of
 * rows.
 */
const tilesTo = (end: string, tile: (rows: number) => string, stride: (rows: number) => string): string =>
  lines([
    ...heights.flatMap((rows, index) => [
      `  ${index === 0 ? "while" : "if"} (${rows === 1 ? `row < ${end}` : `row + ${rows} <= ${end}`}) {`,
      `    ${tile(rows)}`,
      `    cp += ${rows} * rc`,
      `    ap += ${stride(rows)}`,
      `    row += ${rows}`,
      "  }"
    ]),
    "}"
  ])

/** Rows of A times packed panels of B. */
const tile = (rows: number, panels: number): string =>
  lines([
    header(`tile${rows}x${panels}`, "c: usize, rc: usize, a: usize, ra: usize, b: usize, K: i32, accumulate: i32"),
    accumulators(rows, panels),
    ...range(panels).map((j) => `  let b${j} = b + ${j} * (<usize> K << 5)`),
    ...range(rows).map((i) => `  let a${i} = a + ${i} * ra`),
    "  for (let k = 0; k < K; k++) {",
    step(rows, panels, (j, offset) => `b${j}, ${offset}`, (i) => `a${i}`),
    ...range(panels).map((j) => `    b${j} += 32`),
    ...range(rows).map((i) => `    a${i} += 4`),
    "  }",
    store(rows, panels)
  ])

/** Rows `start` to `end` of A times packed panels of B. */
const tiles = (panels: number): string =>
  lines([
    header(
      `tiles${panels}`,
      "c: usize, rc: usize, a: usize, ra: usize, b: usize, start: i32, end: i32, K: i32, accumulate: i32"
    ),
    "  let row = start",
    "  let cp = c + <usize> row * rc",
    "  let ap = a + <usize> row * ra",
    tilesTo("end", (rows) => `tile${rows}x${panels}(cp, rc, ap, ra, b, K, accumulate)`, (rows) => `${rows} * ra`)
  ])

/** Columns of A times columns of B, both stored by rows. */
const transposed = (rows: number, panels: number): string =>
  lines([
    header(`transposed${rows}x${panels}`, "c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32"),
    accumulators(rows, panels),
    "  for (let m = 0; m < M; m++) {",
    step(rows, panels, (j, offset) => `b + ${j * 32}, ${offset}`, (i) => `a, ${i * 4}`),
    "    a += ra\n    b += rb\n  }",
    "  const accumulate = true",
    store(rows, panels)
  ])

/** All K columns of A times columns of B. */
const transposedTiles = (panels: number): string =>
  lines([
    header(
      `transposedTiles${panels}`,
      "c: usize, rc: usize, a: usize, ra: usize, b: usize, rb: usize, M: i32, K: i32"
    ),
    "  let ap = a",
    "  let cp = c",
    "  let row = 0",
    tilesTo("K", (rows) => `transposed${rows}x${panels}(cp, rc, ap, ra, b, rb, M)`, (rows) => `${rows * 4}`)
  ])

/** A row of weights times the value panels on a path, times `factor`. */
const weightedValues = (panels: number): string =>
  lines([
    header(
      `weightedValues${panels}`,
      "out: usize, weights: usize, values: usize, path: usize, pathEnd: usize, stride: usize, factor: v128"
    ),
    accumulators(1, panels),
    "  let weight = weights",
    "  for (let level = path; level < pathEnd; level += levelBytes) {",
    "    let value = values + placeOf(level) * stride",
    "    const end = weight + (<usize> seenOf(level) << 2)",
    "    for (; weight < end; weight += 4) {",
    step(1, panels, (j, offset) => `value, ${j * 32 + offset}`, () => "weight"),
    "    value += stride",
    "    }",
    "  }",
    ...range(panels).flatMap((j) => [
      `  v128.store(out, f32x4.mul(c0_${j}l, factor), ${j * 32})`,
      `  v128.store(out, f32x4.mul(c0_${j}h, factor), ${j * 32 + 16})`
    ]),
    "}"
  ])

/** The source text of `assembly/tiles.gen.ts`. */
export const source = (): string =>
  lines([
    "// Written by scripts/kernels/Tiles.ts.",
    "import { levelBytes, placeOf, seenOf } from \"./segments\"",
    ...widths.flatMap((panels) => [...heights.map((rows) => tile(rows, panels)), tiles(panels)]),
    ...widths.flatMap((panels) => [...heights.map((rows) => transposed(rows, panels)), transposedTiles(panels)]),
    ...[1, 4].map(weightedValues)
  ]) + "\n"

/**
 * Kernels in which V8 joins pairs of 128-bit vector operations to 256-bit ones, an experimental part of its optimizing
 * compiler. Each lane computes the same operations in the same order, so results are the same to the bit.
 */
import * as v8 from "node:v8"
import * as Kernels from "./Kernels.ts"

/** A flag of V8 that compiling needs, and its default. */
interface Flag {
  readonly name: string
  readonly wanted: boolean | number
  readonly usual: boolean | number
}

/**
 * The first joins vectors in the optimizing compiler. The others make that compiler take functions at once, while the first
 * is set: those whose bits are set in the last, 32 at most. Switching `liftoff` off instead makes V8 14 abort the process
 * while another module is being optimized.
 */
const flags: ReadonlyArray<Flag> = [
  { name: "experimental-wasm-revectorize", wanted: true, usual: false },
  { name: "wasm-lazy-compilation", wanted: false, usual: true },
  { name: "wasm-tier-mask-for-testing", wanted: -1, usual: 0 }
]

const optionOf = (name: string, value: boolean | number): string =>
  typeof value === "number" ? `--${name}=${value}` : value ? `--${name}` : `--no-${name}`

/** The value that the process was started with. */
const givenValue = ({ name, usual }: Flag): boolean | number => {
  const options = [...(process.env["NODE_OPTIONS"] ?? "").split(/\s+/), ...process.execArgv]
  const values = options.flatMap((option) => {
    const [plain = "", number] = option.replaceAll("_", "-").split("=")
    if (plain === `--${name}`) return [number === undefined ? true : Number(number)]
    return plain === `--no-${name}` || plain === `--no${name}` ? [false] : []
  })
  return values.at(-1) ?? usual
}

const set = ({ name }: Flag, value: boolean | number) => v8.setFlagsFromString(optionOf(name, value))

/** Major versions of V8 that this was tried in, those of Node 24 to 26: where V8 aborts, there is no error to catch. */
const versions = [13, 14]

/** V8 joins vectors on x64 alone. */
const isSupported = () => process.arch === "x64" && versions.includes(Number.parseInt(process.versions.v8, 10))

/**
 * Compiles the kernels while V8's flags are set and sets them back before it returns, so that no other module of the
 * process is compiled differently. Undefined where V8 is not known to support them.
 */
export const compile = (): Kernels.Module | undefined => {
  if (!isSupported()) return undefined
  const before = flags.map((flag) => [flag, givenValue(flag)] as const)
  for (const flag of flags) set(flag, flag.wanted)
  try {
    return Kernels.compile(Kernels.wide)
  } catch {
    return undefined
  } finally {
    for (const [flag, value] of before) set(flag, value)
  }
}

/**
 * Compiles the kernels so that V8 combines pairs of 128-bit vector operations into 256-bit ones, an experimental feature of its optimizing
 * compiler. Each lane computes the same operations in the same order, so results are bit-identical.
 */
import * as v8 from "node:v8"
import * as Kernels from "./Kernels.ts"

/** A V8 flag that the compilation needs, and its default. */
interface Flag {
  readonly name: string
  readonly wanted: boolean | number
  readonly usual: boolean | number
}

/**
 * The first flag enables 256-bit vectors in the optimizing compiler. The other two make V8 compile functions with that compiler at once,
 * while the first flag is set; the last is a bit mask of functions, 32 at most. Disabling `liftoff` instead makes V8 14 abort the process
 * if another module is being optimized at that time.
 */
const flags: ReadonlyArray<Flag> = [
  { name: "experimental-wasm-revectorize", wanted: true, usual: false },
  { name: "wasm-lazy-compilation", wanted: false, usual: true },
  { name: "wasm-tier-mask-for-testing", wanted: -1, usual: 0 }
]

const optionOf = (name: string, value: boolean | number): string =>
  typeof value === "number" ? `--${name}=${value}` : value ? `--${name}` : `--no-${name}`

/** The flag's value when the process started: the last value in `NODE_OPTIONS` and Node's arguments, or the default. */
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

/** Tested major versions of V8, those of Node 24 to 26. In an untested version V8 may abort, which cannot be caught. */
const versions = [13, 14]

/** V8 combines vectors only on x64. */
const isSupported = () => process.arch === "x64" && versions.includes(Number.parseInt(process.versions.v8, 10))

/**
 * Compiles the kernels with V8's flags set, and resets the flags before returning, so other modules of the process are not affected.
 * Undefined on an untested platform or if compiling fails.
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

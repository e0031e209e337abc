/** Typed access to the compiled kernels of `assembly/` on one memory. Addresses are byte offsets; sizes count floats. */
import { base64 } from "./KernelsWasm.gen.ts"
import type { Address, Memory } from "./Memory.ts"

/** 1 adds to the existing values, 0 overwrites them. */
export type Accumulate = 0 | 1

/** The kernels. Their sources in `assembly/` document what each kernel computes and requires. */
export interface Kernels {
  readonly gemm: Product
  readonly gemmStored: StoredProduct
  readonly gemmStoredTransposed: StoredProduct
  readonly gemmTransposed: (
    c: Address,
    a: Address,
    b: Address,
    M: number,
    N: number,
    K: number,
    lda: number,
    ldb: number,
    ldc: number
  ) => void
  readonly packRows: (
    target: Address,
    source: Address,
    K: number,
    N: number,
    panelRows: number,
    factor: number
  ) => void
  readonly packColumns: (target: Address, source: Address, K: number, N: number, factor: number) => void
  readonly dequantize: (target: Address, source: Address, type: number, count: number) => void
  readonly narrowBf16: (target: Address, source: Address, count: number) => void
  readonly normForward: (
    out: Address,
    x: Address,
    weight: Address,
    inverseRoot: Address,
    rows: number,
    size: number,
    epsilon: number
  ) => void
  readonly normBackward: (
    dx: Address,
    dOut: Address,
    x: Address,
    weight: Address,
    inverseRoot: Address,
    rows: number,
    size: number,
    dWeight: Address,
    accumulate: Accumulate
  ) => void
  readonly rotate: (
    x: Address,
    positions: Address,
    cosine: Address,
    sine: Address,
    rows: number,
    heads: number,
    headSize: number,
    direction: 1 | -1
  ) => void
  readonly siluForward: (out: Address, gate: Address, up: Address, count: number) => void
  readonly siluBackward: (
    dGate: Address,
    dUp: Address,
    dOut: Address,
    gate: Address,
    up: Address,
    count: number
  ) => void
  readonly addBias: (target: Address, bias: Address, rows: number, size: number) => void
  readonly addInto: (target: Address, source: Address, count: number) => void
  readonly scaleInto: (target: Address, factor: number, count: number) => void
  readonly attentionForward: (
    out: Address,
    queries: Address,
    keys: Address,
    values: Address,
    segments: Address,
    first: number,
    end: number,
    heads: number,
    keyHeads: number,
    headSize: number,
    scale: number,
    path: Address,
    scratch: Address,
    maximumAndSum: Address
  ) => void
  readonly attentionBackward: (
    dQueries: Address,
    dKeys: Address,
    dValues: Address,
    dOut: Address,
    out: Address,
    queries: Address,
    keys: Address,
    values: Address,
    segments: Address,
    first: number,
    end: number,
    heads: number,
    keyHeads: number,
    headSize: number,
    scale: number,
    maximumAndSum: Address,
    path: Address,
    scratch: Address,
    longest: number
  ) => void
  readonly gatherRows: RowMove
  readonly addRowsAt: RowMove
  readonly gatherPanels: RowMove
  readonly gatherStored: (
    target: Address,
    source: Address,
    type: number,
    rowBytes: number,
    ids: Address,
    rows: number,
    size: number
  ) => void
  readonly storeRows: (
    target: Address,
    source: Address,
    segments: Address,
    segmentCount: number,
    size: number
  ) => void
  readonly maskColumns: (logits: Address, rows: number, from: number, to: number) => void
  readonly logSumExp: (out: Address, logits: Address, rows: number, vocabulary: number) => void
  readonly logitGradient: (
    logits: Address,
    maximumAndSum: Address,
    coefficients: Address,
    targets: Address,
    starts: Address,
    rows: number,
    vocabulary: number
  ) => void
  readonly argmax: (logits: Address, vocabulary: number) => number
  readonly sample: (
    logits: Address,
    vocabulary: number,
    padded: number,
    maximum: number,
    inverseTemperature: number,
    uniform: number,
    scratch: Address
  ) => number
  readonly sampleFiltered: (
    logits: Address,
    vocabulary: number,
    padded: number,
    maximum: number,
    inverseTemperature: number,
    topK: number,
    topP: number,
    uniform: number,
    scratch: Address
  ) => number
  readonly topTokens: (out: Address, logits: Address, vocabulary: number, count: number, scratch: Address) => void
  readonly adam: (
    parameters: Address,
    gradients: Address,
    first: Address,
    second: Address,
    count: number,
    learningRate: number,
    beta1: number,
    beta2: number,
    epsilon: number,
    correction1: number,
    correction2: number,
    weightDecay: number,
    gradientScale: number,
    isKept: 0 | 1
  ) => number
  readonly sumSquares: (values: Address, count: number) => number
}

type Product = (
  c: Address,
  a: Address,
  b: Address,
  M: number,
  N: number,
  K: number,
  lda: number,
  ldc: number,
  accumulate: Accumulate
) => void

type StoredProduct = (
  c: Address,
  a: Address,
  rows: Address,
  type: number,
  rowBytes: number,
  M: number,
  N: number,
  K: number,
  accumulate: Accumulate,
  scratch: Address
) => void

type RowMove = (target: Address, source: Address, ids: Address, rows: number, size: number) => void

/** The compiled code, shared by all threads. */
export interface Module {
  readonly [ModuleTypeId]: typeof ModuleTypeId
}

declare const ModuleTypeId: unique symbol

declare const WebAssembly: {
  readonly Module: {
    new(bytes: Uint8Array): Module
    readonly customSections: (module: Module, name: string) => ReadonlyArray<ArrayBuffer>
  }
  readonly Instance: new(module: Module, imports: { readonly env: object }) => { readonly exports: Kernels }
}

/**
 * An empty custom section. V8 reuses compiled code for modules with equal bytes even if its flags have changed; a section makes them
 * differ.
 */
const section = (name: string): Buffer => {
  const text = Buffer.from(name)
  return Buffer.concat([Uint8Array.of(0, text.length + 1, text.length), text])
}

export const compileBytes = (bytes: Uint8Array): Module => new WebAssembly.Module(bytes)

/** The name of the compilation for which V8 combines 128-bit vectors into 256-bit ones; its tiles cover two panels. */
export const wide = "wide"

/**
 * Compiles the kernels. The module can be posted to workers, which then start without compiling. Compilations with different names never
 * share code.
 */
export const compile = (name = "plain"): Module =>
  compileBytes(Buffer.concat([Buffer.from(base64, "base64"), section(name)]))

/**
 * Binds the kernels to a memory and writes their constants to its first bytes. Every thread has its own instance on the shared memory and
 * writes the same constants.
 */
export const instantiate = (module: Module, memory: Memory): Kernels => {
  const panelsPerTile = WebAssembly.Module.customSections(module, wide).length > 0 ? 2 : 1
  return new WebAssembly.Instance(module, { env: { memory, panelsPerTile } }).exports
}

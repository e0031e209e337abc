/** The compiled kernels of `assembly/`, typed, over one memory. Addresses are byte offsets; sizes count floats. */
import { base64 } from "./KernelsWasm.gen.ts"
import type { Address, Memory } from "./Memory.ts"

/** 1 adds to what is there, 0 overwrites it. */
export type Accumulate = 0 | 1

/** What each does and requires stands beside its source in `assembly/`. */
export interface Kernels {
  readonly gemm: Product
  readonly gemm_bf16: Product
  readonly gemm_transposed: (
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
  readonly pack_rows: (
    target: Address,
    source: Address,
    K: number,
    N: number,
    panelRows: number,
    factor: number
  ) => void
  readonly pack_columns: (target: Address, source: Address, K: number, N: number, factor: number) => void
  readonly pack_rows_bf16: (target: Address, source: Address, K: number, N: number, panelRows: number) => void
  readonly pack_columns_bf16: (target: Address, source: Address, K: number, N: number) => void
  readonly widen_bf16: (target: Address, source: Address, count: number) => void
  readonly widen_f16: (target: Address, source: Address, count: number) => void
  readonly narrow_bf16: (target: Address, source: Address, count: number) => void
  readonly norm_forward: (
    out: Address,
    x: Address,
    weight: Address,
    inverseRoot: Address,
    rows: number,
    size: number,
    epsilon: number
  ) => void
  readonly norm_backward: (
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
  readonly silu_forward: (out: Address, gate: Address, up: Address, count: number) => void
  readonly silu_backward: (
    dGate: Address,
    dUp: Address,
    dOut: Address,
    gate: Address,
    up: Address,
    count: number
  ) => void
  readonly add_into: (target: Address, source: Address, count: number) => void
  readonly scale_into: (target: Address, factor: number, count: number) => void
  readonly attention_forward: (
    out: Address,
    queries: Address,
    bases: Address,
    keyOffset: number,
    valueOffset: number,
    positions: Address,
    rows: number,
    heads: number,
    keyHeads: number,
    headSize: number,
    scale: number,
    scratch: Address,
    maximumAndSum: Address
  ) => void
  readonly attention_backward: (
    dQueries: Address,
    dKeys: Address,
    dValues: Address,
    dOut: Address,
    out: Address,
    queries: Address,
    keys: Address,
    values: Address,
    count: number,
    heads: number,
    keyHeads: number,
    headSize: number,
    scale: number,
    maximumAndSum: Address,
    scratch: Address
  ) => void
  readonly gather_rows: RowMove
  readonly add_rows_at: RowMove
  readonly gather_panels: RowMove
  readonly gather_panels_bf16: RowMove
  readonly store_rows: (
    source: Address,
    bases: Address,
    offset: number,
    positions: Address,
    rows: number,
    size: number
  ) => void
  readonly mask_columns: (logits: Address, rows: number, from: number, to: number) => void
  readonly log_sum_exp: (out: Address, logits: Address, rows: number, vocabulary: number) => void
  readonly logit_gradient: (
    logits: Address,
    maximumAndSum: Address,
    coefficients: Address,
    targets: Address,
    candidates: number,
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
  readonly sample_filtered: (
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
  readonly top_tokens: (out: Address, logits: Address, vocabulary: number, count: number, scratch: Address) => void
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
    gradientScale: number
  ) => number
  readonly sum_squares: (values: Address, count: number) => number
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

type RowMove = (target: Address, source: Address, ids: Address, rows: number, size: number) => void

/** The compiled code, which threads share. */
export interface Module {
  readonly [ModuleTypeId]: typeof ModuleTypeId
}

declare const ModuleTypeId: unique symbol

declare const WebAssembly: {
  readonly Module: new(bytes: Uint8Array) => Module
  readonly Instance: new(module: Module, imports: { readonly env: object }) => { readonly exports: Kernels }
}

/** Compiles the kernels; the module can be posted to workers, which then start without compiling. */
export const compile = (): Module => new WebAssembly.Module(Buffer.from(base64, "base64"))

/** Binds the kernels to a memory. Every thread has its own instance over the shared memory. */
export const instantiate = (module: Module, memory: Memory): Kernels =>
  new WebAssembly.Instance(module, { env: { memory } }).exports

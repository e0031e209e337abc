/** The compiled kernels, shared by all engines and threads of a process. */
import * as KernelCheck from "../model/KernelCheck.ts"
import * as Kernels from "../numerics/Kernels.ts"
import * as WideVectors from "../numerics/WideVectors.ts"

export interface KernelModule {
  readonly module: Kernels.Module
  /** The vector width for which V8 compiled the kernels. */
  readonly vectorBits: 128 | 256
}

let compiled: KernelModule | undefined
let checked: KernelModule | undefined

const plain = (): KernelModule => {
  compiled ??= { module: Kernels.compile(), vectorBits: 128 }
  return compiled
}

/** Compares wide kernels with plain ones once per process, before their first use. */
const wide = (): KernelModule => {
  const module = WideVectors.compile()
  const fallback = plain()
  return module !== undefined && KernelCheck.agree(module, fallback.module) ? { module, vectorBits: 256 } : fallback
}

/** Compiles with 256-bit vectors if they are requested, V8 supports them and results are identical; otherwise with 128-bit vectors. */
export const compile = (wantsWide: boolean): KernelModule => {
  if (!wantsWide) return plain()
  checked ??= wide()
  return checked
}

/** The part of Node's WebAssembly API that Python needs. TypeScript declares its types only in the browser library. */

/** A compiled module, which threads can share. */
export type Module = object

export interface Memory {
  readonly buffer: ArrayBuffer
}

declare const WebAssembly: {
  readonly compile: (bytes: Uint8Array<ArrayBuffer>) => Promise<Module>
  readonly Instance: new(module: Module, imports: object) => { readonly exports: Readonly<Record<string, unknown>> }
  readonly Memory: new(limits: { readonly initial: number; readonly maximum: number }) => Memory
  readonly RuntimeError: new() => Error
}

export const { compile, Instance, Memory, RuntimeError } = WebAssembly

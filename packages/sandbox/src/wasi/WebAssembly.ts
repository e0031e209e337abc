/** The part of Node's WebAssembly that Python needs, whose types belong to the library of browsers. */

/** A compiled module, which threads may share. */
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

